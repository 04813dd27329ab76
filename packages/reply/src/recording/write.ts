import { redacted } from './redact.ts'

export interface RecordOptions {
  /** Takes the recording's text, piece by piece. */
  readonly write: (text: string) => void
  /**
   * What a frame's JSON text is before it is written. Default: secrets are blotted out and the home directory is
   * written `/home/user`. Give `(data) => data` to keep everything.
   */
  readonly redact?: ((data: string) => string) | undefined
}

/**
 * Records a stream so that `replay` can show it again: hand what it returns to `connect` as `onFrame`. Writes
 * server-sent events, each with a comment that tells when it came.
 */
export function record(options: RecordOptions): (data: string, at: number) => void {
  const { write, redact = redacted } = options
  return (data, at) => write(`: at ${at}\ndata: ${redact(data).replaceAll('\n', '\ndata: ')}\n\n`)
}
