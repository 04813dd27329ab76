import type { Chat } from '../port/port.ts'
import type { AskState } from './card.ts'
import type { Ledger } from './ledger.ts'

/** Who may answer an ask. Kept in the ledger, so that a sink created later can only narrow it. Serialisable as JSON. */
export interface Guard {
  /** Ids of the only actors who may answer. */
  readonly answerers?: readonly string[] | undefined
  /** A `mayAnswer` must also agree. */
  readonly hasMayAnswer?: true | undefined
}

export interface AnswerRestrictions {
  readonly mayAnswer?: unknown
  readonly answerers?: readonly string[] | undefined
}

/** Returns the guard that a sink's options define. Undefined if they restrict no one. */
export function guardFrom({ mayAnswer, answerers }: AnswerRestrictions): Guard | undefined {
  if (mayAnswer === undefined && answerers === undefined) return undefined
  return { ...(answerers && { answerers }), ...(mayAnswer !== undefined && { hasMayAnswer: true }) }
}

/**
 * Records the guard of each ask. Answerers that were recorded first stay the only ones. Returns the same object if
 * nothing changed.
 */
export function withGuard(ledger: Ledger, own: Guard | undefined): Ledger {
  if (!own) return ledger
  const changed = Object.entries(ledger.asks).flatMap(([requestID, state]) => {
    const guard = narrowedGuard(state.guard, own)
    return guard === state.guard ? [] : [[requestID, { ...state, guard }] as const]
  })
  if (changed.length === 0) return ledger
  return { ...ledger, asks: { ...ledger.asks, ...Object.fromEntries(changed) } }
}

/** Adds the restrictions of `own` that the former guard lacks. Returns the former one if it has them all. */
function narrowedGuard(before: Guard | undefined, own: Guard): Guard {
  if (!before) return own
  const isKnown =
    (before.answerers !== undefined || own.answerers === undefined) && (before.hasMayAnswer || !own.hasMayAnswer)
  return isKnown ? before : { ...own, ...before }
}

export interface AllowFacts {
  readonly chat: Pick<Chat, 'kind'>
  readonly mayAnswer?: unknown
}

/**
 * Whether people here may allow something: the chat is private, or the permitted answerers are known and can be
 * checked.
 */
export function mayAllow({ guard }: Pick<AskState, 'guard'>, { chat, mayAnswer }: AllowFacts): boolean {
  if (!guard) return chat.kind === 'private'
  return guard.answerers?.length !== 0 && (!guard.hasMayAnswer || mayAnswer !== undefined)
}

/**
 * Where nothing can be allowed, lets only the first permission of a chat explain why. `claimFirst` returns true once per chat.
 * Returns the same object if nothing changed.
 */
export function withExplainedFirst(ledger: Ledger, facts: AllowFacts, claimFirst: () => boolean): Ledger {
  // Only permissions have a digest. Questions can be answered anywhere.
  const closed = Object.entries(ledger.asks).filter(
    ([, state]) => state.digest !== undefined && state.isExplained === undefined && !mayAllow(state, facts),
  )
  if (closed.length === 0) return ledger
  const changed = closed.map(([requestID, state]) => [requestID, { ...state, isExplained: claimFirst() }] as const)
  return { ...ledger, asks: { ...ledger.asks, ...Object.fromEntries(changed) } }
}
