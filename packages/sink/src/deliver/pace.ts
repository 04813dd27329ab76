import type { Clock } from '@reply/core'
import type { Budget, CallKind, Limits } from '../port/limits.ts'
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
  type UrgentCall,
} from './chat-calls.ts'
import type { Priority } from './operation.ts'

/** Decides when calls may be made. One per platform client, shared by all its sinks. */
export interface Pacer {
  /** The pace of a chat. Threads share that of their chat. */
  chat(chat: Chat, limits: Limits): ChatPace
}

/** The pace of one chat. */
export interface ChatPace {
  /**
   * When a call of that priority may be sent, in ms since the epoch; a past time means now. With `calls`: when the last
   * of that many calls in a row may be sent, as far as is known now. Default: one post.
   */
  readyAt(priority: Priority, kind?: CallKind, calls?: number): number
  /**
   * When growing text may follow what its owner wrote last, in ms since the epoch: all that write now share what is left
   * of the budget evenly, so that none of them stands still until the budget is free again.
   */
  spacedAt(owner: object, kind: CallKind, writtenAt: number): number
  /** Registers that an owner's growing text waits for a call of that kind. Undefined: none waits. */
  grow(owner: object, kind: CallKind | undefined): void
  /**
   * Registers what waits to be shown: an owner's ask, which goes before all other calls, or its final text, which goes
   * before growing texts and statuses. Undefined: nothing waits any more.
   */
  setUrgent(owner: object, urgent: UrgentCall | undefined): void
  /** What another owner claimed goes before a call of that priority. `onFree` reports when to look again. */
  isBehind(owner: object, priority: Priority): boolean
  /**
   * Registers an owner's permission that people answer by text: a chat and thread shows one at a time. Undefined: none.
   */
  setExclusiveAsk(owner: object, ask: ExclusiveAsk | undefined): void
  /**
   * Another owner's permission is answered first: one that is shown, else the one that has waited longest. `onFree`
   * reports when to look again.
   */
  isBlockedByAsk(owner: object): boolean
  /**
   * Starts a call and returns a function that ends it, and says whether a message was posted. Undefined while another
   * call is in flight. Default: a post.
   */
  enter(kind?: CallKind): ((hasPosted?: boolean) => void) | undefined
  /** Calls the listener once, when the current call is over or an ask no longer blocks others. */
  onFree(listener: () => void): void
  /**
   * Calls the listener after each message that is posted in this chat and thread, unless another one returned true before
   * it. Returns a function that stops it.
   */
  onPosted(listener: () => boolean): () => void
  /** The platform asked for a pause after a call of that kind: it applies to all that is counted with it. */
  freeze(forMs: number, scope: LimitScope, kind?: CallKind): void
  /** When the pause that the platform asked for is over, in ms since the epoch; a past time means that there is none. */
  pausedUntil(): number
  /** True the first time that this process asks for the topic: for things that a chat is shown only once. */
  isFirst(topic: string): boolean
}

/** The share of a budget that each priority leaves for higher ones. */
const reserves: Readonly<Record<Priority, number>> = { ask: 0, final: 1 / 10, text: 1 / 5, status: 1 / 2 }

/** What counts against a budget, and its budget. */
interface Counted {
  readonly calls: Calls
  readonly budget: Budget
}

interface Room {
  readonly by: object
  readonly priority: Priority
  readonly kind: CallKind
  readonly count: number
}

/** Of how many topics it is remembered that a chat was shown them. */
const mostReported = 10_000

