import type { Clock } from '@reply/core'
import { pause, stopwatch } from '@reply/core/internal'
import type { SteadyClock } from '@reply/core/source'
import { PortError } from '@reply/sink/channel'
import { withResolvers } from '@reply/sink/internal'
import { BridgeError, messageOf } from '../error.ts'
import { type Beat, type BeatRequest, type Store, StoreError, type StoreLease, type UsedCalls } from '../store/store.ts'
import { newAbortController } from '../timers.ts'

/** A lease of this process. */
export interface HeldLease {
  /** For example `shard/07`. */
  readonly name: string
  /** Returns the newest lease, for writes. Undefined once it was lost or released. */
  current(): StoreLease | undefined
  /**
   * Beats now, for example after a fenced commit. Resolves with false if another process has or had the lease. Rejects if the
   * store fails.
   */
  renew(): Promise<boolean>
  /** Whether calls are allowed now: by this process's clocks, the lease has not expired. */
  isHeld(): boolean
  /**
   * Resolves when calls are allowed, with a signal that aborts when they no longer are. Await it right before each
   * call. Rejects with `taken-over` once the lease is lost or released, and with a `PortError` if it would have to wait
   * after `quit`.
   */
  whenHeld(): Promise<AbortSignal>
  /** Releases the lease, so that another process can take it at once. Rejects if the store fails. */
  release(): Promise<void>
}

/** This process among those that share a state. It beats regularly, which renews its leases and takes free ones. */
export interface Membership {
  /**
   * Resolves when this process is a member. Leases of a process that died expire within 4 s. Rejects if the signal aborts, or if
   * the store fails.
   */
  join(signal?: AbortSignal): Promise<void>
  /** Beats now. After a beat in progress, which may not know what changed, beats once more. Rejects if the store fails. */
  beat(): Promise<void>
  /** Whether calls are allowed now that need no lease on a chat. */
  isHeld(): boolean
  /** As `HeldLease.whenHeld`, for calls that need no lease on a chat. Waits while this process is not a member. */
  whenHeld(): Promise<AbortSignal>
  /** Whether this process waits to become a member: another one uses the state, or has other settings. */
  isWaiting(): boolean
  /** How many other members want leases, as the last beat said. */
  others(): number
  /** Returns why calls are waiting, or why `join` can't tell whether it could join. Otherwise undefined. */
  problem(): string | undefined
  /** Call it when the bridge is stopping. Waiting calls are then rejected, and no more leases are taken. */
  quit(): void
  /** Ends all leases and leaves, so that others can take them immediately. Rejects if the store fails. */
  leave(): Promise<void>
}

/** How long a member and its leases last without a beat, in ms. Those of a dead process expire within this time. */
const memberMs = 4000
/** How long before that calls are stopped and running ones aborted, in ms. */
const marginMs = 500
/** How long after a beat was sent calls are allowed, in ms. */
const callsMs = memberMs - marginMs
/** How often a member beats, in ms. */
const beatMs = 1000
/** For how long members that come back leave the leases of others to them, in ms. Each asks again at least every `beatMs`. */
const regainMs = 2000
/** A beat that comes later than this after the last one is late, in ms. */
const lateMs = 2 * beatMs
/** How often a process that is not admitted asks again, in ms. */
const askAgainMs = 250

/** What happens to a membership. */
export interface MembershipEvents {
  /** Called with each lease that this process takes. */
  readonly onGranted: (lease: HeldLease) => void
  /** Called with each lease that another process has or had, and so this one no longer has. */
  readonly onLost: (lease: HeldLease) => void
  /**
   * Called after a beat with the number of leases that this process has held above its share for as long as a lease lasts, by group.
   */
  readonly onExcess: (excess: Readonly<Record<string, number>>) => void
  /** Called when this process begins to wait until it is admitted, and when the reason changes. */
  readonly onWaiting: (reason: 'alone' | 'layout' | 'full' | 'locked') => void
  /** Called when the membership expired because the store fails, so calls wait. Not called again before `onBack`. */
  readonly onStalled: (error: BridgeError) => void
  /** Called when calls are allowed again. */
  readonly onBack: () => void
  /** Called when this process becomes a member. */
  readonly onJoined: () => void
  /** Called when this process was a member and is none any more, because another one went on without it. */
  readonly onLeft: () => void
  /** Called after each beat of a member. */
  readonly onBeat?: ((beat: Extract<Beat, { readonly type: 'admitted' }>, timing: BeatTiming) => void) | undefined
}

