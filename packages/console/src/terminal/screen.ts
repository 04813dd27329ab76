import { ansi, clip, type Line, widthOf } from '../format/styled-line.ts'
import type { CursorRest, Output, Picture, Size, Surface } from './surface.ts'

const HIDE = '\u001b[?25l'
const SHOW = '\u001b[?25h'
// Rows of the tail must never wrap, or the rows to move up would be miscounted. If a terminal draws a character wider
// than Unicode defines, the row's end is cut instead.
const NO_WRAP = '\u001b[?7l'
const WRAP = '\u001b[?7h'
const ERASE_ROW = '\u001b[K'
const ERASE_BELOW = '\u001b[J'

const RESTORE = `${WRAP}${SHOW}`

interface Slot {
  readonly redraw: () => void
  picture: Picture
}

/**
 * Creates a terminal with finished rows that scroll and a tail that is repainted.
 *
 * Between two pictures the cursor rests at the start of the tail's first or last row: see `cursorRestOf`.
 */
export function createScreen({ stdout, cursorRest }: { stdout: Output; cursorRest: CursorRest }): Surface {
  const slots = new Set<Slot>()
  /** The widths of the tail's rows as they were painted, in columns. */
  let paintedWidths: readonly number[] = []
  let lastCommitter: Slot | undefined
  let failure: string | undefined
  stdout.on('error', (error: Error) => {
    failure ??= error.message
  })

  /** The terminal's size. At least 20 columns and 4 rows, so that something fits. */
  function size(): Size {
    return { columns: Math.max(20, stdout.columns ?? 80), rows: Math.max(4, stdout.rows ?? 24) }
  }

  /** Writes the committed rows, and repaints the tail below them. */
  function paint(commit: readonly Line[]): void {
    const { columns, rows } = size()
    const tail = tailOf([...slots], rows).map((row) => clip(row, columns - 1))
    let out = paintedWidths.length > 0 || tail.length > 0 ? HIDE : ''
    out += escapesToTop()
    for (const row of commit) out += `${ansi(row)}${ERASE_ROW}\r\n`
    if (tail.length === 0) out += ERASE_BELOW + SHOW
    else
      out += `${NO_WRAP}${tail.map(ansi).join(`${ERASE_ROW}\r\n`)}${ERASE_BELOW}${WRAP}\r${cursorUp(cursorRest === 'first' ? tail.length - 1 : 0)}`
    paintedWidths = tail.map(widthOf)
    stdout.write(out)
  }

  /** Returns the escapes that move the cursor from its rest to the start of the tail's first row. */
  function escapesToTop(): string {
    if (cursorRest === 'first') return '\r'
    const { columns, rows } = size()
    // Rows painted in a wider terminal have wrapped.
    const above = paintedWidths.slice(0, -1).reduce((sum, width) => sum + Math.max(1, Math.ceil(width / columns)), 0)
    return `\r${cursorUp(Math.min(above, rows - 1))}`
  }

  /** Calls `redraw` of each region. */
  function redrawAll(): void {
    for (const slot of slots) slot.redraw()
  }

  /** For a process that ends midway: removes the tail and restores the cursor for the shell's prompt. */
  function leaveAsFound(): void {
    if (paintedWidths.length > 0) stdout.write(`${escapesToTop()}${ERASE_BELOW}${RESTORE}`)
  }

  /** Starts or stops to redraw when the terminal changes. While on, also restores the terminal when the process exits. */
  function setListening(isOn: boolean): void {
    const change = isOn ? stdout.on.bind(stdout) : stdout.off.bind(stdout)
    change('resize', redrawAll)
    change('drain', redrawAll)
    if (stdout !== process.stdout) return
    if (isOn) process.on('exit', leaveAsFound)
    else process.off('exit', leaveAsFound)
  }

  return {
    live: true,
    size,
    congested: () => stdout.writableNeedDrain,
    shared: () => slots.size > 1,
    broken: () => failure,
    note: paint,
    region(redraw) {
      const slot: Slot = { redraw, picture: { commit: [], body: [], footer: [] } }
      if (slots.size === 0) setListening(true)
      slots.add(slot)
      return {
        draw(picture) {
          slot.picture = picture
          if (picture.commit.length > 0) lastCommitter = slot
          paint(picture.commit)
        },
        interrupted: () => lastCommitter !== undefined && lastCommitter !== slot,
        close() {
          if (!slots.delete(slot)) return
          if (slots.size === 0) setListening(false)
          paint([])
        },
      }
    },
  }
}

/** Returns the escape that moves the cursor up by this many rows. Empty for 0. */
function cursorUp(rows: number): string {
  return rows > 0 ? `\u001b[${rows}A` : ''
}

/**
 * Returns the rows to repaint, and leaves a third of the screen to earlier rows. Footers come first, then the newest bodies.
 */
function tailOf(slots: readonly Slot[], rows: number): readonly Line[] {
  const mostRows = Math.max(3, Math.ceil((rows * 2) / 3))
  const wanted = slots.reduce((sum, { picture }) => sum + picture.footer.length, 0)
  let footer = Math.min(wanted, rows - 1)
  let body = Math.max(0, mostRows - footer)
  const tail: Line[] = []
  for (const { picture } of slots.toReversed()) {
    const footerRows = lastRows(picture.footer, footer)
    const bodyRows = lastRows(picture.body, body)
    footer -= footerRows.length
    body -= bodyRows.length
    tail.unshift(...bodyRows, ...footerRows)
  }
  return tail
}

/** Returns the last `count` rows. Empty for 0 and less. */
function lastRows<T>(rows: readonly T[], count: number): readonly T[] {
  return count <= 0 ? [] : rows.slice(-count)
}