/** Makes the pacer of one platform client. */
export function createPacer({ clock }: { readonly clock: Clock }): Pacer {
  const client = createCalls(clock)
  const chats = createChats(clock)
  /** Topics that chats were already shown. */
  const reported = createRecent<true>(mostReported)
  return { chat }

  function chat(place: Chat, limits: Limits): ChatPace {
    // Threads share their chat's budget.
    const callsHere = (): ChatCalls => chats.of(place.id)
    const by = {}
    const bothOf = (kind: CallKind): readonly [Calls, Calls] => [
      callsOfKind(callsHere(), kind, limits, clock),
      callsOfKind(client, kind, limits, clock),
    ]
    /** The owners' growing texts, and what they wait for. */
    const growing = new WeakMap<object, CallKind>()
    chats.useLimits(limits)
    return {
      readyAt: (priority, kind = 'post', count = 1) => {
        const room = { by, priority, kind, count }
        const paused = bothOf(kind).map((calls) => calls.frozenUntil)
        return Math.max(...paused, ...countedFor(kind).map((counted) => roomAt(counted, room)))
      },
      spacedAt: (owner, kind, writtenAt) =>
        Math.max(...countedFor(kind).map((counted) => evenlyAt(counted, { by, owner, kind, writtenAt }))),
      grow: (owner, kind) => {
        const before = growing.get(owner)
        if (before === kind) return
        if (before) for (const { writers } of bothOf(before)) writers.pause(owner)
        if (kind) for (const { writers } of bothOf(kind)) writers.begin(owner)
        if (kind) growing.set(owner, kind)
        else growing.delete(owner)
      },
      setUrgent: (owner, urgent) => {
        const calls = callsHere()
        const isOver = urgent === undefined && calls.urgentCalls.delete(owner)
        if (urgent) calls.urgentCalls.set(owner, urgent)
        if (isOver) wake(calls)
      },
      isBehind: (owner, priority) => {
        const calls = callsHere()
        if (calls.urgentCalls.size === 0) return false
        const asks = [...calls.urgentCalls].filter(([, urgent]) => urgent.priority === 'ask')
        const [first] = asks.toSorted(([, a], [, b]) => a.since - b.since)
        if (first) return first[0] !== owner
        return (priority === 'text' || priority === 'status') && !calls.urgentCalls.has(owner)
      },
      setExclusiveAsk: (owner, ask) => {
        const calls = callsHere()
        const isOver = ask === undefined && calls.exclusiveAsks.delete(owner)
        if (ask) calls.exclusiveAsks.set(owner, { ...ask, thread: place.thread })
        if (isOver) wake(calls)
      },
      isBlockedByAsk: (owner) => {
        const here = [...callsHere().exclusiveAsks].filter(([, { thread }]) => thread === place.thread)
        const [first] = here.toSorted(([, a], [, b]) => Number(b.isShown) - Number(a.isShown) || a.since - b.since)
        return first !== undefined && first[0] !== owner
      },
      enter: (kind = 'post') => {
        const calls = callsHere()
        if (calls.isBusy) return undefined
        calls.isBusy = true
        const both = bothOf(kind)
        for (const one of both) one.inFlight += 1
        return (hasPosted = false) => {
          calls.isBusy = false
          for (const one of both) one.inFlight -= 1
          // Recorded at the end of the call: the platform counts its arrival, which is later than its start.
          const made = { at: clock.now(), by }
          for (const counted of countedFor(kind)) if (counted.budget !== limits.burst) note(counted, made)
          wake(calls)
          if (hasPosted) tellPosted(calls, place.thread)
        }
      },
      onFree: (listener) => {
        callsHere().waiting.push(listener)
      },
      onPosted: (listener) => {
        const { posted } = callsHere()
        posted.set(listener, place.thread)
        return () => posted.delete(listener)
      },
      freeze: (forMs, scope, kind = 'post') => {
        const isWide = scope === 'client' || (scope === 'unknown' && chats.isFrozenExcept(callsHere()))
        const [here, everywhere] = bothOf(kind)
        const frozen = isWide ? everywhere : here
        frozen.frozenUntil = Math.max(frozen.frozenUntil, clock.now() + forMs)
      },
      pausedUntil: () => Math.max(frozenUntil(callsHere()), frozenUntil(client)),
      isFirst: (topic) => {
        const key = `${place.id} ${topic}`
        const isFirst = reported.get(key) === undefined
        reported.set(key, true)
        return isFirst
      },
    }

    /** What a call of that kind counts against. */
    function countedFor(kind: CallKind): readonly Counted[] {
      const [here, everywhere] = bothOf(kind)
      const own = limits.perKind?.[kind]
      if (own) return [{ calls: own.scope === 'chat' ? here : everywhere, budget: own }]
      const ofChat = [limits.perChat, ...(limits.burst ? [limits.burst] : [])]
      const counted = ofChat.map((budget) => ({ calls: here, budget }))
      return limits.perClient ? [...counted, { calls: everywhere, budget: limits.perClient }] : counted
    }
  }

  function note({ calls, budget: { perMs } }: Counted, made: Calls['times'][number]): void {
    calls.times = [...calls.times.filter(({ at }) => at > made.at - perMs), made]
  }

  function tellPosted({ posted }: ChatCalls, thread: string | undefined): void {
    for (const [listener, where] of posted) if (where === thread && listener()) return
  }

  function wake({ waiting }: ChatCalls): void {
    for (const listener of waiting.splice(0)) listener()
  }

  function roomAt({ calls: { times, inFlight }, budget }: Counted, { count, ...room }: Room): number {
    const now = clock.now()
    const { perMs } = budget
    const { from, made, most } = usedOf({ times, budget }, room)
    let at = 0
    // After those that were made come those in flight, then those before the last one. Asked for each waiting call.
    const ahead: number[] = []
    for (let call = 0; call < count; call++) {
      const index = made + inFlight + call - most
      const inTheWay = index < made ? times[from + index]?.at : (ahead[index - made - inFlight] ?? now)
      at = Math.max(at, index < 0 || inTheWay === undefined ? 0 : inTheWay + perMs)
      if (count > 1) ahead.push(Math.max(at, now))
    }
    return at
  }

  /** The oldest call in the window, how many there are, and how many that priority may make. */
  function usedOf(
    { times, budget: { calls, perMs } }: { readonly times: Calls['times']; readonly budget: Budget },
    room: Pick<Room, 'by' | 'priority' | 'kind'>,
  ): { readonly from: number; readonly made: number; readonly most: number } {
    const now = clock.now()
    const from = times.findIndex(({ at }) => at > now - perMs)
    const made = from === -1 ? 0 : times.length - from
    const isShared = made > 0 && times.some((one, index) => index >= from && one.by !== room.by)
    return { from, made, most: Math.max(1, calls - reserveOf(calls, { ...room, isShared })) }
  }

  /**
   * Each writer's share of the budget, used evenly. If this chat's other calls or other chats have used more of the
   * window, what is left of it until its oldest call no longer counts.
   */
  function evenlyAt({ calls: { times, writers }, budget }: Counted, { by, owner, kind, writtenAt }: Spacing): number {
    if (writtenAt === Number.NEGATIVE_INFINITY) return writtenAt
    const { perMs } = budget
    const { from, made, most } = usedOf({ times, budget }, { by, priority: 'text', kind })
    const share = most / writers.count(owner)
    const own = times.slice(made === 0 ? times.length : from).filter((one) => one.by === by)
    const [oldest] = own
    const evenly = writtenAt + perMs / share
    if (!oldest) return evenly
    const left = Math.max(0, Math.min(share - own.length, most - made))
    return Math.max(evenly, writtenAt + (oldest.at + perMs - writtenAt) / (left + 1))
  }
}

