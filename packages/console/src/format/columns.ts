import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const ASCII = /^[ -~\n]*$/
/** Characters that take one column each, whatever stands next to them. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2500-\u259f]*$/

/** Terminal columns: wide characters take two, combining ones none. */
export function columnsOf(text: string): number {
  if (ASCII.test(text) || NARROW.test(text)) return text.length
  let columns = 0
  // A line feed before `wrap` has no width.
  for (const { segment } of graphemes.segment(text)) columns += segment === '\n' ? 0 : widthOfCharacter(segment)
  return columns
}

/** The most characters with a cached width: finding it takes longer than the rest of a row's layout. */
const mostCharacters = 4000
/** The longest cached character, in UTF-16 units. A letter may carry any number of accents. */
const longestCharacter = 16
const characterWidths = new Map<string, number>()

/** The columns of one character as a person sees it. */
export function widthOfCharacter(character: string): number {
  if (ASCII.test(character)) return character.length
  if (character.length > longestCharacter) return stringWidth(character)
  const known = characterWidths.get(character)
  if (known !== undefined) return known
  const width = stringWidth(character)
  if (characterWidths.size >= mostCharacters) characterWidths.clear()
  characterWidths.set(character, width)
  return width
}

/** The characters as a person sees them. */
export function charactersOf(text: string): Iterable<string> {
  return ASCII.test(text) || NARROW.test(text) ? text : Array.from(graphemes.segment(text), ({ segment }) => segment)
}
