import type { Part } from '../part.ts'
import { isInserted, type ReadMessage } from './run-boundaries.ts'

/**
 * Returns the text that a person typed, without the server's additions. Joins several parts with a blank line. Empty if
 * there is none.
 */
export function writtenText(parts: readonly Part[]): string {
  return parts.flatMap((part) => (part.type === 'text' && !part.synthetic ? [part.text] : [])).join('\n\n')
}

/**
 * Returns the text of a prompt without the white space around it. Undefined for any other message: an answer, one that
 * the server inserted, and one whose parts are not stored yet.
 */
export function promptText({ head, parts }: ReadMessage): string | undefined {
  return head.role === 'user' && parts.length > 0 && !isInserted(parts) ? writtenText(parts).trim() : undefined
}
