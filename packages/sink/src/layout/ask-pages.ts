import type { AskContent, TextFile } from '../ledger/card.ts'
import type { Texts } from '../texts.ts'
import { literal } from '../view/format.ts'

/** The content of a permission, cut into messages. */
export interface AskPages {
  /** Posted before the first page. */
  readonly file?: TextFile | undefined
  /** In Markdown, one per message. */
  readonly pages: readonly string[]
  /** Whether the file and the pages contain all of it. */
  readonly isWhole: boolean
}

/** How long pages may be, and how to measure them. */
export interface PageLimits {
  /** Returns the rendered length of a text. */
  readonly measure: (source: string) => number
  /** The maximum length of a message, and of the last one, which has the buttons. */
  readonly maxLength: number
  readonly lastLength: number
  readonly texts: Texts
}

/** The maximum number of messages of a permission. If it needs more, it is posted as a file. */
const mostPages = 5

/** UTF-16 units reserved below the last page, for how to answer and for the answer. */
const footLength = 240

type Block = AskContent['details'][number]

/**
 * Cuts a permission into pages that show every detail verbatim. Long diffs become a file, and so do all details if they
 * need too many pages. Without `documentLength` there is no file, and then only the head is shown. Pure.
 */
export function pagesOf({ head, details, documentLength }: AskContent, options: PageLimits): AskPages {
  const isLong = ({ format, text }: Block): boolean =>
    format === 'diff' && documentLength !== undefined && text.length > documentLength
  const long = details.filter(isLong)
  const rest = details.filter((detail) => !isLong(detail))
  const some: HeadWithFile = long.length > 0 ? headWithFile(head, long, options) : { head }
  const pages = cutIntoPages(some.head, rest, options)
  if (pages) return { file: some.file, pages, isWhole: true }
  if (documentLength === undefined) return { pages: [head], isWhole: false }
  const all = headWithFile(head, details, options)
  return { file: all.file, pages: [all.head], isWhole: true }
}

interface HeadWithFile {
  readonly head: string
  readonly file?: TextFile | undefined
}

/** Returns the length to reserve for the foot: `footLength`, but at most half of a message. */
export function reservedFootLength(maxLength: number): number {
  return Math.min(footLength, maxLength >> 1)
}

/**
 * Returns a file with the details, `request.diff` for a single diff or else `request.txt`, and the head with a line that
 * names it.
 */
function headWithFile(head: string, details: readonly Block[], { texts }: PageLimits): HeadWithFile {
  const [only] = details
  const isOne = details.length === 1 && only !== undefined
  const text = isOne ? only.text : details.map(fileTextOf).join('\n\n')
  const name = isOne && only.format === 'diff' ? 'request.diff' : 'request.txt'
  const caption = texts.file(name, text.trimEnd().split('\n').length)
  const file = { name, text: `${text}\n`, caption }
  return { head: `${head}\n\n${literal(texts.inFile(name))}`, file }
}

/** Returns a detail as text for a file, below its label unless it is a note or has none. */
function fileTextOf(detail: Block): string {
  return detail.format === 'note' || detail.label === '' ? detail.text : `${detail.label}\n\n${detail.text}`
}

/**
 * Returns the pages that show a permission: the head, the details in order, and below them the notes. The last page has room
 * for the foot. If the notes and the foot don't fit there, they get a page of their own, with the head if it fits. Undefined if
 * there are too many pages, or if a detail doesn't fit at all.
 */
