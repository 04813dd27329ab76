import { escaped, escapeInvisible } from './escape-invisible.ts'

/** Longer runs push what follows off the screen. Indentation and aligned columns stay below. */
const mostBlanks = 40
/** Empty lines in a row that stay as they are. */
const mostEmptyLines = 5

/**
 * Spaces that are no ASCII space, and characters that fonts leave blank: U+2800 and fillers of notes and hieroglyphs.
 */
const blanks = /(?! )[\p{Zs}\u2800\u{13441}\u{13442}\u{16fe4}\u{1d159}]/gu

/** Private-use and unassigned characters: devices show them differently, and some renderers use them. */
const undefinedCharacters = /[\p{Co}\p{Cn}]/gu

/**
 * Latin letters that look like a, g, | and ! in most fonts.
 * https://www.unicode.org/Public/security/latest/confusables.txt
 */
const lookalikes = /[\u0251\u0261\u01c0\u01c3]/g

/**
 * Escapes everything in a text that a reader could overlook or mistake. Use it for anything that a person is asked to
 * allow. Does the same as `escapeInvisible`, and:
 *
 * - Spaces other than ASCII's, characters that show nothing, private-use and unassigned characters are written as
 * `\u2003`.
 * - So are combining marks that can't be told apart, for example a mark twice or a mark on an ASCII sign.
 * - So are letters of another script within a word, such as a Cyrillic а in a Latin word.
 * - So are the Latin letters that look like a, g, | and ! in most fonts.
 * - More than 40 spaces and tabs in a row become `⟨1500 spaces⟩`, and more than 5 empty lines `⟨120 empty lines⟩`.
 *
 * With `isDiff`, a line that has only a sign is empty too.
 */
export function escapeDeceptive(text: string, { isDiff = false }: { readonly isDiff?: boolean } = {}): string {
  const apart = text.replace(wordPattern, (word) => (isPlain(word) ? word : escapeForeignLetters(word)))
  const marked = apart.replace(markRuns, (run, at: number) => legibleMarks(run, apart.slice(Math.max(0, at - 2), at)))
  const seen = escapeInvisible(
    marked.replace(blanks, escaped).replace(undefinedCharacters, escaped).replace(lookalikes, escaped),
  )
  return collapseEmptyLines(seen, isDiff).replace(blankRuns, (run) => {
    const name = run.includes('\t') ? (run.includes(' ') ? 'spaces and tabs' : 'tabs') : 'spaces'
    return `⟨${run.length} ${name}⟩`
  })
}

const blankRuns = new RegExp(`[ \\t]{${mostBlanks + 1},}`, 'g')

const wordPattern = /[\p{L}\p{M}\p{N}]+/gu

/** Whether all characters are Latin, as in most words. Nothing in them can be of another script. */
function isPlain(word: string): boolean {
  return !/[^\0-\u024f]/.test(word)
}

/** Scripts whose letters may look like those of another one. All others count as one more. */
const scripts = ['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Lisu', 'Georgian', 'Hebrew', 'Arabic']
const letters = scripts.map((script) => new RegExp(`\\p{Script_Extensions=${script}}`, 'u'))

/** Combining marks, digits, and the scripts that are written without spaces, also around Latin words. */
const neutral = new RegExp(
  `[${[
    ...['Common', 'Inherited', 'Han', 'Hiragana', 'Katakana', 'Hangul', 'Bopomofo'],
    ...['Thai', 'Lao', 'Khmer', 'Myanmar', 'Tibetan'],
  ]
    .map((script) => `\\p{Script=${script}}`)
    .join('')}]`,
  'u',
)

/**
 * Writes out the letters that are not of the word's main script: Latin if it has a Latin letter, else that of its first
 * letter. UTS 39 calls such words mixed-script: https://www.unicode.org/reports/tr39/#Mixed_Script_Detection.
 */
function escapeForeignLetters(word: string): string {
  const all = Array.from(word)
  const found = all.map(scriptOf)
  const main = found.includes(latin) ? latin : found.find((script) => script !== undefined)
  return all.map((letter, at) => (found[at] === undefined || found[at] === main ? letter : escaped(letter))).join('')
}

/** The script of a letter as an index. Undefined for neutral letters, and -1 for all other scripts. */
function scriptOf(letter: string): number | undefined {
  return neutral.test(letter) ? undefined : letters.findIndex((script) => script.test(letter))
}

const latin = scripts.indexOf('Latin')

const markRuns = /[\p{Mn}\p{Me}]+/gu

/**
 * Nonspacing marks in a row that a letter may have, by UTS 39:
 * https://www.unicode.org/reports/tr39/#Optional_Detection.
 */
const mostMarks = 4

/**
 * Writes out combining marks that can't be told apart: marks on ASCII signs and digits or at the start of the text,
 * where no language has any, the second of two equal marks, a dot above an i, and marks beyond `mostMarks`. `before` is
 * the text right before them.
 */
function legibleMarks(run: string, before: string): string {
  const all = Array.from(run)
  if (/(?:^|[\0-@[-`{-\x7f])$/.test(before)) return all.map(escaped).join('')
  return all
    .map((mark, at) => {
      const isRepeated = mark === all[at - 1]
      const isDot = mark === '\u0307' && at === 0 && /\p{Soft_Dotted}$/u.test(before)
      return at >= mostMarks || isRepeated || isDot ? escaped(mark) : mark
    })
    .join('')
}

/**
 * Replaces more than `mostEmptyLines` empty lines in a row by their count. Lines of spaces and tabs are empty, and in a
 * diff those with only a sign.
 */
function collapseEmptyLines(text: string, isDiff: boolean): string {
  const empty = isDiff ? /^[ +-]?[ \t]*$/ : /^[ \t]*$/
  const lines = text.split('\n')
  const kept: string[] = []
  for (let at = 0; at < lines.length; ) {
    let end = at
    while (end < lines.length && empty.test(lines[end] ?? '')) end++
    const run = lines.slice(at, end)
    if (run.length > mostEmptyLines) kept.push(emptyLineCount(run, isDiff))
    else kept.push(...run)
    if (end < lines.length) kept.push(lines[end] ?? '')
    at = end + 1
  }
  return kept.join('\n')
}

/**
 * The line that replaces empty lines. In a diff it has their sign, or a space and the note that some of them were added
 * or removed.
 */
function emptyLineCount(run: readonly string[], isDiff: boolean): string {
  const [sign = '', ...others] = isDiff ? [...new Set(run.map((line) => /^[+-]/.exec(line)?.[0] ?? ' '))] : []
  if (others.length === 0) return `${sign}⟨${run.length} empty lines⟩`
  return ` ⟨${run.length} empty lines, some of them added or removed⟩`
}
