import type { Clock } from '@reply/core'
import { pause } from '@reply/sink/channel'
import type { Lease, Store } from './store/store.ts'

/** Holds the right to work with a state, and renews it. */
export interface LeaseKeeper {
  /** Resolves when this process has the lease; another's runs out soon after it died. */
  take(signal?: AbortSignal): Promise<void>
  /** Takes it again if it ran out. `false`: another process had it meanwhile. */
  retake(): Promise<boolean>
  /** The newest lease; undefined while it is not held. */
  lease(): Lease | undefined
  /** Gives it back. */
  release(): Promise<void>
}

/** A dead process's lease runs out within this time, in ms. */
const leaseMs = 4000
/** How often it is renewed, and asked for while another has it, in ms. */
const renewMs = 1000
const askMs = 250

export function createLeaseKeeper(options: {
  readonly store: Store
  readonly holder: string
  readonly clock: Clock
  /** Another process has the lease: called once. */
  readonly onWaiting: () => void
  /** The lease was lost. */
  readonly onLost: () => void
}): LeaseKeeper {
  const { store, holder, clock, onWaiting, onLost } = options
  const request = { name: 'bridge', holder, forMs: leaseMs }
  let lease: Lease | undefined
  let stopTimer = (): void => {}
  return { take, retake, lease: () => lease, release }

  async function take(signal?: AbortSignal): Promise<void> {
    let isTold = false
    for (;;) {
      signal?.throwIfAborted()
      lease = await store.lease(request)
      if (lease) break
      if (!isTold) onWaiting()
      isTold = true
      await pause(clock, askMs, signal)
    }
    schedule()
  }

  function schedule(): void {
    stopTimer = clock.after(renewMs, () => void renew())
  }

  async function renew(): Promise<void> {
    await retake()
    if (lease) schedule()
  }

  /** The next fence means that it ran out, as after a sleep, and that no other process had it in between. */
  async function retake(): Promise<boolean> {
    const before = lease
    if (!before) return false
    const renewed = await store.lease(request).catch(() => before)
    if (!lease) return false
    if (renewed && renewed.fence <= lease.fence + 1) {
      lease = renewed
      return true
    }
    lease = undefined
    if (renewed) await store.release(renewed).catch(() => {})
    onLost()
    return false
  }

  async function release(): Promise<void> {
    stopTimer()
    const held = lease
    lease = undefined
    if (held) await store.release(held)
  }
}
