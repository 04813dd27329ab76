import { type Ask, pendingAsks, type Reply } from '@reply/core'
import type { AskText } from './asks.ts'
import type { AskState } from './card.ts'
import type { Entry, Ledger } from './ledger.ts'
import { isReadable } from './offer.ts'
import { permissionKey } from './permission.ts'
import type { Chat } from './port.ts'

/**
 * An ask that a text may answer.
 *
 * - `reply`: the text replies to a message of it.
 * - `bare`: the text replies to nothing, and the chat shows the ask since before it was written.
 * - `maybe`: as `bare`, but the chat is not known to show it, or not since before the text. It may be what the person saw.
 * - `unconfirmed`: it replies to a message that the sink does not know, while the ask is being posted. It may be the ask's.
 * - `outdated`: it replies to a message of an ask that was answered since, or changed.
 * - `unshown`: it replies to an ask that the chat does not show whole, or not since before the text.
 */
export interface Target {
  readonly type: 'reply' | 'bare' | 'maybe' | 'unconfirmed' | 'outdated' | 'unshown'
  readonly ask: Ask
}

export interface TargetFacts {
  readonly reply: Reply
  readonly ledger: Ledger
  /** The sink's. */
  readonly chat: Chat
}

/** What a text may answer, in the order of the asking. Empty for commands, for what was forwarded, and for replies to other messages. Pure. */
export function targetsOf(input: AskText, { reply, ledger, chat }: TargetFacts): readonly Target[] {
  if (isCommand(input) || input.isForwarded || !isIn(chat, input.chat)) return []
  const wroteAt = input.messageRef?.postedAt
  if (input.replyTo) {
    const { id } = input.replyTo
    const entry = ledger.entries.find(({ ref }) => ref?.id === id)
    if (!entry) return beingPosted(reply, ledger).map((ask) => ({ type: 'unconfirmed', ask }))
    const ask = reply.asks.find(({ requestID }) => entry.card.startsWith(`ask:${requestID}:`))
    const state = ask && ledger.asks[ask.requestID]
    if (!ask || !state) return []
    if (ask.status !== 'pending' || entry.card !== cardOf(ask, state)) return [{ type: 'outdated', ask }]
    const shownAt = shownSince(ask, state, ledger)
    // It can't have been written before what it replies to, whatever clock is missing.
    const isShown = shownAt !== undefined && (wroteAt === undefined || isSince(wroteAt, shownAt))
    return [{ type: isShown ? 'reply' : 'unshown', ask }]
  }
  if (wroteAt === undefined) return []
  return pendingAsks(reply).flatMap((ask): readonly Target[] => {
    const state = ledger.asks[ask.requestID]
    const shownAt = state && shownSince(ask, state, ledger)
    if (shownAt !== undefined && isSince(wroteAt, shownAt)) return [{ type: 'bare', ask }]
    const isMaybeThere = ledger.entries.some(
      ({ card, state }) => card.startsWith(`ask:${ask.requestID}:`) && state !== 'failed' && state !== 'gone',
    )
    return isMaybeThere ? [{ type: 'maybe', ask }] : []
  })
}

/** The asks of which a message may be in the chat already: the platform has not confirmed it yet. */
function beingPosted(reply: Reply, { entries }: Ledger): readonly Ask[] {
  return pendingAsks(reply).filter(({ requestID }) =>
    entries.some(({ card, state, ref }) => card.startsWith(`ask:${requestID}:`) && state === 'intent' && !ref),
  )
}

/** Where the platform marks no commands, a text that begins like one counts. An answer that begins with a slash can be given in a form, or in other words. */
function isCommand({ text, isCommand }: AskText): boolean {
  return isCommand === true || /^\s*\/[\p{L}\p{N}_]/u.test(text)
}

/** The same chat, and the same thread where both are named. */
export function isIn(chat: Chat, other: Chat | undefined): boolean {
  if (!other) return true
  return other.id === chat.id && (chat.thread ?? other.thread) === (other.thread ?? chat.thread)
}

/** Platforms tell seconds: within the same one the order is not known, and counts as after. */
function isSince(wroteAt: number, shownAt: number): boolean {
  return Math.floor(wroteAt / 1000) >= Math.floor(shownAt / 1000)
}

/** Which card waits for the answer. */
function cardOf(ask: Ask, { answers }: AskState): string {
  return ask.type === 'permission' ? permissionKey(ask) : `ask:${ask.requestID}:${answers.length}`
}

/**
 * When the last message of an ask was posted, in ms since the epoch: by the platform's clock, else when the sink heard that
 * it was. Undefined unless the chat is known to show all of them.
 */
function shownSince(ask: Ask, state: AskState, ledger: Ledger): number | undefined {
  const own = ledger.entries.filter(({ card }) => card === cardOf(ask, state))
  const isWhole = ask.type === 'permission' ? isReadable(ask, ledger, false) : own.every(isShown)
  if (own.length === 0 || !isWhole) return undefined
  return Math.max(...own.map(({ ref, at }) => ref?.postedAt ?? at))
}

function isShown({ state }: Entry): boolean {
  return state === 'shown'
}
