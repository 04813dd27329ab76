import type { Writable } from 'node:stream'
import type { Line } from './line.ts'
import { createLog } from './log.ts'
import { createScreen } from './screen.ts'

/** A stream to write to; what a terminal has beyond that is optional. `process.stdout` is one. */
export interface Output extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

/** One reply's place on the screen. */
export interface Picture {
  /** Finished rows, in order. They are written once and scroll away. */
  readonly commit: readonly Line[]
  /** What still changes. Where it is taller than its room, the last rows are shown. */
  readonly body: readonly Line[]
  /** What must stay in view: the checklist, the question, the status. */
  readonly foot: readonly Line[]
}

/** What `ask` and `view` need to know to lay rows out. */
export interface Size {
  readonly columns: number
  readonly rows: number
}

/** Where pictures are drawn. Several replies may share one; each holds its own region. */
export interface Surface {
  readonly live: boolean
  size(): Size
  /** The stream is behind: draw again after `redraw`. Nothing is lost by drawing anyway. */
  congested(): boolean
  /** More than one reply is on it now. */
  shared(): boolean
  /** Why nothing arrives any more, once the stream failed: the reader of a pipe may leave. */
  broken(): string | undefined
  /** Rows that belong to no reply, above every tail. */
  note(rows: readonly Line[]): void
  region(redraw: () => void): Region
}

export interface Region {
  draw(picture: Picture): void
  /** Another region committed since this one did. */
  interrupted(): boolean
  /** Takes the region's tail away; what was committed stays. */
  close(): void
}

const screens = new WeakMap<Output, Surface>()
const logs = new WeakMap<Output, Surface>()

/** One surface a stream: two would overwrite each other's tail. */
export function surfaceOf(stdout: Output, options: { live: boolean; env: Environment }): Surface {
  const known = (options.live ? screens : logs).get(stdout)
  if (known) return known
  const surface = options.live ? createScreen({ stdout, park: parkOf(options.env) }) : createLog({ stdout })
  ;(options.live ? screens : logs).set(stdout, surface)
  return surface
}

export type Environment = Readonly<Record<string, string | undefined>>

/** Whether to repaint and colour: a terminal, not `TERM=dumb`, not in CI, and nobody asked for `NO_COLOR`. */
export function isLive(stdout: Output, env: Environment): boolean {
  return stdout.isTTY === true && env.TERM !== 'dumb' && !isSet(env.CI) && !isSet(env.NO_COLOR)
}

/**
 * At which row of the tail the cursor rests, so that a resize leaves it in a known place.
 *
 * `first`: nothing has to be counted. Right for tmux, which keeps the cursor on its row, and for terminals that don't
 * re-flow (xterm, the Linux console, GNU screen). `last`, for all others: xterm.js, which is in many editors, moves the
 * cursor down by the rows that wrapped below it; with nothing below it, the wrapped rows above can be counted.
 */
export function parkOf(env: Environment): Park {
  const first = isSet(env.TMUX) || isSet(env.XTERM_VERSION) || isSet(env.STY) || env.TERM === 'linux'
  return first ? 'first' : 'last'
}

export type Park = 'first' | 'last'

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false'
}
