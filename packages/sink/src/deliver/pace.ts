import type { Clock } from '@reply/core'
import type { RecentCalls } from '../ledger/ledger.ts'
import { type Budget, type CallKind, callKinds, type Limits } from '../port/limits.ts'
import type { Chat } from '../port/port.ts'
import { type LimitScope, PortError } from '../port/port-error.ts'
import { createRecent } from '../recent.ts'
import {
  type Calls,
  type ChatCalls,
  callsOfKind,
  createCalls,
  createChats,
  type ExclusiveAsk,
  frozenUntil,
  mostNotices,
  noticeMs,
  type UrgentCall,
  youngMs,
} from './chat-calls.ts'
import type { Priority } from './operation.ts'
import { countedCalls, createShare, type SharedBudget } from './shared-budget.ts'

/** Schedules calls within the platform's rate limits. Use one per platform client, shared by all its sinks. */
export interface Pacer {
  /** Returns the pace of a chat, which its threads share. */
  chat(chat: Chat, limits: Limits): ChatPace
  /**
   * Returns the client's rate limits, to divide them among processes: `calls` for `Limits.perClient`, and the kind of call for
   * each of `Limits.perKind` that all chats share. The same objects at each call.
   */
  sharedBudgets(limits: Limits): Readonly<Record<string, SharedBudget>>
}

/** The pace of one chat. */
export interface ChatPace {
  /**
   * Returns when a call of this priority may be made, in ms since the epoch. A past time means now. With `calls`, returns
   * when the last of this many calls in a row may be made, as far as is known now. Default: one post. While this process has a
   * part of a `SharedBudget`, a later time may be the time to ask again, because the part may grow.
   */
  readyAt(priority: Priority, kind?: CallKind, calls?: number): number
  /**
   * Returns when an owner may next write growing text, in ms since the epoch. All current writers share the rest of the
   * budget evenly, so that none of them stalls until the budget is free again. Ask again then, as for `readyAt`.
   */
  spacedAt(owner: object, kind: CallKind, writtenAt: number): number
  /**
   * Registers that an owner's growing text waits for a call of this kind, and how often it wants one, in ms. Undefined: none waits,
   * but more may come. Default of `everyMs`: `Limits.editIntervalMs`.
   */
  setGrowingText(owner: object, kind: CallKind | undefined, everyMs?: number): void
  /**
   * Call it when an owner's text grows no more. `stopped`: because another process may go on with it, so that the calls of this
   * pace say nothing about what this process will need.
   */
  endGrowingText(owner: object, how: 'settled' | 'stopped'): void
  /**
   * Registers an owner's waiting ask, which precedes all other calls, or its waiting final text, which precedes growing
   * texts and statuses. Undefined: nothing waits any more.
   */
  setUrgent(owner: object, urgent: UrgentCall | undefined): void
  /** Whether another owner's urgent call precedes a call of this priority. `onFree` reports when to check again. */
  isBehind(owner: object, priority: Priority): boolean
  /**
   * Registers an owner's permission that people answer by text. A chat or thread shows only one at a time. Undefined: none.
   */
  setExclusiveAsk(owner: object, ask: ExclusiveAsk | undefined): void
  /**
   * Whether another owner's permission has to be answered first: a shown one, or else the one that has waited longest.
   * `onFree` reports when to check again.
   */
  isBlockedByAsk(owner: object): boolean
  /**
   * Starts a call, and returns the function to call when it ends, with whether it posted a message. Returns undefined while
   * another call is in flight. Default: a post.
   */
  startCall(kind?: CallKind): ((hasPosted?: boolean) => void) | undefined
  /** Calls the listener once, when the current call ends or an ask no longer blocks others. */
  onFree(listener: () => void): void
  /**
   * Calls the listener after each message posted in this chat and thread, unless an earlier listener returned true. Returns
   * a function that removes it.
   */
  onPosted(listener: () => boolean): () => void
  /**
   * Pauses all calls that the platform counts together with this kind, for example after a 429. Never shortens a pause. With
   * scope `unknown`, pauses the whole client if another chat is paused, too. Default: a post.
   */
  freeze(forMs: number, scope: LimitScope, kind?: CallKind): void
  /** Returns when the platform's pause ends, in ms since the epoch. A past time means that there is no pause. */
  pausedUntil(): number
  /**
   * Returns when a typing notice may be sent, in ms since the epoch: after the platform's pause, while fewer than `mostNotices`
   * count in this place and, if `Limits.countsTyping`, within the client's budget. It has the priority of a status. While this
   * process has a part of a `SharedBudget`, only one notice may count: another process may just have sent those before.
   */
  typingReadyAt(): number
  /**
   * Starts a call that needs no turn in its chat, and returns the function to call when it ends. It counts like others of its
   * kind. Wait for `readyAt` before.
   */
  startAside(kind: CallKind): () => void
  /** Starts to send a typing notice, and returns the function to call when the call ends. Other calls needn't have ended. */
  startTyping(): () => void
  /** Whether the newest message that this process posted in this chat and thread is of this pace. */
  hasPostedLast(): boolean
  /** Returns true for this process's first call with the topic in this chat. For texts that a chat shows only once. */
  claimTopic(topic: string): boolean
  /**
   * Returns the calls that still count against the chat's own budgets, with those in flight as made now. Undefined if none
   * does.
   */
  recentCalls(): RecentCalls | undefined
  /** Counts the calls of a process that made calls in this chat before, as if this pace had made them. */
  addRecentCalls(recent: RecentCalls): void
}

