import { isRunStart } from '../track/run-boundaries.ts'
import type { MessageRead, Reach } from './port.ts'

/**
 * Whether the messages go back far enough for a read of the session's history to stop. They must go back to the
 * beginning of a run, from which on they have all of `messageIDs`, and the message before it must be older than `since`.
 * A message without a time counts as older. False for one message or none.
 */
export function reaches(
  messages: readonly MessageRead[],
  { since = Number.POSITIVE_INFINITY, messageIDs }: Reach,
): boolean {
  const missing = new Set(messageIDs)
  for (let at = messages.length - 1; at > 0; at--) {
    const head = messages[at]?.head
    if (head) missing.delete(head.id)
    if (missing.size > 0 || !isRunStart(messages, at)) continue
    const { createdAt = Number.NEGATIVE_INFINITY } = messages[at - 1]?.head ?? {}
    if (createdAt < since) return true
  }
  return false
}
