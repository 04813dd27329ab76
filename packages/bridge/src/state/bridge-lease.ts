import { setMaxListeners } from 'node:events'
import type { SteadyClock } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { pause, withResolvers } from '@reply/sink/internal'
import { BridgeError, messageOf } from '../error.ts'
import { type Lease, type Store, StoreError } from '../store/store.ts'

/** Holds the right to work with a state, and renews it. */
export interface BridgeLease {
  /** Resolves when this process has the lease; another's runs out soon after it died. */
  take(signal?: AbortSignal): Promise<void>
  /** The newest lease, to write with; undefined before it is taken, and after it was lost or given back. */
  current(): Lease | undefined
  /**
   * Asks for it at once, as after a commit that was fenced. `false`: another process had it meanwhile. Rejects if the
   * store can't tell.
   */
  renew(): Promise<boolean>
  /** Whether calls may be made now: by this process's own count, the lease still runs. */
  isHeld(): boolean
  /**
   * Resolves when calls may be made, with a signal that aborts when they may not any more. Ask right before each call.
   * Rejects with `taken-over` once another process has the lease, and with a `PortError` if it would wait after `quit`.
   */
  hold(): Promise<AbortSignal>
  /** Why calls wait; undefined while they don't. */
  problem(): string | undefined
  /** The bridge is stopping: what waits to be called is not called any more. */
  quit(): void
  /** Gives it back. */
  release(): Promise<void>
}

/** A dead process's lease runs out within this time, in ms. */
const leaseMs = 4000
/** How long before its end no call is begun any more, and those under way are aborted, in ms. */
const marginMs = 500
/** How often it is renewed, and asked for while another has it, in ms. */
const renewMs = 1000
const askMs = 250

export function createBridgeLease(options: {
  readonly store: Pick<Store, 'lease' | 'release'>
  readonly holder: string
  readonly clock: Omit<SteadyClock, 'wall'>
  /** Another process has the lease, or keeps the state locked: called once. */
  readonly onWaiting: () => void
  /** The lease ran out, as the store failed: calls wait. Called once, until `onBack`. */
  readonly onStalled: (error: BridgeError) => void
  /** Calls go on. */
  readonly onBack: () => void
  /** Another process has, or had, the lease. */
  readonly onLost: () => void
  /** It was renewed when that was due. Default: nothing is done. */
  readonly onRenewed?: (() => void) | undefined
}): BridgeLease {
  const { store, holder, clock, onWaiting, onStalled, onBack, onLost, onRenewed } = options
  const request = { name: 'bridge', holder, forMs: leaseMs }
  let lease: Lease | undefined
  /** Until when calls may be made, by the monotonic clock: no correction of the computer's clock moves it. */
  let until = Number.NEGATIVE_INFINITY
  let held = newSignal()
  let back = withResolvers<void>()
  let renewing: Promise<boolean> | undefined
  let failure: unknown
  let problem: string | undefined
  let isLost = false
  let isQuitting = false
  let stopRenewal = (): void => {}
  let stopDeadline = (): void => {}
  return { take, current: () => lease, renew, isHeld, hold, problem: () => problem, quit, release }

  async function take(signal?: AbortSignal): Promise<void> {
    let isTold = false
    for (;;) {
      signal?.throwIfAborted()
      if (await askUnlessBusy()) break
      if (!isTold) onWaiting()
      isTold = true
      await pause(clock, askMs, signal)
    }
    schedule()
  }

  /** A process that was stopped within a write keeps the state locked until it is woken or ended. */
  async function askUnlessBusy(): Promise<Lease | undefined> {
    try {
      return await ask()
    } catch (error) {
      if (error instanceof StoreError && error.type === 'busy') return undefined
      throw error
    }
  }

  function schedule(): void {
    stopRenewal()
    stopRenewal = clock.after(renewMs, () => {
      void renew()
        .then((isOurs) => isOurs && onRenewed?.())
        .catch(() => {})
        .then(() => lease && schedule())
    })
  }

  /** Undefined while another holds it. The time counts from before the question: the answer may take long. */
  async function ask(): Promise<Lease | undefined> {
    const askedAt = clock.monotonic()
    const given = await store.lease(request)
    if (!given || isLost || (lease && given.fence > lease.fence + 1)) return given
    lease = given
    until = askedAt + given.validForMs - marginMs
    stopDeadline()
    stopDeadline = clock.after(Math.max(0, until - clock.monotonic()), expire)
    if (isHeld()) resume()
    return given
  }

  async function renew(): Promise<boolean> {
    renewing ??= renewOnce().finally(() => {
      renewing = undefined
    })
    return await renewing
  }

  /** The next fence means that it ran out, as after a sleep, and that no other process had it in between. */
  async function renewOnce(): Promise<boolean> {
    const before = lease
    if (!before) return false
    try {
      const given = await ask()
      if (!lease) return false
      if (given && given.fence <= before.fence + 1) return true
      lose()
      if (given) await store.release(given).catch(() => {})
      return false
    } catch (error) {
      failure = error
      throw error
    }
  }

  function isHeld(): boolean {
    return lease !== undefined && clock.monotonic() < until
  }

  async function hold(): Promise<AbortSignal> {
    while (!isHeld()) {
      if (isLost) throw takenOver()
      if (isQuitting) throw new PortError('unreachable', 'Not sent, because the bridge is stopping.')
      expire()
      // After a sleep the timer may be late, and another process may have taken over.
      void renew().catch(() => {})
      await back.promise
    }
    return held.signal
  }

  function expire(): void {
    if (isHeld() || isLost) return
    held.abort()
    if (problem !== undefined || failure === undefined) return
    problem = `The state can't be written, so no calls are made until it can: ${messageOf(failure)}`
    onStalled(new BridgeError('state', problem, { cause: failure }))
  }

  function resume(): void {
    failure = undefined
    if (held.signal.aborted) held = newSignal()
    wake()
    if (problem === undefined) return
    problem = undefined
    onBack()
  }

  function wake(): void {
    back.resolve()
    back = withResolvers<void>()
  }

  function lose(): void {
    if (isLost) return
    isLost = true
    drop()
    onLost()
  }

  function drop(): void {
    lease = undefined
    stopRenewal()
    stopDeadline()
    held.abort()
    wake()
  }

  function quit(): void {
    isQuitting = true
    wake()
  }

  async function release(): Promise<void> {
    const given = lease
    isQuitting = true
    drop()
    if (given) await store.release(given)
  }
}

export function takenOver(): BridgeError {
  return new BridgeError('taken-over', 'Another process took over this state, so this one no longer uses it.')
}

/** Many calls listen to it. */
function newSignal(): AbortController {
  const made = new AbortController()
  setMaxListeners(0, made.signal)
  return made
}
