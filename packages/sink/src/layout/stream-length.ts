import type { AppendStream } from '../port/port.ts'

/** The length of a text scaled to the message's units, so that a slice fits both a message and a stream. */
export function streamLength(text: string, { maxLength, measure }: AppendStream, most: number): number {
  return Math.ceil((measure(text) / maxLength) * most)
}
