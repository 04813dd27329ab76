import { setMaxListeners } from 'node:events'
import { pause } from '@reply/core/internal'
import type { SteadyClock } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { withResolvers } from '@reply/sink/internal'
import { BridgeError, messageOf } from '../error.ts'
import { type Store, StoreError, type StoreLease } from '../store/store.ts'

/** Takes the lease on a state, and renews it. */
export interface BridgeLease {
  /**
   * Resolves when this process has the lease. The lease of a process that died expires within 4 s. Rejects if the signal
   * aborts, or if the store fails.
   */
  takeLease(signal?: AbortSignal): Promise<void>
  /** Returns the newest lease, for writes. Undefined before it is taken, and after it was lost or released. */
  current(): StoreLease | undefined
  /**
   * Renews the lease now, for example after a fenced commit. Resolves with false if another process held it meanwhile.
   * Rejects if the store fails.
   */
  renew(): Promise<boolean>
  /** Whether calls are allowed now: by this process's monotonic clock, the lease has not expired. */
  isHeld(): boolean
  /**
   * Resolves when calls are allowed, with a signal that aborts when they no longer are. Await it right before each
   * call. Rejects with `taken-over` once another process has the lease, and with a `PortError` if it would have to wait
   * after `quit`.
   */
  whenHeld(): Promise<AbortSignal>
  /** Whether `takeLease` waits for another process. */
  isWaiting(): boolean
  /** Returns why calls are waiting, or why `takeLease` can't tell whether it could take the lease. Otherwise undefined. */
  problem(): string | undefined
  /** Call it when the bridge is stopping. Waiting calls are then rejected. */
  quit(): void
  /** Releases the lease, so that another process can take it immediately. */
  release(): Promise<void>
}

/** How long a lease lasts, in ms. That of a dead process expires within this time. */
const leaseMs = 4000
/** How long before the lease expires calls are stopped and running ones aborted, in ms. */
const marginMs = 500
/** How often the lease is renewed, in ms. */
const renewMs = 1000
/** How often the lease is requested while another process holds it, in ms. */
const requestMs = 250

