/** A range of text with a format. Offset and length count UTF-16 units of the displayed text. */
export interface WhatsAppEntity {
  /** The format. */
  readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'pre' | 'quote'
  /** Where it begins, in UTF-16 units of the displayed text. */
  readonly offset: number
  /** In UTF-16 units. */
  readonly length: number
}

/** A text as an app displays it. */
export interface WhatsAppFormatted {
  /** The displayed text. */
  readonly text: string
  /** The formats of ranges of `text`. Empty if there are none. */
  readonly entities: readonly WhatsAppEntity[]
}

const signs: ReadonlyMap<string, WhatsAppEntity['type']> = new Map([
  ['*', 'bold'],
  ['_', 'italic'],
  ['~', 'strikethrough'],
])

/** Invisible. Disables the sign before it. */
const joiner = '\u2060'

const letter = /[\p{L}\p{N}]/u

/**
 * Returns a message's text as WhatsApp displays it, with its formats. The rules are undocumented. These follow its apps
 * as far as known: code first, then marks around text on one line. A mark counts if no letter is next to it outside and
 * no space inside.
 */
export function readWhatsApp(source: string): WhatsAppFormatted {
  const entities: WhatsAppEntity[] = []
  let seen = ''
  let from = 0
  for (const { index, 0: found, 1: block } of source.matchAll(/```((?:(?!```)[\s\S])+?)```/g)) {
    seen = displayLines(source.slice(from, index), seen, entities)
    const code = withoutJoiners((block ?? '').replace(/^\n/, '').replace(/\n$/, ''))
    entities.push({ type: 'pre', offset: seen.length, length: code.length })
    seen += code
    from = index + found.length
  }
  seen = displayLines(source.slice(from), seen, entities)
  return { text: seen, entities }
}

/** Returns the displayed text with these lines added to it. Adds their entities. Only a whole line can be a quote. */
function displayLines(chunk: string, displayedBefore: string, entities: WhatsAppEntity[]): string {
  let seen = displayedBefore
  for (const [index, line] of chunk.split('\n').entries()) {
    if (index > 0) seen += '\n'
    const isStart = index > 0 || displayedBefore === '' || displayedBefore.endsWith('\n')
    const quoted = isStart ? /^> ?(?!\u2060)/.exec(line)?.[0] : undefined
    const rest = line.slice(quoted?.length ?? 0)
    const offset = seen.length
    seen = displayLine(rest, seen, entities)
    if (quoted !== undefined) entities.push({ type: 'quote', offset, length: seen.length - offset })
  }
  return seen
}

/** Returns the displayed text with this line added to it. Adds its entities. Marks in code and addresses are text. */
function displayLine(line: string, displayedBefore: string, entities: WhatsAppEntity[]): string {
  let seen = displayedBefore
  for (let at = 0; at < line.length; ) {
    const code = /^`(?!\u2060)([^`]+)`/.exec(line.slice(at))
    const address = /^https?:\/\/[^\s*~`)\u2060]+/.exec(line.slice(at))?.[0]
    const sign = line.charAt(at)
    const type = signs.get(sign)
    const end = type && closingMark(line, at)
    if (code) {
      const content = withoutJoiners(code[1] ?? '')
      entities.push({ type: 'code', offset: seen.length, length: content.length })
      seen += content
      at += code[0].length
    } else if (address !== undefined) {
      seen += address
      at += address.length
    } else if (type && end !== undefined) {
      const offset = seen.length
      seen = displayLine(line.slice(at + 1, end), seen, entities)
      entities.push({ type, offset, length: seen.length - offset })
      at = end + 1
    } else {
      if (sign !== joiner) seen += sign
      at += 1
    }
  }
  return seen
}

/** Returns the position of the mark that closes the one here. Undefined if this isn't a mark, or none closes it. */
function closingMark(line: string, markIndex: number): number | undefined {
  const sign = line.charAt(markIndex)
  const next = line.charAt(markIndex + 1)
  if (endsInLetter(line.slice(0, markIndex)) || next === '' || next === sign || next === joiner || /\s/.test(next))
    return undefined
  for (let end = line.indexOf(sign, markIndex + 2); end >= 0; end = line.indexOf(sign, end + 1)) {
    const isNone = line.charAt(end + 1) === joiner || /\s/.test(line.charAt(end - 1))
    if (!isNone && !isInCode(line, markIndex, end) && !beginsWithLetter(line.slice(end + 1))) return end
  }
  return undefined
}

/** Whether the mark at `endIndex` is inside code, and so doesn't close the one at `markIndex`. */
function isInCode(line: string, markIndex: number, endIndex: number): boolean {
  return [...line.slice(markIndex).matchAll(/`(?!\u2060)[^`]+`/g)].some(
    ({ index, 0: found }) => markIndex + index < endIndex && endIndex < markIndex + index + found.length,
  )
}

const withoutJoiners = (text: string): string => text.replaceAll(joiner, '')

/** Whether a text ends in a letter or a digit. False if it is empty. */
function endsInLetter(text: string): boolean {
  return letter.test([...text.slice(-2)].at(-1) ?? '')
}

/** Whether a text begins with a letter or a digit. False if it is empty. */
function beginsWithLetter(text: string): boolean {
  return letter.test([...text.slice(0, 2)][0] ?? '')
}
