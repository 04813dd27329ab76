/** Paints the newest state once per frame, however many come meanwhile. */
export interface Frames {
  /** Calls `paint` with the next frame. A page that is not in view has none, and paints twice a second. */
  readonly request: (paint: () => void) => void
  readonly stop: () => void
}

/** How long a page out of view waits, in ms. */
const hiddenMs = 500

/** Creates what paints a page. */
export function createFrames(): Frames {
  let undo: (() => void) | undefined
  const stop = (): void => {
    undo?.()
    undo = undefined
  }
  return {
    request(paint) {
      if (undo) return
      const run = (): void => {
        stop()
        paint()
      }
      const frame = requestAnimationFrame(run)
      // Frames stop when the page is hidden, also with one under way.
      const timer = setTimeout(run, hiddenMs)
      undo = () => {
        cancelAnimationFrame(frame)
        clearTimeout(timer)
      }
    },
    stop,
  }
}
