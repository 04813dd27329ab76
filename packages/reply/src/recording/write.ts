import { createFrameRedactor } from './frame.ts'

export interface RecordOptions {
  /** Takes the recording's text, piece by piece. */
  readonly write: (text: string) => void
  /**
   * What a frame's JSON text is before it is written. Default: secrets are redacted, also those that stream in several
   * deltas, and the home directory is written `/home/user`. Give `(data) => data` to keep everything.
   */
  readonly redact?: ((data: string) => string) | undefined
}

export interface Recorder {
  /** One frame's data, and when it came, in ms since the epoch. */
  (data: string, at: number): void
  /** Writes the ends of texts that still wait because a secret might have begun in them. Call it when the stream is over. */
  end(): void
}

/**
 * Records a stream so that `replay` can show it again: hand what it returns to `connect` as `onFrame`, and call its `end`
 * after `close`. Writes server-sent events, each with a comment that tells when it came. Every frame is written at once;
 * of a delta, what may be the beginning of a secret waits for the part's next frame.
 */
export function record({ write, redact }: RecordOptions): Recorder {
  const redactor = redact ? undefined : createFrameRedactor(writeFrame)
  let lastAt = 0
  return Object.assign(note, { end: () => redactor?.end(lastAt) })

  function note(data: string, at: number): void {
    lastAt = at
    if (redactor) redactor.push(data, at)
    else writeFrame(redact ? redact(data) : data, at)
  }

  function writeFrame(data: string, at: number): void {
    write(`: at ${at}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`)
  }
}
