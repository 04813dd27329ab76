/** A recording that is written while others read it. */
export interface GrowingRecording {
  /** Adds text. Does nothing once the recording is full. */
  write(text: string): void
  /** Ends it: no more text will follow. */
  end(): void
  /** The text so far. */
  text(): string
  /** Reads it from its beginning, and what is added, until its end or until the signal aborts. */
  pieces(signal: AbortSignal): AsyncIterable<string>
}

/**
 * Creates an empty recording. `mostUnits`: how many UTF-16 units it keeps in memory. `onFull` is called once when a text did not
 * fit, and the recording ends.
 */
export function createGrowingRecording(mostUnits: number, onFull: () => void): GrowingRecording {
  const texts: string[] = []
  const listeners = new Set<() => void>()
  let units = 0
  let isEnded = false
  return { write, end, text: () => texts.join(''), pieces }

  function write(text: string): void {
    if (isEnded) return
    if (units + text.length > mostUnits) {
      end()
      onFull()
      return
    }
    units += text.length
    texts.push(text)
    for (const listener of listeners) listener()
  }

  function end(): void {
    isEnded = true
    for (const listener of listeners) listener()
  }

  async function* pieces(signal: AbortSignal): AsyncIterable<string> {
    let next = 0
    let wake = (): void => {}
    const listener = (): void => wake()
    listeners.add(listener)
    signal.addEventListener('abort', listener)
    try {
      while (!signal.aborted) {
        if (next < texts.length) {
          const piece = texts.slice(next).join('')
          next = texts.length
          yield piece
        } else if (isEnded) return
        else
          await new Promise<void>((resolve) => {
            wake = resolve
          })
      }
    } finally {
      listeners.delete(listener)
      signal.removeEventListener('abort', listener)
    }
  }
}
