import { plain } from './line.ts'
import type { Output, Surface } from './surface.ts'

/** A pipe, a file or a dumb terminal: finished rows as plain text, nothing else. */
export function createLog({ stdout }: { stdout: Output }): Surface {
  const redraws = new Set<() => void>()
  let lastCommitter: (() => void) | undefined
  let failure: string | undefined
  stdout.on('error', (error: Error) => {
    failure ??= error.message
  })

  function redrawAll(): void {
    for (const redraw of redraws) redraw()
  }

  return {
    live: false,
    size: () => ({ columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY }),
    congested: () => stdout.writableNeedDrain,
    shared: () => redraws.size > 1,
    broken: () => failure,
    region(redraw) {
      if (redraws.size === 0) stdout.on('drain', redrawAll)
      redraws.add(redraw)
      return {
        draw({ commit }) {
          if (commit.length === 0) return
          lastCommitter = redraw
          stdout.write(commit.map((row) => `${plain(row)}\n`).join(''))
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
