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
  const columns = cellsOf(head)
  if (columns.length !== align.length) return undefined
  const cellAt = (text: string, column: number, header: boolean): Tokens.TableCell => ({
    text,
    tokens: spansOf(text, lexer),
    header,
    align: align[column] ?? null,
  })
  const header = columns.map((text, column) => cellAt(text, column, true))
  const rowOf = (line: string): Tokens.TableCell[] => {
    const cells = cellsOf(line)
    return align.map((_, column) => cellAt(cells[column] ?? '', column, false))
  }
  return { type: 'table', raw: found[0], header, align, rows: rows.split('\n').slice(1).map(rowOf) }
}

function cellsOf(row: string): readonly string[] {
  const cells = row.slice(1, -1).split('|')
  return cells.map((cell) => cell.trim())
}

function alignOf(rule: string): 'left' | 'right' | 'center' | null {
  const [isLeft, isRight] = [rule.trim().startsWith(':'), rule.trim().endsWith(':')]
  if (isLeft) return isRight ? 'center' : 'left'
  return isRight ? 'right' : null
}
