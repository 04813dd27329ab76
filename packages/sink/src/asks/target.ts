import { type Ask, pendingAsks, type Reply } from '@reply/core'
import type { AskState } from '../ledger/card.ts'
import { refOf } from '../ledger/entry.ts'
import { questionKey, requestIDOf } from '../ledger/keys.ts'
import { entriesOf, type Ledger } from '../ledger/ledger.ts'
import type { Chat } from '../port/port.ts'
import type { AskText } from './asks.ts'
import { isFullyShown } from './offer.ts'
import { permissionCardKey } from './permission.ts'

/**
 * An ask that a text may answer.
 *
 * - `reply`: the text replies to a message of the ask.
 * - `bare`: the text replies to nothing, and the chat showed the ask before the text was written.
 * - `maybe`: like `bare`, but the chat is not known to have shown the ask before the text. The person may have seen it.
 * - `closed`: like `bare`, but the ask was closed after the text was written, so the text may be an answer to it.
 * - `unconfirmed`: the text replies to an unknown message while the ask is being posted. It may be the ask's.
 * - `outdated`: the text replies to a message of an ask that has since been answered or changed.
 * - `unshown`: the text replies to an ask that was not shown completely before the text was written.
 */
export interface Target {
  readonly type: 'reply' | 'bare' | 'maybe' | 'closed' | 'unconfirmed' | 'outdated' | 'unshown'
  readonly ask: Ask
}

export interface TargetFacts {
  readonly reply: Reply
  readonly ledger: Ledger
  /** The sink's chat. */
  readonly chat: Chat
  /** How far the clock of the reply's times is ahead of the wall clock, in ms. */
  readonly aheadMs: number
}

/**
 * Returns the asks that a text may answer, oldest first. Empty for commands, forwarded texts and replies to other messages.
 * Also for texts that reply to nothing, if they are in another thread or without a time. Pure.
 */
export function targetsOf(input: AskText, { reply, ledger, chat, aheadMs }: TargetFacts): readonly Target[] {
  if (isCommand(input) || input.isForwarded || !isSameChat(chat, input.chat)) return []
  const wroteAt = input.messageRef?.postedAt
  if (input.replyTo) {
    const { id } = input.replyTo
    const entry = ledger.entries.find((one) => refOf(one)?.id === id)
    if (!entry && !isWrittenIn(chat, input)) return []
    if (!entry) return asksBeingPosted(reply, ledger).map((ask) => ({ type: 'unconfirmed', ask }))
    const ask = reply.asks.find(({ requestID }) => requestID === requestIDOf(entry.card))
    const state = ask && ledger.asks[ask.requestID]
    if (!ask || !state) return []
    if (ask.status !== 'pending' || entry.card !== waitingCardKey(ask, state) || entry.isReplaced)
      return [{ type: 'outdated', ask }]
    const shownAt = shownSince(ask, state, ledger)
    // A reply was written after the message that it replies to, even if a clock is missing.
    const isShown = shownAt !== undefined && (wroteAt === undefined || isWrittenAfter(wroteAt, shownAt))
    return [{ type: isShown ? 'reply' : 'unshown', ask }]
  }
  if (wroteAt === undefined || !isWrittenIn(chat, input)) return []
  return reply.asks.flatMap((ask): readonly Target[] => {
    if (ask.status !== 'pending')
      return isClosedAfter(wroteAt + aheadMs, ask) && isPostedBefore(wroteAt, ask, ledger)
        ? [{ type: 'closed', ask }]
        : []
    const state = ledger.asks[ask.requestID]
    const shownAt = state && shownSince(ask, state, ledger)
    if (shownAt !== undefined && isWrittenAfter(wroteAt, shownAt)) return [{ type: 'bare', ask }]
    const isMaybeThere = ledger.entries.some(
      ({ card, state }) => requestIDOf(card) === ask.requestID && state !== 'failed' && state !== 'gone',
    )
    return isMaybeThere ? [{ type: 'maybe', ask }] : []
  })
}

/** Whether an ask was closed after a text was written. Both times are by the clock of the reply. */
function isClosedAfter(wroteAt: number, { closedAt }: Ask): boolean {
  return closedAt !== undefined && isWrittenAfter(closedAt, wroteAt)
}

/** Whether a message of an ask was posted before a text was written. */
function isPostedBefore(wroteAt: number, { requestID }: Ask, ledger: Ledger): boolean {
  return ledger.entries.some(
    (entry) =>
      requestIDOf(entry.card) === requestID &&
      entry.state !== 'failed' &&
      isWrittenAfter(wroteAt, refOf(entry)?.postedAt ?? entry.at),
  )
}

/** Returns pending asks with a message that the platform has not confirmed yet. */
function asksBeingPosted(reply: Reply, { entries }: Ledger): readonly Ask[] {
  return pendingAsks(reply).filter(({ requestID }) =>
    entries.some(({ card, state }) => requestIDOf(card) === requestID && state === 'intent'),
  )
}

/**
 * Whether the text is a command. On platforms that don't mark commands, any text that begins like one counts as one. An
 * answer that begins with a slash needs a form, or different wording.
 */
function isCommand({ text, isCommand }: AskText): boolean {
  return isCommand === true || /^\s*\/[\p{L}\p{N}_]/u.test(text)
}

/**
 * Whether both are the same chat, and the same thread if both have one. Enough for buttons, whose tokens belong to one
 * ask: some platforms don't name the thread of a press. True without `other`.
 */
export function isSameChat(chat: Chat, other: Chat | undefined): boolean {
  if (!other) return true
  return other.id === chat.id && (chat.thread ?? other.thread) === (other.thread ?? chat.thread)
}

/**
 * Whether a text was written where the sink shows its asks. People in another thread may not see them. True if the text
 * names no chat.
 */
function isWrittenIn(chat: Chat, { chat: other, messageRef }: AskText): boolean {
  if (!other) return true
  // On Slack, a message outside of threads names the thread that a reply to it would start.
  const thread = other.thread === messageRef?.id ? undefined : other.thread
  return other.id === chat.id && thread === chat.thread
}

/**
 * Whether the text was written after the ask was shown. Platforms report whole seconds, so the same second counts as
 * after.
 */
function isWrittenAfter(wroteAt: number, shownAt: number): boolean {
  return Math.floor(wroteAt / 1000) >= Math.floor(shownAt / 1000)
}

/** Returns the key of the card that waits for the answer: of the permission as it is now, or of the current question. */
function waitingCardKey(ask: Ask, { answers }: AskState): string {
  return ask.type === 'permission' ? permissionCardKey(ask) : questionKey(ask.requestID, answers.length)
}

/**
 * Returns when the last message of an ask was posted, in ms since the epoch: by the platform's clock, or else when the
 * sink got its confirmation. Undefined unless the chat certainly shows all of them.
 */
function shownSince(ask: Ask, state: AskState, ledger: Ledger): number | undefined {
  const own = entriesOf(ledger, waitingCardKey(ask, state))
  const isWhole =
    ask.type === 'permission' ? isFullyShown(ask, ledger, false) : own.every((entry) => entry.state === 'shown')
  if (own.length === 0 || !isWhole) return undefined
  return Math.max(...own.map((entry) => refOf(entry)?.postedAt ?? entry.at))
}
