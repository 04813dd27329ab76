/** A Markdown table. */
export interface Table {
  /** The text of the cells, without markup. */
  readonly header: readonly string[]
  /** The text of the cells below the header, row by row, without markup. */
  readonly rows: readonly (readonly string[])[]
  /** The alignment of each column. `null`: none was given. */
  readonly align: readonly ('left' | 'right' | 'center' | null)[]
}

/** The widest column, in UTF-16 units. Longer cells overflow, so that one long cell does not widen all rows. */
export const widestColumn = 100

/**
 * Writes a table as text for platforms without tables, aligned for a monospaced font. Widths are UTF-16 units, because
 * an emoji is two columns wide.
 */
export function tableText({ header, rows, align }: Table): string {
  const all = [header, ...rows]
  const widths = header.map((_, column) => columnWidth(all, column))
  const lines = all.map((row) =>
    widths
      .map((width, column) => {
        // Space at the end of a line is invisible.
        const cell = row[column] ?? ''
        const isAtEnd = column === widths.length - 1 && !align[column]
        return isAtEnd ? cell : padded(cell, width, align[column])
      })
      .join(' │ ')
      .trimEnd(),
  )
  const rule = widths.map((width) => '─'.repeat(width)).join('─┼─')
  return [...lines.slice(0, 1), rule, ...lines.slice(1)].join('\n')
}

/** Returns the width of the column's longest cell, at most `widestColumn`. */
function columnWidth(rows: Table['rows'], column: number): number {
  const widest = rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0)
  return Math.min(widestColumn, widest)
}

/**
 * Returns the text filled with spaces to the width, on the side that the alignment says. Default: on the right. A longer
 * text is unchanged.
 */
function padded(text: string, width: number, align: Table['align'][number] | undefined): string {
  if (align === 'right') return text.padStart(width)
  if (align === 'center') return text.padStart(Math.ceil((width + text.length) / 2)).padEnd(width)
  return text.padEnd(width)
}
