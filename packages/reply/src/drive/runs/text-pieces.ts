import type { Reply } from '../../reply.ts'
import { isShownText, partsOf } from '../../select.ts'

/**
 * Returns what a newer state of a reply adds to the text so far. Parts are separated by a blank line, and one follows
 * another once that is closed. White space at the end of an open part waits: the server may trim it. What was said stays
 * said: a text that the server replaces follows anew.
 */
export function createTextPieces(): (reply: Reply) => string {
  const said = new Map<string, string>()
  const closed = new Set<string>()
  return (reply) => {
    let piece = ''
    for (const part of partsOf(reply)) {
      const key = `${part.messageID} ${part.id}`
      if (closed.has(key) || !isShownText(part)) continue
      const isOpen = part.status === 'open'
      const text = isOpen ? part.text.trimEnd() : part.text
      const before = said.get(key)
      const separator = said.size === 0 ? '' : '\n\n'
      if (before === undefined) piece += separator + text
      else if (text.startsWith(before)) piece += text.slice(before.length)
      else if (!before.startsWith(text)) piece += separator + text
      said.set(key, text)
      if (isOpen) return piece
      closed.add(key)
    }
    return piece
  }
}
