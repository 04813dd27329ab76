import { limits } from './limits.ts'
import { badRequest } from './refusal.ts'

/** The sizes of a rich message that its limits apply to. */
export interface RichMeasure {
  readonly codePoints: number
  readonly blocks: number
  /** Columns of its widest table. */
  readonly columns: number
}

const fence = /^\s*(`{3,}|~{3,})/
const own = /^\s*(?:#{1,6}\s|[-*+]\s|\d+[.)]\s|\||(?:---+|\*\*\*+|___+)\s*$)/

/**
 * Counts blocks by lines: every heading, list item, table row, rule, fence, quotation and run of other lines is one. A
 * list and a table each count one more.
 */
export function measureRich(markdown: string): RichMeasure {
  let blocks = 0
  let columns = 0
  let fenced: string | undefined
  let before = 'blank'
  for (const line of markdown.split('\n')) {
    const mark = fence.exec(line)?.[1]
    if (fenced !== undefined) {
      if (mark?.startsWith(fenced)) fenced = undefined
      continue
    }
    const kind = mark === undefined ? kindOf(line) : 'fence'
    if (kind === 'fence') fenced = mark
    if (kind === 'row')
      columns = Math.max(
        columns,
        line
          .trim()
          .replace(/^\||\|$/g, '')
          .split('|').length,
      )
    const isNew = kind !== before
    if (kind === 'item' || kind === 'row') blocks += isNew ? 2 : 1
    else if (kind === 'heading' || kind === 'fence' || (kind !== 'blank' && isNew)) blocks += 1
    before = kind === 'fence' || kind === 'heading' ? 'blank' : kind
  }
  return { codePoints: [...markdown].length, blocks, columns }
}

function kindOf(line: string): string {
  if (line.trim() === '') return 'blank'
  if (/^\s*>/.test(line)) return 'quote'
  if (!own.test(line)) return 'text'
  if (/^\s*#/.test(line)) return 'heading'
  if (/^\s*\|/.test(line)) return 'row'
  return /^\s*([-*_])\1\1/.test(line) ? 'rule' : 'item'
}

/** Refuses what is too large. Telegram's wording is unknown, except for the length. */
export function checkRich(markdown: string): void {
  const { codePoints, blocks, columns } = measureRich(markdown)
  if (codePoints > limits.richText) throw badRequest('message is too long')
  if (blocks > limits.richBlocks) throw badRequest('rich message has too many blocks')
  if (columns > limits.richColumns) throw badRequest('rich message table has too many columns')
}
