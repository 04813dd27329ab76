import stringWidth from 'string-width'

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
const ASCII = /^[ -~\n]*$/
/** Characters that take one column each, whatever stands next to them. */
const NARROW = /^[ -~\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2500-\u259f]*$/
/** The same, with accents on them. An accent takes no column. */
const ACCENTED = /^[ -~\u00a1-\u00ac\u00ae-\u036f\u2010-\u2027\u2500-\u259f]*$/
const ACCENTS = /\p{M}+/gu
const WITH_ACCENTS = /\P{M}?\p{M}*/gu

/** The most rows with a cached width: a screen shows most of its rows again when text is added. */
const mostRows = 400
/** The longest row with a cached width, in UTF-16 units. */
const longestRow = 1000
const rowWidths = new Map<string, number>()

/** Terminal columns: wide characters take two, combining ones none. */
export function columnsOf(text: string): number {
  if (ASCII.test(text) || NARROW.test(text)) return text.length
  if (ACCENTED.test(text)) return text.replace(ACCENTS, '').length
  const known = rowWidths.get(text)
  if (known !== undefined) return known
  const columns = columnsOfCharacters(text)
  if (rowWidths.size >= mostRows) rowWidths.clear()
  if (text.length <= longestRow) rowWidths.set(text, columns)
  return columns
}

function columnsOfCharacters(text: string): number {
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
  if (ASCII.test(text) || NARROW.test(text)) return text
  if (ACCENTED.test(text)) return text.match(WITH_ACCENTS)?.filter((character) => character !== '') ?? []
  return Array.from(graphemes.segment(text), ({ segment }) => segment)
}
