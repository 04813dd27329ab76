import type { Writable } from 'node:stream'
import { type Line, plain } from '../format/styled-line.ts'
import { createScreen } from './screen.ts'

/** A stream to write to. The terminal's properties are optional. `process.stdout` is one. */
export interface Output extends Writable {
  /** Whether it is a terminal. Default: it isn't. */
  readonly isTTY?: boolean
  /** The terminal's width in columns. Less than 20 counts as 20. Default 80. */
  readonly columns?: number
  /** The terminal's height in rows. Less than 4 counts as 4. Default 24. */
  readonly rows?: number
}

/** The rows of one reply. */
export interface Picture {
  /** Finished rows, in order. They are written once and scroll away. */
  readonly commit: readonly Line[]
  /** Rows that still change. If there are more than fit, the last ones are shown. */
  readonly body: readonly Line[]
  /** Rows that must stay in view: the checklist, the question, the status. */
  readonly footer: readonly Line[]
}

/** The size of the terminal. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** Where pictures are drawn. Several replies may share one, each with its own region. */
export interface Surface {
  readonly live: boolean
  size(): Size
  /** Whether the stream is behind. Then draw again after `redraw`. Drawing anyway loses nothing. */
  congested(): boolean
  /** Whether more than one reply is drawn on it. */
  shared(): boolean
  /** Why writing failed, for example because the reader of a pipe left. Undefined if it didn't. */
  broken(): string | undefined
  /** Writes rows that belong to no reply, above every tail. */
  note(rows: readonly Line[]): void
  /** Adds the region of one reply. Calls `redraw` when it should be drawn again, for example after a resize. */
  region(redraw: () => void): Region
}

/** The rows of one reply on a surface. */
export interface Region {
  /** Commits the picture's finished rows, and repaints the rest below them. */
  draw(picture: Picture): void
  /** Whether another region committed rows after this one. */
  interrupted(): boolean
  /** Removes the region's tail. Committed rows stay. */
  close(): void
}

const screens = new WeakMap<Output, Surface>()
const logs = new WeakMap<Output, Surface>()

/** Returns the stream's screen if `live`, or else its log. Two screens on one stream would overwrite each other's tail. */
export function surfaceOf(stdout: Output, options: { live: boolean; env: Environment }): Surface {
  const known = (options.live ? screens : logs).get(stdout)
  if (known) return known
  const surface = options.live ? createScreen({ stdout, cursorRest: cursorRestOf(options.env) }) : createLog({ stdout })
  ;(options.live ? screens : logs).set(stdout, surface)
  return surface
}

/** The environment variables that decide about colour and repainting: `NO_COLOR`, `CI`, `TERM`, … */
export type Environment = Readonly<Record<string, string | undefined>>

/** Whether to repaint and colour: a terminal, not `TERM=dumb`, not in CI, and without `NO_COLOR`. */
export function isLive(stdout: Output, env: Environment): boolean {
  return stdout.isTTY === true && env.TERM !== 'dumb' && !isEnabled(env.CI) && !isEnabled(env.NO_COLOR)
}

/**
 * Returns the row of the tail where the cursor rests, so that a resize leaves it in a known place.
 *
 * `first` needs no counting of rows. Right for tmux, which keeps the cursor on its row, and for terminals that don't
 * re-flow (xterm, the Linux console, GNU screen). `last`, for all others: xterm.js, used in many editors, moves the
 * cursor down by the rows that wrapped below it. With nothing below it, the wrapped rows above can be counted.
 */
export function cursorRestOf(env: Environment): CursorRest {
  const first = isEnabled(env.TMUX) || isEnabled(env.XTERM_VERSION) || isEnabled(env.STY) || env.TERM === 'linux'
  return first ? 'first' : 'last'
}

export type CursorRest = 'first' | 'last'

/** Whether a variable is set to anything but an empty text, `0` or `false`. */
function isEnabled(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}

/** Creates plain-text output for a pipe, a file or a dumb terminal: finished rows only. */
export function createLog({ stdout }: { stdout: Output }): Surface {
  const redraws = new Set<() => void>()
  let lastCommitter: (() => void) | undefined
  let failure: string | undefined
  stdout.on('error', (error: Error) => {
    failure ??= error.message
  })

  /** Writes rows as text without style. Writes nothing for no rows. */
  function writePlain(rows: readonly Line[]): void {
    if (rows.length > 0) stdout.write(rows.map((row) => `${plain(row)}\n`).join(''))
  }

  /** Calls `redraw` of each region. */
  function redrawAll(): void {
    for (const redraw of redraws) redraw()
  }

  return {
    live: false,
    size: () => ({ columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY }),
    congested: () => stdout.writableNeedDrain,
    shared: () => redraws.size > 1,
    broken: () => failure,
    note: writePlain,
    region(redraw) {
      if (redraws.size === 0) stdout.on('drain', redrawAll)
      redraws.add(redraw)
      return {
        draw({ commit }) {
          if (commit.length > 0) lastCommitter = redraw
          writePlain(commit)
        },
        interrupted: () => lastCommitter !== undefined && lastCommitter !== redraw,
        close() {
          redraws.delete(redraw)
          if (redraws.size === 0) stdout.off('drain', redrawAll)
        },
      }
    },
  }
}