/** How regularly a member beats. */
export interface BeatTiming {
  /** From when the beat before was sent until this one was answered, in ms. Undefined for the first one of a member. */
  readonly sinceLastMs: number | undefined
  /** Whether that was too long. Half a second before a membership ends, calls stop. */
  readonly isLate: boolean
}

/** Creates the membership of a process. It does nothing before `join`. */
export function createMembership(
  options: {
    readonly store: Pick<Store, 'beat' | 'release' | 'leave'>
    /** The id of this process, unique among all. */
    readonly member: string
    readonly clock: Omit<SteadyClock, 'wall'> & Pick<Clock, 'wall'>
    /** Returns what the next beat asks for. Called before each. */
    readonly request: () => Omit<BeatRequest, 'member' | 'forMs'> | Promise<Omit<BeatRequest, 'member' | 'forMs'>>
    /** Returns what this process used of each budget. Called when it leaves. Default: the store knows no more than the last beat. */
    readonly used?: (() => UsedCalls) | undefined
  } & MembershipEvents,
): Membership {
  const { store, member, clock, request, onGranted, onLost, onExcess, onWaiting, onStalled, onBack, onBeat } = options
  /** By name. */
  const held = new Map<string, OwnLease>()
  /** By name: the fences of leases that this process released. A beat that was in flight may still list them. */
  const releasedFences = new Map<string, number>()
  let isMember = false
  /** What the last beats said that this process holds above its share, oldest first: those of `memberMs`, and the last one before. */
  const excesses: { readonly at: number; readonly excess: Readonly<Record<string, number>> }[] = []
  /** Until when this process takes no other leases than those that it had, by the monotonic clock. */
  let regainedUntil = Number.NEGATIVE_INFINITY
  /** Returns how long ago the last beat of a member was sent, in ms. */
  let sinceBeatMs = (): number => Number.POSITIVE_INFINITY
  let callsAllowed = newAbortController()
  /** Resolves when calls that wait must check again. */
  let recheck = withResolvers<void>()
  /** When the last beat that was answered was sent, by the monotonic clock. */
  let sentAt = Number.NEGATIVE_INFINITY
  let beating: Promise<void> | undefined
  /** The beat that follows the one in progress. */
  let nextBeat: Promise<void> | undefined
  let failure: unknown
  let problem: string | undefined
  let waitingProblem: string | undefined
  let waitingFor: Parameters<MembershipEvents['onWaiting']>[0] | undefined
  let others = 0
  let isQuitting = false
  let hasLeft = false
  let stopBeats = (): void => {}
  let stopDeadline = (): void => {}
  return {
    join,
    beat,
    isHeld,
    whenHeld: async () => await whenAllowed(() => false),
    isWaiting: () => !isMember && waitingFor !== undefined,
    others: () => others,
    problem: () => problem ?? waitingProblem,
    quit,
    leave,
  }

  /** Beats until this process is admitted, and then regularly. */
  async function join(signal?: AbortSignal): Promise<void> {
    for (;;) {
      signal?.throwIfAborted()
      try {
        await beat()
        waitingProblem = undefined
      } catch (error) {
        // A process that was suspended during a write keeps the state locked, and a database may be unreachable.
        if (!(error instanceof StoreError && error.type === 'busy')) throw error
        waitingProblem = `The state can't be used, so this process can't join: ${messageOf(error)}`
        waitFor('locked')
      }
      if (isMember) break
      await pause(clock, askAgainMs, signal)
    }
    signal?.throwIfAborted()
    scheduleBeat()
  }

  /** Beats after `beatMs`, or after `askAgainMs` if this process is not a member, and goes on so until it leaves. */
  function scheduleBeat(): void {
    stopBeats()
    if (hasLeft) return
    stopBeats = clock.after(isMember ? beatMs : askAgainMs, () => {
      void joinBeat()
        .catch(() => {})
        .then(scheduleBeat)
    })
  }

  /** Beats, after a beat in progress. */
  async function beat(): Promise<void> {
    if (!beating) return await joinBeat()
    nextBeat ??= beating
      .catch(() => {})
      .then(() => {
        nextBeat = undefined
        return joinBeat()
      })
    await nextBeat
  }

  /** Beats, or joins a beat in progress. */
  async function joinBeat(): Promise<void> {
    beating ??= beatOnce().finally(() => {
      beating = undefined
    })
    await beating
  }

  /** Beats, and passes on what changed. The time counts from before the request, because that may take long. */
  async function beatOnce(): Promise<void> {
    if (hasLeft) return
    let askedAt: number
    let sinceAskedMs: () => number
    let answer: Beat
    let wants: BeatRequest['wants']
    try {
      const asked = await request()
      if (hasLapsed()) regainedUntil = clock.monotonic() + regainMs
      wants = isQuitting ? {} : clock.monotonic() < regainedUntil ? wantedAgain(asked.wants) : asked.wants
      askedAt = clock.monotonic()
      sinceAskedMs = stopwatch(clock)
      answer = await store.beat({ ...asked, wants, member, forMs: memberMs })
    } catch (error) {
      failure = error
      // The request may have taken longer than the leases.
      stopCallsIfExpired()
      throw error
    }
    // It took leases that would otherwise be held until they expire.
    if (hasLeft) return await leaveStore()
    if (answer.type === 'refused') return onRefused(answer.reason)
    others = answer.others
    const lost = updateLeases(answer.leases)
    const isJoining = !isMember
    const sinceLastMs = isJoining ? undefined : clock.monotonic() - sentAt
    sentAt = askedAt
    isMember = true
    waitingFor = undefined
    sinceBeatMs = sinceAskedMs
    scheduleDeadline()
    if (isHeld()) allowCalls()
    if (isJoining) options.onJoined()
    for (const lease of lost) onLost(lease.handle)
    for (const lease of answer.leases) if (!held.has(lease.name)) takeLease(lease)
    onExcess(lastingExcess(excessIn(answer, wants)))
    onBeat?.(answer, { sinceLastMs, isLate: sinceLastMs !== undefined && sinceLastMs > lateMs })
  }

  /** Whether the leases of this member have ended since its last beat. */
  function hasLapsed(): boolean {
    return isMember && sinceBeatMs() > memberMs
  }

  /**
   * Returns the wanted leases that this process had. After an outage of the database all members come back at about the same time. If
   * each first has its own leases again, the first one of them does not take those of all others, and restore them in vain. One of
   * each group says to the others that this process has a share of it. It has all of the rest, which is a group of its own.
   */
  function wantedAgain(wants: BeatRequest['wants']): BeatRequest['wants'] {
    const had = Object.entries(wants).map(([group, names]) => ({
      group,
      names: names.filter((name) => held.has(name)),
    }))
    return {
      ...Object.fromEntries(had.map(({ group, names }) => [group, names.slice(0, 1)])),
      [`of ${member}`]: had.flatMap(({ names }) => names.slice(1)),
    }
  }

  /**
   * Renews the leases that this process still has, and drops and returns the others. One whose fence is the next one only
   * expired, for example during sleep, but no other process had it in between.
   */
  function updateLeases(granted: readonly StoreLease[]): readonly OwnLease[] {
    const byName = new Map(granted.map((lease) => [lease.name, lease]))
    const lost: OwnLease[] = []
    for (const own of held.values()) {
      const renewed = byName.get(own.lease.name)
      if (renewed && renewed.fence <= own.lease.fence + 1) own.lease = renewed
      else lost.push(own)
    }
    for (const own of lost) drop(own)
    return lost
  }

  /**
   * Adds a lease and passes it on. Ignores one that this process released while the beat was in flight. After `quit`, ignores all:
   * `leave` ends them.
   */
  function takeLease(lease: StoreLease): void {
    const { name } = lease
    if (isQuitting) return
    if (lease.fence <= (releasedFences.get(name) ?? 0)) return
    releasedFences.delete(name)
    const own: OwnLease = { lease, isOver: false, controller: newAbortController(), handle: handleOf(() => own) }
    held.set(name, own)
    onGranted(own.handle)
  }

  /** Returns the excess without the leases that this process released while the beat was in flight, which the beat counts. */
  function excessIn(
    { excess, leases }: Extract<Beat, { readonly type: 'admitted' }>,
    wants: BeatRequest['wants'],
  ): Readonly<Record<string, number>> {
    const released = leases.filter(({ name }) => !held.has(name))
    return Object.fromEntries(
      Object.entries(excess).map(([group, count]) => {
        const isOfGroup = new Set(wants[group])
        return [group, Math.max(0, count - released.filter(({ name }) => isOfGroup.has(name)).length)]
      }),
    )
  }

  /**
   * Returns the least excess of the beats of `memberMs`. A member that died or was suspended counts for half of that, perhaps beside the
   * process that was started in its place: leases that were given back for it would be taken again a moment later. Two that die one after
   * the other count for the whole time.
   */
  function lastingExcess(excess: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
    const now = clock.monotonic()
    excesses.push({ at: now, excess })
    while (excesses[1] && excesses[1].at <= now - memberMs) excesses.shift()
    const [oldest] = excesses
    if (!oldest || oldest.at > now - memberMs) return {}
    const least = Object.keys(excess).map((group) => [
      group,
      Math.min(...excesses.map((one) => one.excess[group] ?? 0)),
    ])
    return Object.fromEntries(least.filter(([, count]) => count !== 0))
  }

  /** Returns the lease as the rest of the bridge uses it. */
  function handleOf(get: () => OwnLease): HeldLease {
    return {
      get name() {
        return get().lease.name
      },
      current: () => (get().isOver ? undefined : get().lease),
      renew: async () => {
        await beat()
        return !get().isOver
      },
      isHeld: () => !get().isOver && isHeld(),
      whenHeld: async () => {
        await whenAllowed(() => get().isOver)
        return get().controller.signal
      },
      release: async () => {
        const own = get()
        if (own.isOver) return
        drop(own)
        releasedFences.set(own.lease.name, own.lease.fence)
        try {
          await store.release(own.lease)
        } catch (error) {
          // Each beat renews it, so that it never expires. The next one grants it again.
          releasedFences.delete(own.lease.name)
          throw error
        }
      },
    }
  }

  /** Ends a lease: its running calls are aborted, and its waiting ones rejected. */
  function drop(own: OwnLease): void {
    own.isOver = true
    own.controller.abort(takenOverError())
    held.delete(own.lease.name)
    wakeWaitingCalls()
  }

  /** Drops all leases, because the store does not count this process as a member. */
  function onRefused(reason: 'alone' | 'layout' | 'full'): void {
    const lost = [...held.values()]
    const wasMember = isMember
    isMember = false
    regainedUntil = Number.NEGATIVE_INFINITY
    sinceBeatMs = () => Number.POSITIVE_INFINITY
    callsAllowed.abort(takenOverError())
    for (const own of lost) drop(own)
    for (const { handle } of lost) onLost(handle)
    failure = undefined
    problem = undefined
    if (wasMember) options.onLeft()
    waitFor(reason)
  }

  /** Notes for what this process waits, and calls `onWaiting` if that is new. */
  function waitFor(reason: Parameters<MembershipEvents['onWaiting']>[0]): void {
    const isNew = waitingFor !== reason
    waitingFor = reason
    if (isNew) onWaiting(reason)
  }

  /** Stops calls when the membership expires. Node's timers may be up to 1 ms early, so it checks again until then. */
  function scheduleDeadline(): void {
    stopDeadline()
    stopDeadline = clock.after(Math.max(0, callsMs - sinceBeatMs()), () => {
      if (isHeld()) scheduleDeadline()
      else stopCallsIfExpired()
    })
  }

  /**
   * Whether this process is a member, and that has not expired by either clock, less `marginMs`. A clock that is set forward ends it,
   * too, until the next beat: that looks like sleep. One that is set back does not prolong it.
   */
  function isHeld(): boolean {
    return isMember && !hasLeft && sinceBeatMs() < callsMs
  }

  /**
   * Resolves when calls are allowed, with a signal that aborts when no calls are. Beats itself while they are not. Rejects if the
   * lease is over, and if it would have to wait while the bridge is stopping.
   */
  async function whenAllowed(isOver: () => boolean): Promise<AbortSignal> {
    for (;;) {
      if (isOver() || hasLeft) throw takenOverError()
      if (isHeld()) return callsAllowed.signal
      if (isQuitting) throw new PortError('unreachable', 'Not sent, because the bridge is stopping.')
      stopCallsIfExpired()
      // After the computer slept, the timer may be late and other processes may have taken over.
      if (isMember) void joinBeat().catch(() => {})
      await recheck.promise
    }
  }

  /**
   * Aborts running calls. Reports a problem if the store fails, once until calls are allowed again. Does nothing while calls are
   * allowed, and for a process that is not a member.
   */
  function stopCallsIfExpired(): void {
    if (isHeld() || !isMember || hasLeft) return
    const reason = new BridgeError(
      'state',
      'The call was aborted, because this process could not renew its lease in time.',
    )
    callsAllowed.abort(reason)
    for (const { controller } of held.values()) controller.abort(reason)
    if (problem !== undefined || failure === undefined) return
    problem = `The state can't be written, so no calls are made until it can: ${messageOf(failure)}`
    onStalled(new BridgeError('state', problem, { cause: failure }))
  }

  /** Wakes waiting calls, and clears the problem. Calls `onBack` if there was one. */
  function allowCalls(): void {
    failure = undefined
    if (callsAllowed.signal.aborted) callsAllowed = newAbortController()
    for (const own of held.values()) if (own.controller.signal.aborted) own.controller = newAbortController()
    wakeWaitingCalls()
    if (problem === undefined) return
    problem = undefined
    onBack()
  }

  /** Wakes calls that wait. They check again whether they are allowed. */
  function wakeWaitingCalls(): void {
    recheck.resolve()
    recheck = withResolvers<void>()
  }

  /**
   * Stops calls from waiting, because the bridge is stopping: rejects those that wait, and from now on those that would have to.
   * Keeps the leases, so that calls that need not wait still run.
   */
  function quit(): void {
    isQuitting = true
    wakeWaitingCalls()
  }

  /** Drops all leases and leaves, after a beat in progress, which would join again. */
  async function leave(): Promise<void> {
    if (hasLeft) return
    const wasAsked = isMember || beating !== undefined
    isQuitting = true
    hasLeft = true
    stopBeats()
    stopDeadline()
    callsAllowed.abort(takenOverError())
    for (const own of [...held.values()]) drop(own)
    wakeWaitingCalls()
    await beating?.catch(() => {})
    if (wasAsked) await leaveStore()
  }

  /** Removes this process from the members. */
  async function leaveStore(): Promise<void> {
    await store.leave(member, options.used?.())
  }
}

/** A lease of this process, while it has it. */
interface OwnLease {
  lease: StoreLease
  /** Whether it was lost or released. */
  isOver: boolean
  /** Aborts calls under the lease. Replaced once they are allowed again. */
  controller: AbortController
  readonly handle: HeldLease
}

/** Returns the error of calls after another process took the lease. */
export function takenOverError(): BridgeError {
  return new BridgeError('taken-over', 'Another process took over these chats, so this one does nothing more in them.')
}
