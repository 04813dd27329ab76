import type { Lexer, Tokens } from 'marked'
import { spansOf } from './simple-spans.ts'

/** Every row begins and ends with a bar, and no cell contains anything that could turn a bar into text. */
const FLAT_TABLE = /^(?<head>\|[^\n\\`]*\|)\n\|(?<rule>(?: *:?-+:? *\|)+)(?<rows>(?:\n\|[^\n\\`]*\|)*)(?=\n?$|\n\n)/

/**
 * Reads a table whose cells contain no code and no escapes. Same result as marked, but faster per row. Undefined for
 * all other tables, which marked reads.
 */
export function readFlatTable(src: string, lexer: Lexer): Tokens.Table | undefined {
  const found = FLAT_TABLE.exec(src)
  if (!found) return undefined
  const { head = '', rule = '', rows = '' } = found.groups ?? {}
  const align = rule.slice(0, -1).split('|').map(alignOf)
  const bars = head.split('|').length - 1
  if (bars !== align.length + 1) return undefined
  const rowOf = (line: string, header: boolean): Tokens.TableCell[] => {
    let start = 1
    return align.map((one) => {
      const end = line.indexOf('|', start)
      const text = end < 0 ? '' : line.slice(start, end).trim()
      start = end < 0 ? line.length : end + 1
      return { text, tokens: spansOf(text, lexer), header, align: one }
    })
  }
  const [, ...lines] = rows.split('\n')
  return {
    type: 'table',
    raw: found[0],
    header: rowOf(head, true),
    align,
    rows: lines.map((line) => rowOf(line, false)),
  }
}

function alignOf(rule: string): 'left' | 'right' | 'center' | null {
  const [isLeft, isRight] = [rule.trim().startsWith(':'), rule.trim().endsWith(':')]
  if (isLeft) return isRight ? 'center' : 'left'
  return isRight ? 'right' : null
}
