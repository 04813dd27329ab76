import { Readable } from 'node:stream'

/** What a process writes, with back-pressure. */
export interface Output {
  /** Ends when the process closes its side, or when `release` gave it up. */
  readonly stream: Readable
  /**
   * Its processes are gone. One that left the group may still hold the pipe: the stream then ends after `quietMs`
   * without a byte. A reader that pauses loses nothing.
   */
  release(quietMs: number): void
}

/** Wraps a pipe so that its end can be decided here. */
export function outputOf(pipe: Readable): Output {
  const stream = new Readable({
    read: () => {
      pipe.resume()
    },
    destroy: (error, done) => {
      pipe.destroy()
      done(error)
    },
  })
  let quiet: NodeJS.Timeout | undefined
  const end = (): void => {
    clearInterval(quiet)
    if (!stream.readableEnded && !stream.destroyed && !hasEnded) stream.push(null)
    hasEnded = true
  }
  let hasEnded = false
  pipe.pause()
  pipe.on('data', (chunk: Uint8Array) => {
    quiet?.refresh()
    if (!stream.push(chunk)) pipe.pause()
  })
  pipe.once('end', end)
  pipe.once('close', end)
  pipe.once('error', end)
  return {
    stream,
    release: (quietMs) => {
      if (hasEnded) return
      quiet = setInterval(() => {
        if (!pipe.isPaused()) pipe.destroy()
      }, quietMs)
      quiet.unref()
    },
  }
}
