import type { Clock } from '@reply/core'
import type { Budget, Limits } from '../port/limits.ts'
import type { Chat } from '../port/port.ts'
import { type LimitScope, PortError } from '../port/port-error.ts'
import { createRecent } from '../recent.ts'
import { type Calls, type ChatCalls, type Claim, createChats, type Held } from './chat-calls.ts'
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
   * of that many calls in a row may be sent, as far as is known now. Default 1.
   */
  readyAt(priority: Priority, calls?: number): number
  /**
   * Registers what waits to be shown: an owner's ask, which goes before all other calls, or its final text, which goes
   * before growing texts and statuses. Undefined: nothing waits any more.
   */
  claim(owner: object, claim: Claim | undefined): void
  /** What another owner claimed goes before a call of that priority. `onFree` reports when to look again. */
  isBehind(owner: object, priority: Priority): boolean
  /**
   * Registers an owner's permission that people answer by text: a chat and thread shows one at a time. Undefined: none.
   */
  hold(owner: object, held: Held | undefined): void
  /**
   * Another owner's permission is answered first: one that is shown, else the one that has waited longest. `onFree`
   * reports when to look again.
   */
  isHeld(owner: object): boolean
  /** Starts a call and returns a function that ends it. Undefined while another call is in flight. */
  enter(): (() => void) | undefined
  /** Calls the listener once, when the current call is over or an ask no longer blocks others. */
  onFree(listener: () => void): void
  /** The platform asked for a pause. */
  freeze(forMs: number, scope: LimitScope): void
  /** When the pause that the platform asked for is over, in ms since the epoch; a past time means that there is none. */
  pausedUntil(): number
  /** True the first time that this process asks for the topic: for things that a chat is shown only once. */
  isFirst(topic: string): boolean
}

/** The share of a budget that each priority leaves for higher ones. */
const reserves: Readonly<Record<Priority, number>> = { ask: 0, final: 1 / 5, text: 1 / 4, status: 1 / 2 }

interface Room {
  readonly by: object
  readonly priority: Priority
  readonly count: number
  readonly inFlight?: number | undefined
}

/** Of how many topics it is remembered that a chat was shown them. */
const mostReported = 10_000

/** Makes the pacer of one platform client. */
export function createPacer({ clock }: { readonly clock: Clock }): Pacer {
  const client: Calls = { times: [], frozenUntil: 0 }
  /** Calls in flight in all chats: they count against the budget before they are over. */
  let inFlight = 0
  const chats = createChats(clock)
  /** Topics that chats were already shown. */
  const reported = createRecent<true>(mostReported)
  return { chat }

  function chat(place: Chat, limits: Limits): ChatPace {
    // Threads share their chat's budget.
    const callsHere = (): ChatCalls => chats.of(place.id)
    const by = {}
    chats.useLimits(limits)
    return {
      readyAt: (priority, count = 1) => {
        const calls = callsHere()
        return Math.max(
          roomAt(calls, limits.perChat, { by, priority, count }),
          limits.burst ? roomAt(calls, limits.burst, { by, priority, count }) : 0,
          limits.perClient ? roomAt(client, limits.perClient, { by, priority, count, inFlight }) : client.frozenUntil,
        )
      },
      claim: (owner, claim) => {
        const calls = callsHere()
        const isOver = claim === undefined && calls.claims.delete(owner)
        if (claim) calls.claims.set(owner, claim)
        if (isOver) wake(calls)
      },
      isBehind: (owner, priority) => {
        const calls = callsHere()
        if (calls.claims.size === 0) return false
        const asks = [...calls.claims].filter(([, claim]) => claim.priority === 'ask')
        const [first] = asks.toSorted(([, a], [, b]) => a.since - b.since)
        if (first) return first[0] !== owner
        return (priority === 'text' || priority === 'status') && !calls.claims.has(owner)
      },
      hold: (owner, held) => {
        const calls = callsHere()
        const isOver = held === undefined && calls.held.delete(owner)
        if (held) calls.held.set(owner, { ...held, thread: place.thread })
        if (isOver) wake(calls)
      },
      isHeld: (owner) => {
        const here = [...callsHere().held].filter(([, { thread }]) => thread === place.thread)
        const [first] = here.toSorted(([, a], [, b]) => Number(b.isShown) - Number(a.isShown) || a.since - b.since)
        return first !== undefined && first[0] !== owner
      },
      enter: () => {
        const calls = callsHere()
        if (calls.isBusy) return undefined
        calls.isBusy = true
        inFlight += 1
        return () => {
          calls.isBusy = false
          inFlight -= 1
          const now = clock.now()
          // Recorded at the end of the call: the platform counts its arrival, which is later than its start.
          note(calls, limits.perChat, { at: now, by })
          if (limits.perClient) note(client, limits.perClient, { at: now, by })
          wake(calls)
        }
      },
      onFree: (listener) => {
        callsHere().waiting.push(listener)
      },
      freeze: (forMs, scope) => {
        const calls = callsHere()
        const isWide = scope === 'client' || (scope === 'unknown' && chats.isFrozenExcept(calls))
        const frozen = isWide ? client : calls
        frozen.frozenUntil = Math.max(frozen.frozenUntil, clock.now() + forMs)
      },
      pausedUntil: () => Math.max(callsHere().frozenUntil, client.frozenUntil),
      isFirst: (topic) => {
        const key = `${place.id} ${topic}`
        const isFirst = reported.get(key) === undefined
        reported.set(key, true)
        return isFirst
      },
    }
  }

  function note(calls: Calls, { perMs }: Budget, made: Calls['times'][number]): void {
    calls.times = [...calls.times.filter(({ at }) => at > made.at - perMs), made]
  }

  function wake({ waiting }: ChatCalls): void {
    for (const listener of waiting.splice(0)) listener()
  }

  function roomAt(
    { times, frozenUntil }: Calls,
    { calls, perMs }: Budget,
    { by, priority, count, inFlight = 0 }: Room,
  ): number {
    const now = clock.now()
    const from = times.findIndex(({ at }) => at > now - perMs)
    const made = from === -1 ? 0 : times.length - from
    const isShared = made > 0 && times.some((one, index) => index >= from && one.by !== by)
    const most = Math.max(1, calls - reserveOf(calls, { priority, isShared }))
    let at = frozenUntil
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
}

/**
 * The calls that a priority leaves for higher ones. A sink alone in its chat orders its own calls, so its share may be
 * none; beside others one call is left.
 */
function reserveOf(
  calls: number,
  { priority, isShared }: { readonly priority: Priority; readonly isShared: boolean },
): number {
  if (priority === 'ask') return 0
  return Math.max(Math.floor(calls * reserves[priority]), isShared ? 1 : 0)
}

/** Makes a call. If the platform limits its rate, all calls of the chat, or of the client, wait as long as it says. */
export async function heeding<T>(pace: ChatPace, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    heed(pace, error)
    throw error
  }
}

/** Makes the chat, or the client, wait after a failure that is a rate limit. */
export function heed(pace: ChatPace, error: unknown): void {
  if (!(error instanceof PortError) || error.retryAfterMs === undefined) return
  pace.freeze(error.retryAfterMs, error.scope)
}

const pacers = new WeakMap<object, Pacer>()

/** The pacer of a client, as all its calls share one budget. It uses the clock of the first caller. */
export function pacerOf(client: object, clock: Clock): Pacer {
  const pacer = pacers.get(client) ?? createPacer({ clock })
  pacers.set(client, pacer)
  return pacer
}
