import type { Lexer, Tokens } from 'marked'
import { spansOf } from './simple-spans.ts'

/** A line that is one whole list item: it begins with a letter or a span's mark, and contains no tab. */
const TEXT = String.raw`(?:\p{L}|\*\*?[\p{L}\p{N}]|_[\p{L}\p{N}]|${'`'}[^${'`'}\n]|\d+(?![\d.)]))(?:[^\n\t\r]*[^\s\\])?`
const END = String.raw`(?=\n?$|\n{2,}(?![ \t\n]|[-*+]|\d))`

function listOf(gap: string): RegExp {
  const bullets = String.raw`(?<bullet>[-*+]) ${TEXT}(?:${gap}\k<bullet> ${TEXT})*`
  const numbers = String.raw`\d{1,9}(?<dot>[.)]) ${TEXT}(?:${gap}\d{1,9}\k<dot> ${TEXT})*`
  return new RegExp(`^(?:${bullets}|${numbers})${END}`, 'u')
}

const TIGHT = listOf(String.raw`\n`)
const LOOSE = listOf(String.raw`\n\n`)

/**
 * Reads a list of plain one-line items. Same result as marked, but without compiling patterns for each item. Undefined
 * for all other lists, which marked reads.
 */
export function readFlatList(src: string, lexer: Lexer): Tokens.List | undefined {
  const tight = TIGHT.exec(src)?.[0]
  const raw = tight ?? LOOSE.exec(src)?.[0]
  if (raw === undefined) return undefined
  const loose = raw !== tight
  const items = raw.split(loose ? '\n\n' : '\n').map((line, at, all) => {
    const isLast = at === all.length - 1
    return itemOf(line, { loose, after: isLast ? '' : loose ? '\n\n' : '\n' }, lexer)
  })
  const number = /^\d+/.exec(raw)?.[0]
  const start = number === undefined ? ('' as const) : Number(number)
  return { type: 'list', raw, ordered: number !== undefined, start, loose, items }
}

function itemOf(
  line: string,
  { loose, after }: { readonly loose: boolean; readonly after: string },
  lexer: Lexer,
): Tokens.ListItem {
  const text = line.slice(line.indexOf(' ') + 1)
  const lineEnd = after.slice(1)
  const tokens = spansOf(text, lexer)
  const content: Tokens.Paragraph | Tokens.Text = loose
    ? { type: 'paragraph', raw: text + lineEnd, text, tokens }
    : { type: 'text', raw: text, text, tokens }
  return { type: 'list_item', raw: line + after, task: false, loose, text: text + lineEnd, tokens: [content] }
}
