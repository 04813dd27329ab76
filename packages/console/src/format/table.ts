import { type Line, span, widthOf, wrap } from './styled-line.ts'

export interface Table {
  readonly align: readonly ('center' | 'left' | 'right' | null)[]
  readonly header: readonly Line[]
  readonly rows: readonly (readonly Line[])[]
}

const RULE = span(' │ ', 'dim')
const LEAST = 6

/** Columns share the width by need, and cells wrap. With less than six columns' width for each, rows become lists. */
export function tableLines(table: Table, width: number): readonly Line[] {
  const count = table.header.length
  const room = width - widthOf([RULE]) * (count - 1)
  const wanted = table.header.map((head, column) =>
    Math.max(1, longest(head), ...table.rows.map((row) => longest(row[column] ?? []))),
  )
  const widths = share(wanted, room)
  if (widths === undefined) return listLines(table, width)
  const under = widths.map((column) => '─'.repeat(column)).join('─┼─')
  return [
    ...rowLines(table.header, table, widths),
    [span(under, 'dim')],
    ...table.rows.flatMap((row) => rowLines(row, table, widths)),
  ]
}

function longest(cell: Line): number {
  return Math.max(0, ...wrap(cell, Number.POSITIVE_INFINITY).map(widthOf))
}

/** Narrow columns keep what they want; wide ones share the rest evenly. */
function share(wanted: readonly number[], room: number): readonly number[] | undefined {
  const widths = wanted.map(() => 0)
  let left = room
  let open = wanted.map((_, column) => column)
  while (open.length > 0) {
    const even = Math.floor(left / open.length)
    const fitting = open.filter((column) => (wanted[column] ?? 0) <= even)
    if (fitting.length === 0) {
      if (even < LEAST) return undefined
      for (const column of open) widths[column] = even
      return widths
    }
    for (const column of fitting) {
      widths[column] = wanted[column] ?? 0
      left -= wanted[column] ?? 0
    }
    open = open.filter((column) => !fitting.includes(column))
  }
  return widths
}

function rowLines(cells: readonly Line[], table: Table, widths: readonly number[]): readonly Line[] {
  const columns = widths.map((width, column) => wrap(cells[column] ?? [], width))
  const height = Math.max(1, ...columns.map((rows) => rows.length))
  return Array.from({ length: height }, (_, row) =>
    widths.flatMap((width, column): Line => {
      const cell = pad(columns[column]?.[row] ?? [], width, table.align[column] ?? null)
      return column === 0 ? cell : [RULE, ...cell]
    }),
  )
}

function pad(cell: Line, width: number, align: Table['align'][number]): Line {
  const spare = Math.max(0, width - widthOf(cell))
  if (spare === 0) return cell
  const before = align === 'right' ? spare : align === 'center' ? Math.floor(spare / 2) : 0
  return [span(' '.repeat(before)), ...cell, span(' '.repeat(spare - before))]
}

function listLines(table: Table, width: number): readonly Line[] {
  return table.rows.flatMap((row, index) => {
    const lines = table.header.flatMap((head, column) =>
      wrap([...head, span(': ', 'bold'), ...(row[column] ?? [])], width, [], [span('  ')]),
    )
    return index === 0 ? lines : [[], ...lines]
  })
}
