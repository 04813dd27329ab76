import { type Line, plain } from '../format/styled-line.ts'
import type { Output, Surface } from './surface.ts'

/** Plain-text output for a pipe, a file or a dumb terminal: finished rows only. */
export function createLog({ stdout }: { stdout: Output }): Surface {
  const redraws = new Set<() => void>()
  let lastCommitter: (() => void) | undefined
  let failure: string | undefined
  stdout.on('error', (error: Error) => {
    failure ??= error.message
  })

  function write(rows: readonly Line[]): void {
    if (rows.length > 0) stdout.write(rows.map((row) => `${plain(row)}\n`).join(''))
  }

  function redrawAll(): void {
    for (const redraw of redraws) redraw()
  }

  return {
    live: false,
    size: () => ({ columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY }),
    congested: () => stdout.writableNeedDrain,
    shared: () => redraws.size > 1,
    broken: () => failure,
    note: write,
    region(redraw) {
      if (redraws.size === 0) stdout.on('drain', redrawAll)
      redraws.add(redraw)
      return {
        draw({ commit }) {
          if (commit.length > 0) lastCommitter = redraw
          write(commit)
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
