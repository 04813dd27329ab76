import type { ReasoningPart, TextPart } from '@reply/core'
import { blocksOf, markdown } from '../format/markdown.ts'
import { clean } from '../format/sanitize.ts'
import { type Line, line, span, wrap } from '../format/styled-line.ts'
import type { Block, Committed } from './blocks.ts'

interface TextView {
  readonly shown: Committed
  readonly width: number
  /** Whether to render rows for a terminal. Otherwise the Markdown source is shown. */
  readonly live: boolean
}

/**
 * Returns the part of a text that is not on the screen yet, cut at its Markdown blocks. All but the last block of an open
 * text are final.
 *
 * If the text no longer begins with the shown text, a note is added and the whole text follows, but an open text waits for
 * its final version. An abandoned text gets only a note that takes back what was shown.
 */
export function textBlocks(part: TextPart | ReasoningPart, options: TextView): readonly Block[] {
  const { shown } = options
  const before = shown.texts.get(part.id) ?? ''
  if (part.status === 'abandoned') return before === '' ? [] : [retraction(part.id, 'abandoned')]
  if (part.text.startsWith(before)) return blocksAfter(part, before, options)
  // While the text has a hole, its final version may still restore what was shown.
  if (part.status === 'open') return []
  return [retraction(part.id, 'changed'), ...blocksAfter(part, '', options)]
}

const retractionTexts = {
  abandoned: 'the model was interrupted and started over: ignore its unfinished text above',
  changed: 'the text above has changed: the new version follows',
  removed: 'the text above was removed from the session',
} as const

/** Returns a note that takes back the shown text of a part. Once committed, none of the text counts as shown. */
export function retraction(partID: string, why: keyof typeof retractionTexts): Block {
  return {
    key: `${partID}:${why}`,
    final: true,
    gap: 'always',
    kind: 'note',
    lines: [line(`↺ ${retractionTexts[why]}`, 'yellow')],
    slice: { partID, start: 0, source: '' },
  }
}

/** Returns the blocks of the text that follows `before`. A terminal gets only the end of a long block that still grows. */
function blocksAfter(part: TextPart | ReasoningPart, before: string, options: TextView): readonly Block[] {
  const blocks: Block[] = []
  let start = before.length
  const growing = part.status === 'open'
  const pieces = blocksOf(part.text.slice(start))
  for (const [index, source] of pieces.entries()) {
    const last = index === pieces.length - 1
    const blank = start === 0 || /\n[ \t]*\r?\n\s*$/.test(part.text.slice(Math.max(0, start - 200), start))
    blocks.push({
      key: `${part.id}@${start}`,
      final: part.status === 'sealed' || (!last && part.holes === undefined),
      gap: blank ? 'always' : 'never',
      kind: 'text',
      lines: textRows(
        part.type,
        growing && last && options.live ? closeTable(endOfBlock(source, options.width)) : source,
        options,
      ),
      slice: { partID: part.id, start, source },
    })
    start += source.length
  }
  return blocks.filter(({ lines, final }) => lines.length > 0 || final)
}

/** Returns reasoning behind a bar, Markdown as rows for a terminal, or its source for a log. */
function textRows(type: 'text' | 'reasoning', source: string, { live, width }: TextView): readonly Line[] {
  if (type === 'reasoning') return wrap(line(source.trim(), 'dim', 'italic'), width, [span('│ ', 'dim')])
  if (live) return markdown(source, width)
  return trimBlank(clean(source))
    .split('\n')
    .map((row) => line(row))
}

/** Returns the text without blank rows around it, but with its indentation. */
function trimBlank(text: string): string {
  return text.replace(/^(?:[ \t]*\n)+/, '').trimEnd()
}

/** Rows laid out at the end of a growing block, each as wide as the terminal. */
const rowsOfEnd = 60

const FENCE = /^ {0,3}(?:`{3,}|~{3,})[^\n]*\n/
const TABLE_HEAD = /^ {0,3}\|[^\n]*\n {0,3}(?=[^\n-]*-)[|: \t-]+\r?\n/

/**
 * Returns the end of a long growing block, and a short one as it is. Only its last rows fit on a screen, and laying out all
 * of it gets slower with each word. A fence keeps its first line and a table its head, so that the end is still read as
 * code or as rows. Column widths and numbers of nested items may differ from those in the whole block, which is shown once
 * it is complete.
 */
export function endOfBlock(source: string, width: number): string {
  const units = rowsOfEnd * width
  if (source.length <= units) return source
  const from = source.length - units
  const lineStart = source.indexOf('\n', from) + 1
  const fence = FENCE.exec(source)?.[0]
  const lead = fence ?? TABLE_HEAD.exec(source)?.[0] ?? ''
  if (lineStart > 0 && lineStart < source.length) return lead + source.slice(Math.max(lineStart, lead.length))
  const isHalf = /[\udc00-\udfff]/.test(source.charAt(from))
  return (fence ?? '') + source.slice(Math.max(from + (isHalf ? 1 : 0), fence?.length ?? 0))
}

// The first line of a block of another kind, where a leading bar does not start a table.
const OTHER = /^(?: {0,3}(?:```|~~~|<|>|[-*+] |\d+[.)] )| {4}|\t)/
const ROW = /^ {0,3}\|/
const DELIMITER = /^[\s|:-]*$/

/**
 * Makes a table in the last block of a growing text look like one from its first row on: hides unclosed cells, and adds
 * a rule under the header until the model has written it.
 */
export function closeTable(source: string): string {
  const lines = source.split('\n')
  if (OTHER.test(lines.find((row) => row.trim() !== '') ?? '')) return source
  const before = lines.findLastIndex((row) => !ROW.test(row) && row.trim() !== '')
  const start = lines.findIndex((row, index) => index > before && ROW.test(row))
  if (start < 0) return source
  const [header = '', delimiter, ...rows] = lines.slice(start)
  // The line below is not a rule, so this is not a table.
  if (delimiter !== undefined && !DELIMITER.test(delimiter)) return source
  const head = delimiter === undefined ? closedCells(header) : header
  const columns = cellCount(head)
  const isRuled = delimiter !== undefined && cellCount(delimiter) >= columns && delimiter.trimEnd().endsWith('|')
  const rule = isRuled ? delimiter : `|${' --- |'.repeat(columns)}`
  const body = rows.map((row, index) => (index === rows.length - 1 ? closedCells(row) : row))
  return [...lines.slice(0, start), ...(columns === 0 ? [] : [head, rule, ...body])].join('\n')
}

/** Returns the row up to its last bar. Empty while it has only one. */
function closedCells(row: string): string {
  const bars = barsOf(row)
  return bars.length < 2 ? '' : row.slice(0, (bars.at(-1) ?? 0) + 1)
}

/** Returns the number of cells between the row's bars. */
function cellCount(row: string): number {
  return Math.max(0, barsOf(row).length - 1)
}

/** Returns the positions of the bars between cells. A bar after a backslash belongs to the text. */
function barsOf(row: string): readonly number[] {
  return [...row.matchAll(/\\.|\|/g)].filter(([found]) => found === '|').map(({ index }) => index)
}
