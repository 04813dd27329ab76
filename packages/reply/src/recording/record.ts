import { createFrameRedactor } from './redact-frames.ts'

/** Options of `record`. */
export interface RecordOptions {
  /** Receives the recording's text, piece by piece. */
  readonly write: (text: string) => void
  /**
   * Transforms a frame's JSON text before it is written. Default: redacts secrets, including those that stream in
   * several deltas, and writes the home directory as `/home/user`. Pass `(data) => data` to keep everything.
   */
  readonly redact?: ((data: string) => string) | undefined
}

/** Receives the frames of a stream. See `record`. */
export interface Recorder {
  /** Receives one frame's data and its arrival time, in ms since the epoch. */
  (data: string, at: number): void
  /** Writes the held-back ends of texts that could have been secrets. Call it when the stream has ended. */
  end(): void
}

/**
 * Records a stream for `replay`: pass the returned function to `connect` as `onFrame`, and call its `end` after
 * `close`. Writes server-sent events, each preceded by a comment with its arrival time. Writes every frame at once, but
 * holds back the end of a delta that may be the beginning of a secret until the part's next frame.
 */
export function record({ write, redact }: RecordOptions): Recorder {
  const redactor = redact ? undefined : createFrameRedactor(writeFrame)
  let lastAt = 0
  return Object.assign(recordFrame, { end: () => redactor?.end(lastAt) })

  /** Writes a frame, redacted by the caller's `redact` or else by the default. */
  function recordFrame(data: string, at: number): void {
    lastAt = at
    if (redactor) redactor.push(data, at)
    else writeFrame(redact ? redact(data) : data, at)
  }

  /** Writes the data as one server-sent event, after a comment with its arrival time. */
  function writeFrame(data: string, at: number): void {
    write(`: at ${at}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
  }
}