/** The share of a budget that each priority leaves to higher ones. */
const reserves: Readonly<Record<Priority, number>> = { ask: 0, final: 1 / 10, text: 1 / 5, status: 1 / 2 }

/** A budget, and the calls that count against it. */
interface CountedBudget {
  readonly calls: Calls
  readonly budget: Budget
}

/** When a budget allows the next call, in ms since the epoch. */
interface FreeBudget {
  readonly counted: CountedBudget
  readonly at: number
}

/** The calls that a caller wants to make. */
interface Request {
  readonly by: object
  readonly priority: Priority
  readonly kind: CallKind
  readonly count: number
}

/**
 * How much of the calls that a text wants it counts for while it is young. With less, a process that only has short answers has hardly
 * any calls when it takes over a longer one.
 */
const youngPart = 1 / 5
/** The fewest calls that a young text counts for, if it wants as many: most short answers need no more. */
const youngCalls = 2

/** How many topics are remembered as shown. */
const mostReported = 10_000

/**
 * Creates the pacer of one platform client. `lookAgainMs`: how often a caller without a turn looks again whether its process has a
 * larger share of a budget. Default 250.
 */
export function createPacer({
  clock,
  lookAgainMs = 250,
}: {
  readonly clock: Clock
  readonly lookAgainMs?: number
}): Pacer {
  const client = createCalls(clock)
  const chats = createChats(clock)
  /** Topics that chats have already shown. */
  const reported = createRecent<true>(mostReported)
  /** By chat and thread: the pace that posted last. */
  const lastPosts = createRecent<object>(mostReported)
  const shared = new Map<string, SharedBudget>()
  return {
    chat,
    sharedBudgets: (limits) => {
      if (limits.perClient) shareBudget('calls', 'post', client, limits.perClient)
      for (const kind of callKinds) {
        const budget = limits.perKind?.[kind]
        if (budget?.scope === 'client') shareBudget(kind, kind, callsOfKind(client, kind, limits, clock), budget)
      }
      return Object.fromEntries(shared)
    },
  }

  /** Makes a budget of the client one that processes share. Does nothing if it is one. */
  function shareBudget(name: string, kind: CallKind, calls: Calls, budget: Budget): void {
    if (shared.has(name)) return
    const share = createShare(budget, { clock, lookAgainMs })
    calls.share = share
    const { total, windowMs, demand, growing, setShare, onFrozen, onDelayed } = share
    const mostGrowing = total - reserveOf(total, { priority: 'text', kind, isShared: true })
    const usedFor = (): ReturnType<SharedBudget['usedFor']> => {
      const now = clock.now()
      const inFlight = new Array<number>(calls.inFlight).fill(now + windowMs)
      return countedCalls([...calls.times.map(({ at }) => at + windowMs), ...inFlight], windowMs, now)
    }
    const used = (): number => usedFor().reduce((sum, one) => sum + one.calls, 0)
    const freeze = (forMs: number): void => freezeCalls(calls, forMs)
    const calling = { demand, growing, used, usedFor }
    shared.set(name, { total, windowMs, mostGrowing, ...calling, setShare, freeze, onFrozen, onDelayed })
  }

  /** Pauses the calls. Never shortens a pause. */
  function freezeCalls(calls: Calls, forMs: number): void {
    calls.frozenUntil = Math.max(calls.frozenUntil, clock.now() + forMs)
  }

  /** Returns a new pace, on the calls that all paces of this chat and its threads share. Each pace counts as one sink. */
  function chat(place: Chat, limits: Limits): ChatPace {
    // Threads share their chat's budget.
    const callsHere = (): ChatCalls => chats.callsIn(place.id)
    /** Identifies this pace in the recorded calls. */
    const by = {}
    const placeName = JSON.stringify([place.id, place.thread])
    /** Returns what counts calls of this kind: in the chat, and of the client. */
    const bothOf = (kind: CallKind): readonly [Calls, Calls] => [
      callsOfKind(callsHere(), kind, limits, clock),
      callsOfKind(client, kind, limits, clock),
    ]
    /** The kind of call that each owner's growing text waits for. */
    const growing = new WeakMap<object, CallKind>()
    /** Since when each owner's text grows, in ms since the epoch. One that an earlier process began counts as old. */
    const growingSince = new WeakMap<object, number>()
    chats.useLimits(limits)
    return {
      readyAt: (priority, kind = 'post', count = 1) => {
        const request = { by, priority, kind, count }
        const paused = bothOf(kind).map((calls) => calls.frozenUntil)
        const free = budgetsFor(kind).map((counted) => ({ counted, at: nextFreeAt(counted, request) }))
        if (count === 1) recordWaiting(free, clock.now())
        return Math.max(...paused, ...free.map((one) => (count === 1 ? lookAt(one) : one.at)))
      },
      spacedAt: (owner, kind, writtenAt) => {
        const spaced = budgetsFor(kind).map((counted) => {
          return { counted, at: evenlySpacedAt(counted, { by, owner, kind, writtenAt }) }
        })
        recordWaiting(spaced, Math.max(clock.now(), writtenAt + limits.editIntervalMs))
        const spacedAt = Math.max(...spaced.map(lookAt))
        if (growing.get(owner) === kind && spacedAt <= clock.now()) return Math.max(spacedAt, turnAt(kind, writtenAt))
        for (const { counted } of spaced) counted.calls.share?.loseTurn(by)
        return spacedAt
      },
      setGrowingText: (owner, kind, everyMs = limits.editIntervalMs) => {
        const before = growing.get(owner)
        if (before === kind) return
        if (before) {
          for (const { writers } of bothOf(before)) writers.pauseWriting(owner)
          for (const { share } of bothOf(before)) share?.pauseWriting(by)
        }
        if (kind) {
          // Its message is there already.
          const isBegun = kind === 'edit' || kind === 'append'
          const since = growingSince.get(owner) ?? (isBegun ? Number.NEGATIVE_INFINITY : clock.now())
          growingSince.set(owner, since)
          for (const { writers } of bothOf(kind)) writers.startWriting(owner, since)
          for (const { share } of bothOf(kind))
            share?.startWriting(by, () => {
              const wanted = share.windowMs / growsEveryMs(owner, kind, everyMs)
              return since + youngMs > clock.now() ? Math.min(wanted, Math.max(youngCalls, wanted * youngPart)) : wanted
            })
          growing.set(owner, kind)
        } else growing.delete(owner)
      },
      endGrowingText: (owner, how) => {
        growing.delete(owner)
        growingSince.delete(owner)
        for (const { writers, share } of [
          callsHere(),
          client,
          ...callsHere().kinds.values(),
          ...client.kinds.values(),
        ]) {
          writers.endWriting(owner)
          if (how === 'stopped') share?.forget(by)
          else share?.endWriting(by)
        }
      },
      setUrgent: (owner, urgent) => {
        const calls = callsHere()
        const isOver = urgent === undefined && calls.urgentCalls.delete(owner)
        if (urgent) calls.urgentCalls.set(owner, urgent)
        if (isOver) callFreeListeners(calls)
      },
      isBehind: (owner, priority) => {
        const calls = callsHere()
        if (calls.urgentCalls.size === 0) return false
        const asks = [...calls.urgentCalls].filter(([, urgent]) => urgent.priority === 'ask')
        const [first] = asks.toSorted(([, a], [, b]) => a.waitingSince - b.waitingSince)
        if (first) return first[0] !== owner
        return (priority === 'text' || priority === 'status') && !calls.urgentCalls.has(owner)
      },
      setExclusiveAsk: (owner, ask) => {
        const calls = callsHere()
        const isOver = ask === undefined && calls.exclusiveAsks.delete(owner)
        if (ask) calls.exclusiveAsks.set(owner, { ...ask, thread: place.thread })
        if (isOver) callFreeListeners(calls)
      },
      isBlockedByAsk: (owner) => {
        const here = [...callsHere().exclusiveAsks].filter(([, { thread }]) => thread === place.thread)
        const [first] = here.toSorted(([, a], [, b]) => Number(b.isShown) - Number(a.isShown) || a.since - b.since)
        return first !== undefined && first[0] !== owner
      },
      startCall: (kind = 'post') => {
        const calls = callsHere()
        if (calls.isBusy) return undefined
        calls.isBusy = true
        const both = bothOf(kind)
        for (const one of both) one.inFlight += 1
        return (hasPosted = false) => {
          calls.isBusy = false
          for (const one of both) one.inFlight -= 1
          recordCalls(kind)
          callFreeListeners(calls)
          if (!hasPosted) return
          lastPosts.set(placeName, by)
          callPostListeners(calls, place.thread)
        }
      },
      onFree: (listener) => {
        callsHere().freeListeners.push(listener)
      },
      onPosted: (listener) => {
        const { postListeners } = callsHere()
        postListeners.set(listener, place.thread)
        return () => postListeners.delete(listener)
      },
      freeze: (forMs, scope, kind = 'post') => {
        const isWide = scope === 'client' || (scope === 'unknown' && chats.isAnotherFrozen(callsHere()))
        const [here, everywhere] = bothOf(kind)
        freezeCalls(isWide ? everywhere : here, forMs)
        if (isWide) everywhere.share?.reportFrozen(forMs)
      },
      pausedUntil,
      typingReadyAt: () => {
        const { perClient } = limits
        const countUntil = callsHere().noticesCountUntil.get(place.thread) ?? 0
        const most = isDivided(client) ? 1 : mostNotices
        const readyAt = Math.max(pausedUntil(), countUntil - (most - 1) * noticeMs)
        if (!limits.countsTyping || !perClient) return readyAt
        const request = { by, priority: 'status', kind: 'post', count: 1 } as const
        const counted = { calls: client, budget: perClient }
        return Math.max(readyAt, lookAt({ counted, at: nextFreeAt(counted, request) }))
      },
      startAside: (kind) => {
        const both = bothOf(kind)
        for (const one of both) one.inFlight += 1
        return () => {
          for (const one of both) one.inFlight -= 1
          recordCalls(kind)
        }
      },
      startTyping: () => {
        const { noticesCountUntil } = callsHere()
        const now = clock.now()
        const countUntil = Math.max(noticesCountUntil.get(place.thread) ?? 0, now) + noticeMs
        for (const [thread, until] of noticesCountUntil) if (until <= now) noticesCountUntil.delete(thread)
        noticesCountUntil.set(place.thread, countUntil)
        const { perClient } = limits
        if (!limits.countsTyping || !perClient) return () => {}
        client.inFlight += 1
        return () => {
          client.inFlight -= 1
          recordCall({ calls: client, budget: perClient }, { at: clock.now(), by })
        }
      },
      recentCalls: () => {
        const now = clock.now()
        const times = countedApart().flatMap(([name, { times: made, inFlight }, perMs]) => {
          const all = [...made.map(({ at }) => at).filter((at) => at > now - perMs), ...new Array(inFlight).fill(now)]
          return all.length === 0 ? [] : [[name, all] as const]
        })
        const frozen = frozenUntil(callsHere())
        const notices = callsHere().noticesCountUntil.get(place.thread) ?? 0
        if (times.length === 0 && frozen <= now && notices <= now) return undefined
        return {
          times: Object.fromEntries(times),
          ...(frozen > now && { frozenUntil: frozen }),
          ...(notices > now && { noticesCountUntil: notices }),
        }
      },
      addRecentCalls: ({ times, frozenUntil: frozen = 0, noticesCountUntil: notices = 0 }) => {
        const { noticesCountUntil } = callsHere()
        const now = clock.now()
        for (const [name, calls, perMs] of countedApart()) {
          const known = new Set(calls.times.map(({ at }) => at))
          // Each list has all calls of the chat, so an earlier list had those up to its newest.
          const unknown = (times[name] ?? []).filter((at) => at > calls.heardUntil && !known.has(at))
          // The clock of the other process may be ahead.
          const added = unknown.map((at) => ({ at: Math.min(at, now), by }))
          calls.heardUntil = Math.max(calls.heardUntil, ...added.map(({ at }) => at))
          // This process may have made calls before it heard of these.
          calls.times = [...calls.times, ...added].toSorted((a, b) => a.at - b.at)
          freezeCalls(calls, Math.min(frozen - now, perMs))
        }
        const noticesUntil = Math.min(notices, now + mostNotices * noticeMs)
        noticesCountUntil.set(place.thread, Math.max(noticesCountUntil.get(place.thread) ?? 0, noticesUntil))
      },
      hasPostedLast: () => lastPosts.get(placeName) === by,
      claimTopic: (topic) => {
        const key = `${place.id} ${topic}`
        const isFirst = reported.get(key) === undefined
        reported.set(key, true)
        return isFirst
      },
    }

    /** Returns what counts the calls of this chat, with its name in `RecentCalls` and for how long they count, in ms. */
    function countedApart(): readonly (readonly [name: string, calls: Calls, perMs: number])[] {
      const here = callsHere()
      const perMs = Math.max(limits.perChat.perMs, limits.burst?.perMs ?? 0)
      const kinds = callKinds.flatMap((kind) => {
        const own = limits.perKind?.[kind]
        return own?.scope === 'chat' ? [[kind, callsOfKind(here, kind, limits, clock), own.perMs] as const] : []
      })
      return [['all', here, perMs], ...kinds]
    }

    /** Returns how often an owner's growing text wants a call, as far as the budgets of its chat allow it, in ms. */
    function growsEveryMs(owner: object, kind: CallKind, everyMs: number): number {
      const ofChat = budgetsFor(kind).filter(({ calls }) => calls.share === undefined)
      const spaced = ofChat.map(({ calls: { writers }, budget: { calls, perMs } }) => {
        const text = reserveOf(calls, { priority: 'text', kind, isShared: false })
        return (perMs * writers.countWriters(owner)) / Math.max(1, calls - text)
      })
      return Math.max(1, everyMs, ...spaced)
    }

    /**
     * Returns when it is the turn of a growing text that is due, in ms since the epoch: those that were written longer ago go first,
     * so that none is left out while a budget is used up.
     */
    function turnAt(kind: CallKind, writtenAt: number): number {
      const request = { by, priority: 'text', kind, count: 1 } as const
      const counted = budgetsFor(kind)
      const ofChat = counted.filter(({ calls }) => !calls.share).map((one) => nextFreeAt(one, request))
      if (Math.max(pausedUntil(), ...ofChat) > clock.now()) return 0
      // Another process may have written it before.
      const lastAt = callsHere().times.findLast((one) => one.by === by)?.at
      const turns = counted.map((one) => {
        const ahead = one.calls.share?.textsAhead(by, Number.isFinite(writtenAt) ? writtenAt : lastAt) ?? 0
        return ahead === 0 ? 0 : lookAt({ counted: one, at: nextFreeAt(one, { ...request, count: 1 + ahead }) })
      })
      return Math.max(...turns)
    }

    /** Records a call at its end: the platform counts its arrival, which is later than its start. */
    function recordCalls(kind: CallKind): void {
      const made = { at: clock.now(), by }
      for (const counted of budgetsFor(kind)) if (counted.budget !== limits.burst) recordCall(counted, made)
    }

    /** Returns when the platform's pauses of the chat and the client end, in ms since the epoch. */
    function pausedUntil(): number {
      return Math.max(frozenUntil(callsHere()), frozenUntil(client))
    }

    /**
     * Notes that this pace's call waits for those of its budgets that processes share. Not if it has to wait for as long anyway:
     * for the chat's budget, or until `otherwiseAt`, in ms since the epoch.
     */
    function recordWaiting(free: readonly FreeBudget[], otherwiseAt: number): void {
      const own = free.flatMap(({ counted, at }) => (counted.calls.share ? [] : [at]))
      const readyAt = Math.max(otherwiseAt, ...own)
      for (const { counted, at } of free) if (at > readyAt) counted.calls.share?.recordWaiting(by)
    }

    /** Returns the budgets that a call of this kind counts against: its own alone, or those of the chat and the client. */
    function budgetsFor(kind: CallKind): readonly CountedBudget[] {
      const [here, everywhere] = bothOf(kind)
      const own = limits.perKind?.[kind]
      if (own) return [{ calls: own.scope === 'chat' ? here : everywhere, budget: own }]
      const ofChat = [limits.perChat, ...(limits.burst ? [limits.burst] : [])]
      const counted = ofChat.map((budget) => ({ calls: here, budget }))
      return limits.perClient ? [...counted, { calls: everywhere, budget: limits.perClient }] : counted
    }
  }

  /** Adds a call, and forgets calls that no longer count against the budget. */
  function recordCall({ calls, budget: { perMs } }: CountedBudget, made: Calls['times'][number]): void {
    calls.times = [...calls.times.filter(({ at }) => at > made.at - perMs), made]
    calls.share?.recordCall(made.by)
  }

  /** Calls the listeners of the thread until one returns true. */
  function callPostListeners({ postListeners }: ChatCalls, thread: string | undefined): void {
    for (const [listener, where] of postListeners) if (where === thread && listener()) return
  }

  /** Calls and removes all listeners. */
  function callFreeListeners({ freeListeners }: ChatCalls): void {
    for (const listener of freeListeners.splice(0)) listener()
  }

  /** Returns when to look whether the budget is free. That is sooner while this process may soon make more calls. */
  function lookAt({ counted: { calls }, at }: FreeBudget): number {
    const isLimited = calls.share !== undefined && calls.share.mostNow() < calls.share.total
    return isLimited || isDivided(calls) ? Math.min(at, clock.now() + lookAgainMs) : at
  }

  /** Whether this process has only a part of the budget. */
  function isDivided({ share }: Calls): boolean {
    return share !== undefined && share.steps()[0].calls < share.total
  }

  /**
   * Returns when the last of `count` calls fits into the budget, in ms since the epoch. 0 if all fit now, and never while this
   * process has no share.
   */
  function nextFreeAt(counted: CountedBudget, request: Request): number {
    const { calls, budget } = counted
    if (!calls.share) return freeAt(counted, budget.calls, request)
    const free = calls.share.steps().map((step) => Math.max(step.from, freeAt(counted, step.calls, request)))
    // What a priority leaves to higher ones is a part of the share.
    const roomAt = freeAt(counted, calls.share.mostNow(), { ...request, priority: 'ask' })
    return Math.max(roomAt, Math.min(...free, nextBeyondShare(counted, request)))
  }

  /**
   * Returns when the last of `count` calls may be made beyond a share that shrank, in ms since the epoch: at the rate of the share,
   * while the calls that count leave room. Never if that is not allowed.
   */
  function nextBeyondShare(
    { calls: { times, inFlight, share }, budget: { perMs } }: CountedBudget,
    { count, ...request }: Request,
  ): number {
    const most = share?.mostCounted() ?? 0
    const part = share?.steps()[0].calls ?? 0
    if (part === 0 || part >= most) return Number.POSITIVE_INFINITY
    const now = clock.now()
    const everyMs = perMs / Math.max(1, part - reserveOf(part, { ...request, isShared: false }))
    const lastAt = inFlight > 0 ? now : (times.at(-1)?.at ?? Number.NEGATIVE_INFINITY)
    const counting = times.filter(({ at }) => at > now - perMs)
    const over = counting.length + inFlight + count - most
    const roomAt = over <= 0 ? 0 : (counting[over - 1]?.at ?? now) + perMs
    return Math.max(lastAt + count * everyMs, roomAt)
  }

  /**
   * Returns when the last of `count` calls fits if the budget allows `most` calls, in ms since the epoch. 0 if all fit now, and
   * never if there are none.
   */
  function freeAt(
    { calls: { times, inFlight }, budget: { perMs } }: CountedBudget,
    most: number,
    { count, ...request }: Request,
  ): number {
    if (most === 0) return Number.POSITIVE_INFINITY
    const now = clock.now()
    const { firstIndex, madeCount, allowedCount } = usageFor(times, { calls: most, perMs }, request)
    let lastFreeAt = 0
    // Calls already made count first, then those in flight, then the requested ones before the last.
    const ahead: number[] = []
    for (let call = 0; call < count; call++) {
      const index = madeCount + inFlight + call - allowedCount
      const blockedSince =
        index < madeCount ? times[firstIndex + index]?.at : (ahead[index - madeCount - inFlight] ?? now)
      lastFreeAt = Math.max(lastFreeAt, index < 0 || blockedSince === undefined ? 0 : blockedSince + perMs)
      if (count > 1) ahead.push(Math.max(lastFreeAt, now))
    }
    return lastFreeAt
  }

  /**
   * Returns the index of the oldest call in the budget's window, the number of calls in it, and how many this priority may
   * make in one window. -1 as the index if there are no calls.
   */
  function usageFor(
    times: Calls['times'],
    { calls, perMs }: Budget,
    request: Pick<Request, 'by' | 'priority' | 'kind'>,
  ): { readonly firstIndex: number; readonly madeCount: number; readonly allowedCount: number } {
    const now = clock.now()
    const firstIndex = times.findIndex(({ at }) => at > now - perMs)
    const madeCount = firstIndex === -1 ? 0 : times.length - firstIndex
    const isShared = madeCount > 0 && times.some((one, index) => index >= firstIndex && one.by !== request.by)
    return { firstIndex, madeCount, allowedCount: Math.max(1, calls - reserveOf(calls, { ...request, isShared })) }
  }

  /**
   * Returns when the owner may next write, in ms since the epoch. Spaces its part of the budget evenly. If more of the window was
   * used up when it last wrote, spaces its part of the rest until the oldest call leaves the window, unless the budget grows. Calls
   * since then don't count: in them the others took the turn that the owner has now, and the last one would wait longest. An owner
   * that has never written may write at once.
   */
  function evenlySpacedAt(
    { calls: { times, writers, share }, budget }: CountedBudget,
    { by, owner, kind, writtenAt }: Spacing,
  ): number {
    if (writtenAt === Number.NEGATIVE_INFINITY) return writtenAt
    const { perMs } = budget
    const part = share?.steps()[0].calls ?? budget.calls
    const most = Math.max(part, share?.growsTo() ?? 0)
    const request = { by, priority: 'text', kind } as const
    const { firstIndex, allowedCount } = usageFor(times, { calls: most, perMs }, request)
    const count = writers.countWriters(owner)
    const evenly = writtenAt + (perMs * count) / allowedCount
    const before = firstIndex === -1 ? [] : times.slice(firstIndex).filter(({ at }) => at <= writtenAt)
    const [oldest] = before
    const room = Math.max(allowedCount, share?.mostCounted() ?? 0) - before.length
    // Without room, `readyAt` has the time.
    if (!oldest || most > part || room <= 0) return evenly
    return Math.max(evenly, writtenAt + (oldest.at + perMs - writtenAt) / (room / count + 1))
  }
}

