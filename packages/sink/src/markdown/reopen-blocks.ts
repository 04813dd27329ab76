import { type Fence, known, lex, openFence, type Token } from './markdown.ts'

/** What a slice leaves open, and the next one goes on with. */
export interface Carry {
  /** Quotes and items of lists, from the outermost. */
  readonly containers: readonly Container[]
  /** The open code block. Undefined: none. */
  readonly fence?: Fence | undefined
  /** The first two lines of a table. */
  readonly table?: string | undefined
}

/** A quote or item of a list that is open at the end of a slice. */
export type Container =
  | { readonly type: 'quote' }
  | {
      readonly type: 'item'
      /** `-`, or what follows the number. */
      readonly mark: string
      readonly number?: number | undefined
      /** Columns before what is inside it. */
      readonly width: number
    }

/** How a slice's text becomes whole: `prefix` takes the place of its first `skip` units. */
export interface Opening {
  readonly prefix: string
  readonly skip: number
}

const QUOTE: Container = { type: 'quote' }

/** What can be left open at all. */
const OPEN = /^[ \t]*(?:>|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|`{3}|~{3})|\|/m

/** What goes on with a table, bars or not; by its first letter alone, as the line may still grow. */
const ROW = /^ {0,3}[^\s#>*+\-\d`~<]/

/** What is open at the end of a text. Undefined: nothing. */
export function carryOf(source: string): Carry | undefined {
  if (!OPEN.test(source)) return undefined
  const inked = source.trimEnd()
  const after = source.slice(inked.length)
  if (inked.endsWith('>') || !/^\n*$/.test(after)) return openIn(source)
  // The text without line feeds at its end is rendered too, so its tokens are cached.
  const carry = openIn(inked)
  const mayEnd = carry?.table !== undefined || carry?.containers.includes(QUOTE) === true
  // A blank line ends only quotes and tables.
  return after.length > 1 && mayEnd ? openIn(source) : carry
}

function openIn(source: string): Carry | undefined {
  const containers: Container[] = []
  let tokens: readonly Token[] = lex(source)
  for (;;) {
    const last = tokens.findLast(({ type }) => type !== 'space')
    if (last?.type === 'blockquote') {
      if (tokens.at(-1)?.type === 'space') break
      containers.push(QUOTE)
      tokens = known(last.tokens)
      continue
    }
    const item = last?.type === 'list' ? last.items.at(-1) : undefined
    if (last?.type === 'list' && item !== undefined) {
      const first = last.start === '' ? 1 : last.start
      containers.push(itemOf(item.raw, last.ordered ? first + last.items.length - 1 : undefined))
      tokens = known(item.tokens)
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

/** Makes the slice that begins with `text` whole. `midLine`: it begins within a line. */
export function opening(text: string, carry: Carry | undefined, midLine: boolean): Opening {
  if (carry?.fence !== undefined) {
    const line = `${opened(carry.containers)}${shortOpening(carry.fence)}\n`
    return { prefix: midLine ? line + continued(carry.containers) : line, skip: 0 }
  }
  const blank = /^(?:[ \t\r]*\n)+/.exec(text)?.[0].length ?? 0
  if (midLine && blank === 0) {
    // Four spaces at the beginning of a line would be code.
    return { prefix: opened(carry?.containers ?? []), skip: /^[ \t]*/.exec(text)?.[0].length ?? 0 }
  }
  const none = { prefix: '', skip: blank }
  if (carry === undefined) return none
  if (carry.table !== undefined && blank === 0 && ROW.test(text)) {
    return { prefix: `${carry.table}\n`, skip: 0 }
  }
  if (carry.containers.some(({ type }) => type === 'quote')) return none
  return itemOpening(text.slice(blank), blank, carry.containers)
}

/** What has to follow a text for its fence to be closed. */
export function closing(carry: Carry | undefined): string {
  if (carry?.fence === undefined) return ''
  return `\n${continued(carry.containers)}${carry.fence.marker}`
}

/** The items that the first line is inside of are opened again; the item that it begins goes on counting. */
function itemOpening(text: string, blank: number, containers: readonly Container[]): Opening {
  const indent = /^ */.exec(text)?.[0].length ?? 0
  let depth = 0
  let columns = 0
  for (const one of containers) {
    const width = one.type === 'item' ? one.width : 0
    if (columns + width > indent) break
    columns += width
    depth++
  }
  const prefix = opened(containers.slice(0, depth))
  const next = containers[depth]
  const number = /^ {0,3}(\d{1,9})([.)])(?=[ \t])/.exec(text.slice(columns))
  if (next?.type === 'item' && next.number !== undefined && number !== null && number[2] === next.mark) {
    return { prefix: `${prefix}${next.number + 1}${next.mark}`, skip: blank + columns + number[0].length }
  }
  return { prefix, skip: blank + columns }
}

function itemOf(raw: string, number: number | undefined): Container {
  const [lead = '', mark = '-', space = ''] = /^ {0,3}([-*+]|\d{1,9}[.)])([ \t]*)/.exec(raw) ?? []
  const width = space.length === 0 || space.length > 4 ? lead.length - space.length + 1 : lead.length
  return { type: 'item', mark: number === undefined ? mark : mark.slice(-1), number, width }
}

function opened(containers: readonly Container[]): string {
  const marks = containers.map((one) => {
    if (one.type === 'quote') return '> '
    return `${one.number ?? ''}${one.mark} `.padEnd(one.width)
  })
  return marks.join('')
}

function continued(containers: readonly Container[]): string {
  return containers.map((one) => (one.type === 'quote' ? '> ' : ' '.repeat(one.width))).join('')
}

/** The language alone: what else the line says may be as long as it likes. */
function shortOpening({ marker, opening: line }: Fence): string {
  const lang = line.slice(marker.length).trim().split(/\s/, 1)[0] ?? ''
  return lang.length > 32 ? marker : marker + lang
}
