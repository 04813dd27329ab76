import type { Chat, MessageRef } from '../port/port.ts'
import { parseLedger } from './decode.ts'
import { asReplaced, type Entry, isOrWasThere, refOf } from './entry.ts'
import { requestIDOf } from './keys.ts'

/** The first part of the keys of inbound ids. No platform has a chat with this id. */
const inboundKeys = 'inbound'

/** The parts of a ledger's key. */
export interface LedgerKey {
  /** The chat that shows the reply, without its kind. */
  readonly chat: Pick<Chat, 'id' | 'thread'>
  /** The reply's session. */
  readonly sessionID: string
  /** The prompt that the reply answers, or the time when it began if it has none. */
  readonly promptID: string
}

/**
 * Returns the references of all messages that are or were in the chat according to a ledger, in the order of their
 * posts. Throws if the text is not a ledger of a known version.
 */
export function messageRefsOf(ledgerText: string): readonly MessageRef[] {
  return parseLedger(ledgerText).entries.flatMap((entry) => {
    const ref = entry.state === 'failed' || isOrWasThere(entry) ? refOf(entry) : undefined
    return ref ? [ref] : []
  })
}

/** Returns the message of a ledger with the buttons of an ask. Undefined if the chat may not have it. Throws as `messageRefsOf` does. */
export function refOfAsk(ledgerText: string, requestID: string): MessageRef | undefined {
  const shown = parseLedger(ledgerText).entries.findLast(
    ({ key, state }) => state === 'shown' && requestIDOf(key) === requestID,
  )
  return shown && refOf(shown)
}

/**
 * Returns what came of the posts of an ask by a ledger: `made` if the chat has a message of it, or may have one, and `failed` if it
 * surely has none. Undefined while none is known. Throws as `messageRefsOf` does.
 */
export function postOfAsk(ledgerText: string, requestID: string): 'made' | 'failed' | undefined {
  const states = parseLedger(ledgerText).entries.flatMap(({ card, state }) =>
    requestIDOf(card) === requestID && state !== 'intent' ? [state] : [],
  )
  if (states.length === 0) return undefined
  return states.every((state) => state === 'failed') ? 'failed' : 'made'
}

/**
 * Returns the ledger to begin with if a reply is shown again after only its status was posted. That status is then
 * removed from the chat, or counted as doubtful if it is unknown whether it was posted. Undefined if the ledger has
 * anything else, or no status. Throws as `messageRefsOf` does.
 */
export function withLeftStatus(ledgerText: string): string | undefined {
  const ledger = parseLedger(ledgerText)
  const isOpen = ({ state }: Entry): boolean => state === 'shown' || state === 'intent'
  if (!ledger.entries.some(isOpen) || ledger.entries.some(({ type }) => type !== 'status')) return undefined
  const entries = ledger.entries.map((entry) => (entry.state === 'shown' ? asReplaced(entry) : entry))
  return JSON.stringify({ ...ledger, entries })
}

/** Parses the key that a ledger is stored under. Undefined for other keys, for example those of inbound ids. */
export function ledgerKeyOf(key: string): LedgerKey | undefined {
  const [promptID, sessionID, ...place] = key.split('/').toReversed()
  const [id, thread, ...more] = place.toReversed().map(decodeURIComponent)
  if (promptID === undefined || sessionID === undefined || id === undefined) return undefined
  if (more.length > 0 || key.startsWith(`${inboundKeys}/`)) return undefined
  return { chat: { id, ...(thread !== undefined && { thread }) }, sessionID, promptID }
}
