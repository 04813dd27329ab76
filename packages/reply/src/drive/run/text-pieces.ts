import type { ChangeOf } from '../../change.ts'
import { isShownText } from '../../select.ts'

type PartChange = ChangeOf<'partAdded' | 'partChanged' | 'partFinalized'>

/**
 * Turns changes of parts into pieces of the answer's text, in the order in which they arrive. Parts are separated by a
 * blank line. What was said stays said: a text that the server replaces follows anew, after a blank line.
 */
export function createTextPieces(): (change: PartChange) => string {
  const said = new Map<string, string>()
  let last: string | undefined
  return ({ part }) => {
    if (!isShownText(part)) return ''
    const key = `${part.messageID} ${part.id}`
    const before = said.get(key) ?? ''
    if (part.text === before) return ''
    said.set(key, part.text)
    const goesOn = part.text.startsWith(before)
    const piece = goesOn ? part.text.slice(before.length) : part.text
    const isSame = last === key && goesOn
    const gap = last === undefined || isSame ? '' : '\n\n'
    last = key
    return gap + piece
  }
}
