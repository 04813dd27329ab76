import { type Fence, openFence } from './fence.ts'
import { lex } from './lex.ts'
import { knownTokens, type Token } from './lexer/token.ts'

/** Blocks that are open at the end of a slice and continue in the next one. */
export interface OpenBlocks {
  /** Quotes and items of lists, from the outermost. */
  readonly containers: readonly Container[]
  /** The open code block, if any. */
  readonly fence?: Fence | undefined
  /** The first two lines of a table. */
  readonly table?: string | undefined
}

/** A quote or item of a list that is open at the end of a slice. */
export type Container =
  | { readonly type: 'quote' }
  | {
      readonly type: 'item'
      /** The bullet, or the character after the number. */
      readonly mark: string
      readonly number?: number | undefined
      /** Columns before its content. */
      readonly width: number
    }

/** How to begin a slice so that it is complete Markdown: `prefix` replaces its first `skip` UTF-16 units. */
export interface Reopening {
  readonly prefix: string
  readonly skip: number
}

const quoteContainer: Container = { type: 'quote' }

/** A text that doesn't match leaves no block open. */
const openPattern = /^[ \t]*(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|`{3}|~{3})|\|/m

/** A line that continues a table, with or without bars. Looks at its first character only: the line may still grow. */
const tableRowPattern = /^ {0,3}[^\s#>*+\-\d`~<]/

/** Returns the blocks that are open at the end of a text, for the next slice to reopen. Undefined if there are none. */
export function openBlocksOf(source: string): OpenBlocks | undefined {
  if (!openPattern.test(source)) return undefined
  const inked = source.trimEnd()
  const after = source.slice(inked.length)
  if (inked.endsWith('>') || !/^\n*$/.test(after)) return openBlocksIn(source)
  // The text without line feeds at its end is rendered too, so its tokens are cached.
  const open = openBlocksIn(inked)
  const mayEnd = open?.table !== undefined || open?.containers.includes(quoteContainer) === true
  // A blank line ends only quotes and tables.
  return after.length > 1 && mayEnd ? openBlocksIn(source) : open
}

/** Returns the open blocks of a text that is read as it is, from the outermost. Undefined if there are none. */
function openBlocksIn(source: string): OpenBlocks | undefined {
  const containers: Container[] = []
  let tokens: readonly Token[] = lex(source)
  for (;;) {
    const last = tokens.findLast(({ type }) => type !== 'space')
    if (last?.type === 'blockquote') {
      if (tokens.at(-1)?.type === 'space') break
      containers.push(quoteContainer)
      tokens = knownTokens(last.tokens)
      continue
    }
    const item = last?.type === 'list' ? last.items.at(-1) : undefined
    if (last?.type === 'list' && item !== undefined) {
      const first = last.start === '' ? 1 : last.start
      containers.push(itemContainer(item.raw, last.ordered ? first + last.items.length - 1 : undefined))
      tokens = knownTokens(item.tokens)
      continue
    }
    const fence = last && openFence(last)
    const isTable = last?.type === 'table' && containers.length === 0 && tokens.at(-1) === last
    const table = isTable ? last.raw.split('\n', 2).join('\n') : undefined
    if (containers.length === 0 && fence === undefined && table === undefined) return undefined
    return { containers, fence, table }
  }
  return containers.length === 0 ? undefined : { containers }
}

/**
 * Returns how to begin the slice `text` so that it continues the open blocks. `isMidLine`: the slice begins within a
 * line.
 */
export function reopening(text: string, open: OpenBlocks | undefined, isMidLine: boolean): Reopening {
  if (open?.fence !== undefined) {
    const line = `${openingMarks(open.containers)}${shortFence(open.fence)}\n`
    return { prefix: isMidLine ? line + continuationMarks(open.containers) : line, skip: 0 }
  }
  const blank = /^(?:[ \t\r]*\n)+/.exec(text)?.[0].length ?? 0
  if (isMidLine && blank === 0) {
    // Four spaces at the beginning of a line would be code.
    return { prefix: openingMarks(open?.containers ?? []), skip: /^[ \t]*/.exec(text)?.[0].length ?? 0 }
  }
  const none = { prefix: '', skip: blank }
  if (open === undefined) return none
  if (open.table !== undefined && blank === 0 && tableRowPattern.test(text)) {
    return { prefix: `${open.table}\n`, skip: 0 }
  }
  if (open.containers.some(({ type }) => type === 'quote')) return none
  return itemReopening(text.slice(blank), blank, open.containers)
}

/** Returns the text to append to close an open fence. Empty if none is open. */
export function closingFence(open: OpenBlocks | undefined): string {
  if (open?.fence === undefined) return ''
  return `\n${continuationMarks(open.containers)}${open.fence.marker}`
}

/**
 * Returns how to begin a slice within a list, after `blankLength` units of blank lines: reopens the items that contain the
 * first line of `text`. If the line begins an item, its number continues the list's.
 */
function itemReopening(text: string, blankLength: number, containers: readonly Container[]): Reopening {
  const indent = /^ */.exec(text)?.[0].length ?? 0
  let depth = 0
  let columns = 0
  for (const one of containers) {
    const width = one.type === 'item' ? one.width : 0
    if (columns + width > indent) break
    columns += width
    depth++
  }
  const prefix = openingMarks(containers.slice(0, depth))
  const next = containers[depth]
  const number = /^ {0,3}(\d{1,9})([.)])(?=[ \t])/.exec(text.slice(columns))
  if (next?.type === 'item' && next.number !== undefined && number !== null && number[2] === next.mark) {
    return { prefix: `${prefix}${next.number + 1}${next.mark}`, skip: blankLength + columns + number[0].length }
  }
  return { prefix, skip: blankLength + columns }
}

/** Returns the container of an item with this source. `number` is its number in a numbered list. */
function itemContainer(raw: string, number: number | undefined): Container {
  const [lead = '', mark = '-', space = ''] = /^ {0,3}([-*+]|\d{1,9}[.)])([ \t]*)/.exec(raw) ?? []
  const width = space.length === 0 || space.length > 4 ? lead.length - space.length + 1 : lead.length
  return { type: 'item', mark: number === undefined ? mark : mark.slice(-1), number, width }
}

/** Writes the marks of the containers, as in the first line of an item. */
function openingMarks(containers: readonly Container[]): string {
  const marks = containers.map((one) => {
    if (one.type === 'quote') return '> '
    return `${one.number ?? ''}${one.mark} `.padEnd(one.width)
  })
  return marks.join('')
}

/** Writes the marks and the indentation of a further line in the containers. */
function continuationMarks(containers: readonly Container[]): string {
  return containers.map((one) => (one.type === 'quote' ? '> ' : ' '.repeat(one.width))).join('')
}

/** Returns the fence with its language only, because the rest of the line has no maximum length. */
function shortFence({ marker, opening: line }: Fence): string {
  const lang = line.slice(marker.length).trim().split(/\s/, 1)[0] ?? ''
  return lang.length > 32 ? marker : marker + lang
}
