/** Paints the newest state, however many come meanwhile. */
export interface Frames {
  /** Calls `paint` with a frame that comes soon. A page that is not in view has none, and paints twice a second. */
  readonly request: (paint: () => void) => void
  readonly stop: () => void
}

/** How long a page out of view waits, in ms. */
const hiddenMs = 500

/** The time between two paints, in ms. A text that grows more often than this is not read better, and costs more. */
const paintMs = 40

/** Creates what paints a page. */
export function createFrames(): Frames {
  let undo: (() => void) | undefined
  let paintedAt = Number.NEGATIVE_INFINITY
  const stop = (): void => {
    undo?.()
    undo = undefined
  }
  return {
    request(paint) {
      if (undo) return
      const run = (): void => {
        stop()
        paintedAt = performance.now()
        paint()
      }
      let frame = 0
      const wait = setTimeout(
        () => {
          frame = requestAnimationFrame(run)
        },
        paintedAt + paintMs - performance.now(),
      )
      // Frames stop when the page is hidden, also with one under way.
      const timer = setTimeout(run, hiddenMs)
      undo = () => {
        clearTimeout(wait)
        cancelAnimationFrame(frame)
        clearTimeout(timer)
      }
    },
    stop,
  }
}