/** Creates the lease of a process. It requests nothing before `takeLease`. */
export function createBridgeLease(options: {
  readonly store: Pick<Store, 'lease' | 'release'>
  readonly holder: string
  readonly clock: Omit<SteadyClock, 'wall'>
  /** Called once if another process holds the lease or keeps the state locked. */
  readonly onWaiting: () => void
  /** Called when the lease expired because the store fails, so calls wait. Not called again before `onBack`. */
  readonly onStalled: (error: BridgeError) => void
  /** Called when calls are allowed again. */
  readonly onBack: () => void
  /** Called when another process has or had the lease. */
  readonly onLost: () => void
  /** Called after each regular renewal. */
  readonly onRenewed?: (() => void) | undefined
}): BridgeLease {
  const { store, holder, clock, onWaiting, onStalled, onBack, onLost, onRenewed } = options
  const request = { name: 'bridge', holder, forMs: leaseMs }
  let lease: StoreLease | undefined
  /** Until when calls are allowed, by the monotonic clock, which clock corrections don't affect. */
  let callsAllowedUntil = Number.NEGATIVE_INFINITY
  let callsAllowed = newAbortController()
  /** Resolves when calls that wait must check again whether the lease is held. */
  let recheck = withResolvers<void>()
  let renewing: Promise<boolean> | undefined
  let failure: unknown
  let problem: string | undefined
  let isWaiting = false
  let waitingProblem: string | undefined
  let isLost = false
  let isQuitting = false
  let isReleased = false
  let stopRenewal = (): void => {}
  let stopDeadline = (): void => {}
  return {
    takeLease,
    current: () => lease,
    renew,
    isHeld,
    whenHeld,
    isWaiting: () => isWaiting,
    problem: () => problem ?? waitingProblem,
    quit,
    release,
  }

  /**
   * Waits until no other process holds the lease, takes it, and then renews it regularly. Calls `onWaiting` once if it has to
   * wait. Rejects if the signal aborts, or if the store fails.
   */
  async function takeLease(signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      if (await requestLeaseUnlessLocked()) break
      if (!isWaiting) onWaiting()
      isWaiting = true
      await pause(clock, requestMs, signal)
    }
    isWaiting = false
    signal?.throwIfAborted()
    scheduleRenewal()
  }

  /**
   * Like `requestLease`, and also undefined while the state is locked: a process that was suspended during a write
   * keeps it locked until it resumes or ends, and a database may be unreachable. `problem` says so meanwhile.
   */
  async function requestLeaseUnlessLocked(): Promise<StoreLease | undefined> {
    try {
      const granted = await requestLease()
      waitingProblem = undefined
      return granted
    } catch (error) {
      if (!(error instanceof StoreError && error.type === 'busy')) throw error
      waitingProblem = `The state can't be used, so this process can't take over: ${messageOf(error)}`
      return undefined
    }
  }

  /**
   * Renews after `renewMs`, calls `onRenewed` if that succeeded, and then schedules the next renewal while this process has the
   * lease. Ignores errors.
   */
  function scheduleRenewal(): void {
    stopRenewal()
    stopRenewal = clock.after(renewMs, () => {
      void renew()
        .then((isOurs) => isOurs && onRenewed?.())
        .catch(() => {})
        .then(() => lease && scheduleRenewal())
    })
  }

  /**
   * Takes or renews the lease, allows calls, and sets the timer that stops them when it expires. Resolves with the lease, or
   * with undefined while another process holds it. If another process held it meanwhile, resolves with the new lease and
   * changes nothing. Gives a lease back that is granted after `release`. The time counts from before the request, because that
   * may take long.
   */
  async function requestLease(): Promise<StoreLease | undefined> {
    const askedAt = clock.monotonic()
    const granted = await store.lease(request)
    if (granted && isReleased) await store.release(granted)
    if (!granted || isReleased || isLost || (lease && granted.fence > lease.fence + 1)) return granted
    lease = granted
    callsAllowedUntil = askedAt + granted.validForMs - marginMs
    scheduleDeadline()
    if (isHeld()) allowCalls()
    return granted
  }

  /** Stops calls when the lease expires. Node's timers may be up to 1 ms early, so it checks again until then. */
  function scheduleDeadline(): void {
    stopDeadline()
    stopDeadline = clock.after(Math.max(0, callsAllowedUntil - clock.monotonic()), () => {
      if (isHeld()) scheduleDeadline()
      else stopCallsIfExpired()
    })
  }

  /** Renews the lease. Joins a renewal in progress. Like `renewOnce`. */
  async function renew(): Promise<boolean> {
    renewing ??= renewOnce().finally(() => {
      renewing = undefined
    })
    return await renewing
  }

  /**
   * Renews the lease. Resolves with false without a lease, and if another process held it meanwhile, which also ends this one.
   * If the fence is the next one, the lease only expired, for example during sleep, but no other process held it in between.
   * Rejects if the store fails, and remembers why.
   */
  async function renewOnce(): Promise<boolean> {
    const before = lease
    if (!before) return false
    try {
      const granted = await requestLease()
      if (!lease) return false
      if (granted && granted.fence <= before.fence + 1) return true
      loseLease()
      if (granted) await store.release(granted).catch(() => {})
      return false
    } catch (error) {
      failure = error
      // The request may have taken longer than the lease.
      stopCallsIfExpired()
      throw error
    }
  }

  /** Whether this process has the lease, and it has not expired by the monotonic clock, less `marginMs`. */
  function isHeld(): boolean {
    return lease !== undefined && clock.monotonic() < callsAllowedUntil
  }

  /**
   * Resolves when calls are allowed, with a signal that aborts when they no longer are. Requests the lease itself while
   * it is expired. Rejects if another process took over, and if it would have to wait while the bridge is stopping.
   */
  async function whenHeld(): Promise<AbortSignal> {
    while (!isHeld()) {
      if (isLost) throw takenOverError()
      if (isQuitting) throw new PortError('unreachable', 'Not sent, because the bridge is stopping.')
      stopCallsIfExpired()
      // After the computer slept, the timer may be late and another process may have taken over.
      void renew().catch(() => {})
      await recheck.promise
    }
    return callsAllowed.signal
  }

  /**
   * Aborts running calls. Reports a problem if the store fails, once until calls are allowed again. Does nothing while the
   * lease is held, or once it is lost or released.
   */
  function stopCallsIfExpired(): void {
    if (isHeld() || isLost || isReleased) return
    callsAllowed.abort()
    if (problem !== undefined || failure === undefined) return
    problem = `The state can't be written, so no calls are made until it can: ${messageOf(failure)}`
    onStalled(new BridgeError('state', problem, { cause: failure }))
  }

  /** Wakes waiting calls, and clears the problem. Calls `onBack` if there was one. */
  function allowCalls(): void {
    failure = undefined
    if (callsAllowed.signal.aborted) callsAllowed = newAbortController()
    wakeWaitingCalls()
    if (problem === undefined) return
    problem = undefined
    onBack()
  }

  /** Wakes calls that wait. They check again whether the lease is held, lost, or the bridge is stopping. */
  function wakeWaitingCalls(): void {
    recheck.resolve()
    recheck = withResolvers<void>()
  }

  /** Drops the lease and calls `onLost`. Does nothing after the first time. */
  function loseLease(): void {
    if (isLost) return
    isLost = true
    dropLease()
    onLost()
  }

  /** Forgets the lease, stops its timers and aborts running calls. */
  function dropLease(): void {
    lease = undefined
    stopRenewal()
    stopDeadline()
    callsAllowed.abort()
    wakeWaitingCalls()
  }

  /**
   * Stops calls from waiting for the lease, because the bridge is stopping: rejects those that wait, and from now on those that
   * would have to. Keeps the lease, so that calls that need not wait still run.
   */
  function quit(): void {
    isQuitting = true
    wakeWaitingCalls()
  }

  /**
   * Releases the lease, if this process has it, after a renewal in progress. Waiting calls are rejected. Rejects if the store
   * fails.
   */
  async function release(): Promise<void> {
    const granted = lease
    isQuitting = true
    isReleased = true
    dropLease()
    // It would take the lease again.
    await renewing?.catch(() => {})
    if (granted) await store.release(granted)
  }
}

/** Returns the error of calls after another process took the lease. */
export function takenOverError(): BridgeError {
  return new BridgeError('taken-over', 'Another process took over this state, so this one no longer uses it.')
}

/** Creates a controller whose signal can have many listeners. */
function newAbortController(): AbortController {
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  return controller
}
