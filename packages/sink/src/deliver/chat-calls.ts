import type { Clock } from '@reply/core'
import type { CallKind, Limits } from '../port/limits.ts'

/** An ask or a final text that waits to be shown. */
export interface UrgentCall {
  /** Asks go before final texts. */
  readonly priority: 'ask' | 'final'
  /** In ms since the epoch: of asks, the one that has waited longest goes first. */
  readonly since: number
}

/** A permission that waits to be shown alone, because people answer it by text. */
export interface ExclusiveAsk {
  /** Since when it waits, in ms since the epoch. */
  readonly since: number
  /** Its message is in the chat. */
  readonly isShown: boolean
}

/** What was called, and until when the platform takes no more. */
export interface Calls {
  /** When the calls were made, oldest first, and by which sink. */
  times: { readonly at: number; readonly by: object }[]
  frozenUntil: number
  /** Calls that are not over: they count against the budget, too. */
  inFlight: number
  readonly writers: Writers
}

/** The calls of a chat or a client: those that the platform counts together, and kinds that it counts apart. */
export interface CallsByKind extends Calls {
  readonly kinds: Map<CallKind, Calls>
}

/** The calls of one chat, and what waits to be shown there. */
export interface ChatCalls extends CallsByKind {
  isBusy: boolean
  waiting: (() => void)[]
  /** Who hears of each message that is posted, and in which thread. */
  readonly posted: Map<() => boolean, string | undefined>
  readonly urgentCalls: Map<object, UrgentCall>
  readonly exclusiveAsks: Map<object, ExclusiveAsk & { readonly thread: string | undefined }>
}

/** The chats of a client in which something goes on, or went on recently. */
export interface Chats {
  /** Ask for it each time: a chat at rest is forgotten, and begins anew. */
  of(id: string): ChatCalls
  isFrozenExcept(calls: ChatCalls): boolean
  /** Calls older than that count against no budget of these limits. */
  useLimits(limits: Limits): void
  readonly size: number
}

/** Fewer chats are not worth a search for those at rest. */
const minChats = 256

export function createChats(clock: Clock): Chats {
  const chats = new Map<string, ChatCalls>()
  let budgetMs = 0
  let sweepAt = minChats
  return {
    of,
    isFrozenExcept: (calls) => {
      const now = clock.now()
      return [...chats.values()].some((other) => other !== calls && frozenUntil(other) > now)
    },
    useLimits: ({ perChat, burst, perKind = {} }) => {
      const apart = Object.values(perKind).map(({ perMs }) => perMs)
      budgetMs = Math.max(budgetMs, perChat.perMs, burst?.perMs ?? 0, ...apart)
    },
    get size() {
      return chats.size
    },
  }

  function of(id: string): ChatCalls {
    const known = chats.get(id)
    if (known) return known
    if (chats.size >= sweepAt) sweep()
    const none = { isBusy: false, waiting: [], urgentCalls: new Map(), exclusiveAsks: new Map(), posted: new Map() }
    const fresh = { ...createCalls(clock), ...none }
    chats.set(id, fresh)
    return fresh
  }

  /** Looks again when there are twice as many chats, so that a new chat costs the same however many there are. */
  function sweep(): void {
    const now = clock.now()
    for (const [id, calls] of chats) if (isAtRest(calls, now)) chats.delete(id)
    sweepAt = Math.max(minChats, chats.size * 2)
  }

  /** Whether it is like a chat that is not known. */
  function isAtRest(calls: ChatCalls, now: number): boolean {
    const { isBusy, waiting, urgentCalls, exclusiveAsks, posted } = calls
    if (isBusy || waiting.length > 0 || frozenUntil(calls) > now) return false
    if (urgentCalls.size > 0 || exclusiveAsks.size > 0 || posted.size > 0) return false
    return [calls, ...calls.kinds.values()].every(({ times }) => times.every(({ at }) => at <= now - budgetMs))
  }
}

export function createCalls(clock: Clock): CallsByKind {
  return { times: [], frozenUntil: 0, inFlight: 0, writers: createWriters(clock), kinds: new Map() }
}

/** The calls that a kind is counted with: its own, if the platform counts it apart. */
export function callsOfKind(calls: CallsByKind, kind: CallKind, limits: Limits, clock: Clock): Calls {
  if (!limits.perKind?.[kind]) return calls
  const known = calls.kinds.get(kind) ?? createCalls(clock)
  calls.kinds.set(kind, known)
  return known
}

/** When the last pause of any kind is over, in ms since the epoch. */
export function frozenUntil(calls: CallsByKind): number {
  return Math.max(calls.frozenUntil, ...[...calls.kinds.values()].map((one) => one.frozenUntil))
}

/** The replies that write growing text now, and share a budget. */
interface Writers {
  /** The reply's text waits to be written. */
  begin(owner: object): void
  /** Nothing of it waits. It still counts for a moment, as text comes in pieces. */
  pause(owner: object): void
  /** How many write, with the owner. */
  count(owner: object): number
}

/** Text that pauses for longer counts as over, in ms. */
const pauseMs = 3000

function createWriters(clock: Clock): Writers {
  const waiting = new Set<object>()
  /** Since when each has been paused; the one that has for longest first. */
  const paused = new Map<object, number>()
  return { begin, pause, count }

  function begin(owner: object): void {
    paused.delete(owner)
    waiting.add(owner)
  }

  function pause(owner: object): void {
    if (waiting.delete(owner)) paused.set(owner, clock.now())
  }

  function count(owner: object): number {
    const now = clock.now()
    for (const [one, since] of paused) {
      if (since + pauseMs > now) break
      paused.delete(one)
    }
    return waiting.size + paused.size + (waiting.has(owner) || paused.has(owner) ? 0 : 1)
  }
}