interface Spacing {
  readonly by: object
  readonly owner: object
  readonly kind: CallKind
  readonly writtenAt: number
}

/**
 * The calls that a priority leaves for higher ones. A sink alone in its chat orders its own calls, so its share may be
 * none; beside others one call is left. Only growing text is appended, so appends leave none.
 */
function reserveOf(
  calls: number,
  { priority, kind, isShared }: Pick<Room, 'priority' | 'kind'> & { readonly isShared: boolean },
): number {
  if (priority === 'ask' || kind === 'append') return 0
  return Math.max(Math.floor(calls * reserves[priority]), isShared ? 1 : 0)
}

/**
 * Makes a call. If the platform limits its rate, all calls that it counts with that kind wait as long as it says: those
 * of the chat, or of the client.
 */
export async function heeding<T>(pace: ChatPace, call: () => Promise<T>, kind?: CallKind): Promise<T> {
  try {
    return await call()
  } catch (error) {
    heed(pace, error, kind)
    throw error
  }
}

/** Makes the chat, or the client, wait after a failure that is a rate limit. */
export function heed(pace: ChatPace, error: unknown, kind?: CallKind): void {
  if (!(error instanceof PortError) || error.retryAfterMs === undefined) return
  pace.freeze(error.retryAfterMs, error.scope, kind)
}

const pacers = new WeakMap<object, Pacer>()

/** The pacer of a client, as all its calls share one budget. It uses the clock of the first caller. */
export function pacerOf(client: object, clock: Clock): Pacer {
  const pacer = pacers.get(client) ?? createPacer({ clock })
  pacers.set(client, pacer)
  return pacer
}
