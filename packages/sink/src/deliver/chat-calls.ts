import type { Clock } from '@reply/core'
import type { CallKind, Limits } from '../port/limits.ts'
import { pauseMs, type Share } from './shared-budget.ts'

/** An ask or a final text that waits to be shown. */
export interface UrgentCall {
  /** Asks go before final texts. */
  readonly priority: 'ask' | 'final'
  /** When it began to wait, in ms since the epoch. The oldest ask goes first. */
  readonly waitingSince: number
}

/** A pending permission that must be shown alone, because people answer it by text. */
export interface ExclusiveAsk {
  /** When it began to wait, in ms since the epoch. */
  readonly since: number
  /** Its message is in the chat. */
  readonly isShown: boolean
}

/** The calls that count against one budget, and the platform's pause. */
export interface Calls {
  /** When the calls were made, oldest first, and by which sink. */
  times: { readonly at: number; readonly by: object }[]
  /** When the newest call was made that is known from another process, in ms since the epoch. */
  heardUntil: number
  frozenUntil: number
  /** Number of calls in flight. They count against the budget, too. */
  inFlight: number
  readonly writers: Writers
  /** What this process may make of a client's budget. Undefined if no host can divide it: then all of it. */
  share?: Share
}

/** The calls of a chat or a client. `kinds` has those that the platform counts separately. */
export interface CallsByKind extends Calls {
  readonly kinds: Map<CallKind, Calls>
}

/** The calls of one chat, and the urgent ones that wait there. */
export interface ChatCalls extends CallsByKind {
  isBusy: boolean
  /** By thread: when its typing notices no longer count, in ms since the epoch. Each counts for `noticeMs`, one after the other. */
  readonly noticesCountUntil: Map<string | undefined, number>
  /** Called once, when the current call ends or an ask no longer blocks others. */
  freeListeners: (() => void)[]
  /** The listeners for posted messages, with their threads. */
  readonly postListeners: Map<() => boolean, string | undefined>
  readonly urgentCalls: Map<object, UrgentCall>
  readonly exclusiveAsks: Map<object, ExclusiveAsk & { readonly thread: string | undefined }>
}

/** The chats of a client that are or were recently active. */
export interface Chats {
  /** Returns the calls of a chat. Don't keep the result, because idle chats are dropped and created again. */
  callsIn(id: string): ChatCalls
  /** Whether the platform has also paused another chat. */
  isAnotherFrozen(calls: ChatCalls): boolean
  /** Keeps calls for at least as long as these limits count them. */
  useLimits(limits: Limits): void
  readonly size: number
}

/**
 * How long a typing notice counts, in ms. Each message of the bot ends the notice, each message of a person asks for one, and
 * several replies may be running, so without a limit there would be far too many.
 */
export const noticeMs = 2000
/** The most notices of a chat or a thread that may count at a time. */
export const mostNotices = 3

/** Idle chats are dropped only above this number. */
const minChats = 256

