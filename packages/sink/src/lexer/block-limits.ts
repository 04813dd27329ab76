/**
 * Tells whether the paragraph at the beginning of a text has an underline, which makes it a heading. It is asked for
 * one text again and again, each time without its first lines: what was found is remembered.
 */
export function createUnderlineSearch(): (src: string) => boolean {
  let text = ''
  let end = -1
  let isUnderline = false
  return (src) => {
    const passed = text.length - src.length
    const isKnown = passed >= 0 && passed <= end && text.endsWith(src)
    if (!isKnown) {
      const found = /\n(?: {0,3}(?<line>=+|-+)[ \t]*(?=\n|$)|[ \t]*(?=\n|$))/.exec(src)
      text = src
      end = found?.index ?? src.length
      isUnderline = found?.groups?.line !== undefined
    }
    return isUnderline
  }
}

/** How many lines may go on with a paragraph in an outermost list or quote without its marks or indentation. */
const mostLazyLines = 40

/** Only what begins so can be a list or a quote. */
export const MARKED_LINE = /^ {0,3}(?:>|(?:[-*+]|\d{1,9}[.)])(?:[ \t\n]|$))/

/** A line that ends a list or quote without a blank one. */
const ENDING_LINE = /^ {0,3}(?:`{3}|~{3}|#{1,6}[ \t])/

/** An item so deep that it is text. It is read again for each list that it is inside of. */
const DEEP_ITEM = /^[ \t]{32,}(?:[-*+]|\d{1,9}[.)])[ \t]/

/**
 * Where the lists and quotes end that a text begins with, and whether too many lines go on lazily with them: marked
 * reads what a list or quote has so far again for each of those.
 */
export function lazyStretch(src: string): { readonly end: number; readonly isTooLazy: boolean } {
  let [start, lazy] = [0, 0]
  let isBlank = false
  while (start < src.length && lazy <= mostLazyLines) {
    const end = src.indexOf('\n', start) + 1 || src.length
    const line = src.slice(start, end)
    if (line.trim() === '') isBlank = true
    else if (DEEP_ITEM.test(line)) lazy++
    else if (/^[ \t]/.test(line) || MARKED_LINE.test(line)) isBlank = false
    else if (isBlank || ENDING_LINE.test(line)) break
    else lazy++
    start = end
  }
  return { end: start, isTooLazy: lazy > mostLazyLines }
}

/** Cells of a table for each unit that it is written with: marked fills up every row to the length of the head. */
const cellsPerUnit = 1

/** Whether filling up every row to the columns of the head would make the table much longer than its text. */
function isTooWide(src: string): boolean {
  const headEnd = src.indexOf('\n')
  if (headEnd < 0) return false
  const columns = src.slice(0, headEnd).split('|').length
  if (columns < 50) return false
  const blank = /\n[ \t]*\n/.exec(src)
  const table = blank ? src.slice(0, blank.index) : src
  return columns * table.split('\n').length > cellsPerUnit * table.length
}

/** How many units failed attempts may read for each unit of the text, and in addition to that. */
const tableReadsPerUnit = 4
const tableReads = 8000

/** Tells whether it is worth trying to read a table at the beginning of a text, and is told when there was none. */
export function createTableLimit(units: number): { isLikely(src: string): boolean; missed(src: string): void } {
  let left = tableReads + tableReadsPerUnit * units
  return {
    isLikely: (src) => left >= 0 && /^[^\n]*\n[ \t|:-]*[|:][ \t|:-]*(?:\n|$)/.test(src) && !isTooWide(src),
    missed(src) {
      left -= src.length
    },
  }
}

/** A heading for so many units of a text, and some more: what is denser is paragraphs. */
const unitsPerHeading = 30
const headings = 60

/** Whether a text of this many units may have one more heading. */
export function createHeadingLimit(units: number): () => boolean {
  let left = headings + units / unitsPerHeading
  return () => left-- > 0
}