interface Spacing {
  readonly by: object
  readonly owner: object
  readonly kind: CallKind
  readonly writtenAt: number
}

/**
 * Returns the number of calls that a priority leaves to higher ones. That may be none for a sink alone in its chat, which
 * orders its own calls, and is at least one beside others. Appends leave none, because only growing text is appended.
 */
function reserveOf(
  calls: number,
  { priority, kind, isShared }: Pick<Request, 'priority' | 'kind'> & { readonly isShared: boolean },
): number {
  if (priority === 'ask' || kind === 'append') return 0
  return Math.max(Math.floor(calls * reserves[priority]), isShared ? 1 : 0)
}

/**
 * Makes a call, and resolves or rejects as it does. If it fails with a rate limit, all calls that the platform counts
 * together with this kind are paused, in the chat or for the client.
 */
export async function callHeedingLimits<T>(pace: ChatPace, call: () => Promise<T>, kind?: CallKind): Promise<T> {
  try {
    return await call()
  } catch (error) {
    pauseIfRateLimited(pace, error, kind)
    throw error
  }
}

/** Pauses the chat or the client if the error is a `PortError` with `retryAfterMs`. Does nothing for other errors. */
export function pauseIfRateLimited(pace: ChatPace, error: unknown, kind?: CallKind): void {
  if (!(error instanceof PortError) || error.retryAfterMs === undefined) return
  pace.freeze(error.retryAfterMs, error.scope, kind)
}

const pacers = new WeakMap<object, Pacer>()

/** Returns the pacer that all calls of a client share. It uses the clock of the first caller. */
export function pacerOf(client: object, clock: Clock): Pacer {
  const pacer = pacers.get(client) ?? createPacer({ clock })
  pacers.set(client, pacer)
  return pacer
}
