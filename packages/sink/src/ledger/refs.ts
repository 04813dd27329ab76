import type { Chat, MessageRef } from '../port/port.ts'
import { parseLedger } from './decode.ts'
import { asReplaced, type Entry, isThere, refOf } from './entry.ts'

/** The keys of inbound ids begin with it; no platform has a chat with this id. */
const inboundKeys = 'inbound'

/** What the key of a ledger says. */
export interface LedgerKey {
  /** The chat that shows the reply, without its kind. */
  readonly chat: Pick<Chat, 'id' | 'thread'>
  /** The reply's session. */
  readonly sessionID: string
  /** The prompt that the reply answers, or the time when it began if it has none. */
  readonly promptID: string
}

/**
 * The references of all messages that a ledger says are in the chat, in the order in which they were posted. Throws if the text is not a
 * ledger of a known version.
 */
export function messageRefsOf(ledgerText: string): readonly MessageRef[] {
  return parseLedger(ledgerText).entries.flatMap((entry) => {
    const ref = entry.state === 'failed' || isThere(entry) ? refOf(entry) : undefined
    return ref ? [ref] : []
  })
}

/**
 * The ledger to begin with instead of an empty one, from the ledger of a reply that is shown no more: its status is then
 * removed from the chat, or counted as doubtful if it is unknown whether it was posted. Undefined if that ledger has
 * anything else, or no status. Throws as `messageRefsOf` does.
 */
export function withLeftStatus(ledgerText: string): string | undefined {
  const ledger = parseLedger(ledgerText)
  const isOpen = ({ state }: Entry): boolean => state === 'shown' || state === 'intent'
  if (!ledger.entries.some(isOpen) || ledger.entries.some(({ type }) => type !== 'status')) return undefined
  const entries = ledger.entries.map((entry) => (entry.state === 'shown' ? asReplaced(entry) : entry))
  return JSON.stringify({ ...ledger, entries })
}

/** Reads the key that a ledger is stored under. Undefined for another key, such as that of inbound ids. */
export function ledgerKeyOf(key: string): LedgerKey | undefined {
  const [promptID, sessionID, ...place] = key.split('/').toReversed()
  const [id, thread, ...more] = place.toReversed().map(decodeURIComponent)
  if (promptID === undefined || sessionID === undefined || id === undefined) return undefined
  if (more.length > 0 || key.startsWith(`${inboundKeys}/`)) return undefined
  return { chat: { id, ...(thread !== undefined && { thread }) }, sessionID, promptID }
}