function cutIntoPages(
  head: string,
  details: readonly Block[],
  { measure, maxLength, lastLength, texts }: PageLimits,
): readonly string[] | undefined {
  const most = mostPages * maxLength
  if (details.reduce((sum, { text }) => sum + text.length, head.length) > most || measure(head) > maxLength) return
  const done: string[] = []
  let page = head
  for (const detail of details) {
    if (detail.format === 'note') continue
    const { label, text, format, language = format } = detail
    let from = 0
    do {
      const isMidLine = from > 0 && text.charAt(from - 1) !== '\n'
      const title = from === 0 ? label : texts.goesOn(label, isMidLine)
      const written = (to: number): string => joinedParagraphs(page, codeBlockOf(title, text.slice(from, to), language))
      // Rendered text takes at least half of its UTF-16 units: a surrogate pair may count as one.
      const fits = (to: number): boolean => to - from <= 2 * maxLength && measure(written(to)) <= maxLength
      const to = fits(text.length) ? text.length : furthestCut(text, from, { fits, used: page.length, maxLength })
      if (to > from || text === '') {
        page = written(to)
        from = to
      }
      if (from >= text.length) break
      if (page === '' || done.length + 1 >= mostPages) return
      done.push(page)
      page = ''
    } while (from < text.length)
  }
  // A note stands above the buttons: below the last detail, else in a message of its own.
  const notes = details.flatMap(({ format, text }) => (format === 'note' ? [text] : []))
  const fitsAboveFoot = (text: string): boolean => measure(text) + reservedFootLength(lastLength) <= lastLength
  const whole = notes.reduce(joinedParagraphs, page)
  if (fitsAboveFoot(whole)) return [...done, whole]
  const last =
    [notes.reduce(joinedParagraphs, head), ...notes].find(fitsAboveFoot) ?? (notes.length === 0 ? head : undefined)
  return last === undefined || done.length + 2 > mostPages ? undefined : [...done, page, last]
}

/**
 * Returns the position after as many whole lines as fit. Cuts within a line that is too long for any message. Returns
 * `startIndex` if the next message has more room.
 */
function furthestCut(
  text: string,
  startIndex: number,
  { fits, used, maxLength }: { fits: (to: number) => boolean; used: number; maxLength: number },
): number {
  const window = text.slice(startIndex, startIndex + maxLength)
  const ends = [...window.matchAll(/\n/g)].map(({ index }) => startIndex + index + 1)
  const room = startIndex + maxLength - used
  const likely = ends.filter((end) => end <= room).length
  const lines = greatestFitting(ends.length, likely, (count) => fits(ends[count - 1] ?? startIndex))
  if (lines > 0) return ends[lines - 1] ?? startIndex
  const units = greatestFitting(window.length, room - startIndex, (count) => fits(startIndex + count))
  // The next message has more room.
  if (used > 0 && units < maxLength / 2) return startIndex
  return startIndex + (isInSurrogatePair(text, startIndex + units) ? units - 1 : units)
}

/**
 * Returns the greatest count up to `maxCount` that fits. Any smaller count must fit, too. Begins near the likely count,
 * because each try renders.
 */
function greatestFitting(maxCount: number, likelyCount: number, fits: (count: number) => boolean): number {
  let low = 0
  let high = maxCount
  let next = Math.max(1, Math.min(maxCount, likelyCount))
  for (let step = 4; low < high; step *= 4) {
    const isMore = fits(next)
    if (isMore) low = next
    else high = next - 1
    const middle = (low + high + 1) >> 1
    next = isMore ? Math.min(middle, low + step) : Math.max(middle, high - step)
  }
  return low
}

/** Whether the position is between the halves of a surrogate pair. */
function isInSurrogatePair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
}

/**
 * Writes a code block below its label. Its fence is longer than every run of backticks in the text, so nothing in the
 * text ends the block.
 */
export function codeBlockOf(label: string, text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const info = /^[\w+#.-]{1,32}$/.test(language) && language !== 'code' && language !== 'text' ? language : ''
  return `${label === '' ? '' : `**${literal(label)}**\n`}${fence}${info}\n${text.replace(/\n$/, '')}\n${fence}`
}

/** Joins two texts by a blank line. Leaves out an empty one. */
export function joinedParagraphs(page: string, more: string): string {
  return [page, more].filter((part) => part !== '').join('\n\n')
}