/** Creates the chats of a client, without any chat. */
export function createChats(clock: Clock): Chats {
  const chats = new Map<string, ChatCalls>()
  let budgetMs = 0
  let sweepAtSize = minChats
  return {
    callsIn,
    isAnotherFrozen: (calls) => {
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

  /** Returns the calls of a chat, and creates them for a new one. May drop idle chats first. */
  function callsIn(id: string): ChatCalls {
    const known = chats.get(id)
    if (known) return known
    if (chats.size >= sweepAtSize) dropIdleChats()
    const none = {
      isBusy: false,
      noticesCountUntil: new Map(),
      freeListeners: [],
      urgentCalls: new Map(),
      exclusiveAsks: new Map(),
      postListeners: new Map(),
    }
    const fresh = { ...createCalls(clock), ...none }
    chats.set(id, fresh)
    return fresh
  }

  /**
   * Drops idle chats. It is called again once there are twice as many chats, so that the cost of a new chat doesn't grow
   * with their number.
   */
  function dropIdleChats(): void {
    const now = clock.now()
    for (const [id, calls] of chats) if (isIdle(calls, now)) chats.delete(id)
    sweepAtSize = Math.max(minChats, chats.size * 2)
  }

  /** Whether dropping the chat would change nothing: no call runs or waits there, and no pause or former call still counts. */
  function isIdle(calls: ChatCalls, now: number): boolean {
    const { isBusy, freeListeners, urgentCalls, exclusiveAsks, postListeners, noticesCountUntil } = calls
    if (isBusy || freeListeners.length > 0 || frozenUntil(calls) > now) return false
    if (urgentCalls.size > 0 || exclusiveAsks.size > 0 || postListeners.size > 0) return false
    if ([...noticesCountUntil.values()].some((until) => until > now)) return false
    return [calls, ...calls.kinds.values()].every(({ times }) => times.every(({ at }) => at <= now - budgetMs))
  }
}

/** Creates an empty count of calls. */
export function createCalls(clock: Clock): CallsByKind {
  const none = { times: [], heardUntil: Number.NEGATIVE_INFINITY, frozenUntil: 0, inFlight: 0 }
  return { ...none, writers: createWriters(clock), kinds: new Map() }
}

/** Returns the calls that a kind counts with: its own, created if needed, if the platform counts it separately. */
export function callsOfKind(calls: CallsByKind, kind: CallKind, limits: Limits, clock: Clock): Calls {
  if (!limits.perKind?.[kind]) return calls
  const known = calls.kinds.get(kind) ?? createCalls(clock)
  calls.kinds.set(kind, known)
  return known
}

/** Returns when the last pause of all kinds ends, in ms since the epoch. */
export function frozenUntil(calls: CallsByKind): number {
  return Math.max(calls.frozenUntil, ...[...calls.kinds.values()].map((one) => one.frozenUntil))
}

/** The replies that currently write growing text and share a budget. */
interface Writers {
  /** Call it when text of the owner waits to be written. `since`: when that began to grow, in ms since the epoch. */
  startWriting(owner: object, since: number): void
  /**
   * Call it when no text waits any more. The owner still counts for `pauseMs`, because text arrives in pieces. Does nothing
   * if it was not writing.
   */
  pauseWriting(owner: object): void
  /** Call it when the owner's text grows no more. */
  endWriting(owner: object): void
  /**
   * Returns among how many writers the owner shares the budget, including itself. One whose text has grown for less than `youngMs`
   * counts only for other such writers. Drops those whose pause was too long.
   */
  countWriters(owner: object): number
}

/**
 * How long a text grows until longer ones make room for it, in ms. A short answer is over by then, and others would wait for calls that
 * it never makes.
 */
export const youngMs = 1500

/** Creates the count of the growing texts among which a budget is shared evenly, without any of them. */
function createWriters(clock: Clock): Writers {
  /** Since when the text of each writer grows. */
  const beganAt = new WeakMap<object, number>()
  const writing = new Set<object>()
  /** When each writer paused, oldest first. */
  const paused = new Map<object, number>()
  return { startWriting, pauseWriting, endWriting, countWriters }

  /** Counts the owner as a writer until it pauses. */
  function startWriting(owner: object, since: number): void {
    beganAt.set(owner, since)
    paused.delete(owner)
    writing.add(owner)
  }

  /** Starts the time for which the owner still counts. Does nothing if it was not writing. */
  function pauseWriting(owner: object): void {
    if (writing.delete(owner)) paused.set(owner, clock.now())
  }

  /** Drops the owner. Does nothing if it was not writing. */
  function endWriting(owner: object): void {
    writing.delete(owner)
    paused.delete(owner)
  }

  /** Returns the number of writers, including the owner, and without young ones if it is not young. */
  function countWriters(owner: object): number {
    const now = clock.now()
    for (const [one, since] of paused) {
      if (since + pauseMs > now) break
      paused.delete(one)
    }
    const isYoung = (one: object): boolean => (beganAt.get(one) ?? now) + youngMs > now
    const others = [...writing, ...paused.keys()].filter((one) => one !== owner)
    return 1 + others.filter((one) => isYoung(owner) || !isYoung(one)).length
  }
}
