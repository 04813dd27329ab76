import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { excerptOf } from '../../text/excerpt.ts'
import type { FrameDecoder } from '../../wire/reader.ts'
import { setDirectory } from '../decode/directory.ts'
import { endsAsFrame } from '../decode/json-text.ts'
import { createRepeatCheck } from '../decode/repeat-check.ts'
import { frameOf, typeOfUnstored } from './decode/frame.ts'
import { kindOf } from './decode/kinds.ts'
import { createMemory, type Memory, missedBefore } from './decode/memory.ts'
import { toDelta } from './decode/part.ts'
import { createRepeatedDeltas } from './decode/repeated-delta.ts'

export interface Decoder2 extends FrameDecoder {
  /** Decodes a frame without parsing it as a whole. Undefined if it must be parsed, `nothing` if it has no event. */
  decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined
  /** Decodes a parsed frame. Undefined if it isn't of this generation. */
  decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined
  readonly memory: Memory
}

/** Turns the events of OpenCode 2 into `ReplyEvent`s. Keep one decoder per server across its connections. */
export function createDecoder2({ onError }: { readonly onError?: OnError | undefined } = {}): Decoder2 {
  const memory = createMemory()
  const deltas = createRepeatedDeltas()
  const isRepeated = createRepeatCheck()
  return { decode, decodeUnparsed, decodeValue, memory }

  function decode(data: string, at: number): ReplyEvent | readonly ReplyEvent[] {
    const unparsed = decodeUnparsed(data, at)
    if (unparsed) return unparsed === 'nothing' ? [] : unparsed
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // Omits the parser's own error, because it quotes the text, which may contain secrets.
      report(`Skipped a frame that is not JSON: ${excerptOf(data)}`)
      return []
    }
    const events = decodeValue(value, at)
    if (!events) report('Skipped a frame that is not an event (expected an object with a "type" and "data")')
    return events ?? []
  }

  function decodeUnparsed(data: string, at: number): ReplyEvent | 'nothing' | undefined {
    const delta = deltas.read(data, at)
    if (delta) return isRepeated(delta.raw.id) ? 'nothing' : delta
    const type = typeOfUnstored(data)
    return type !== undefined && kindOf(type) === undefined && endsAsFrame(data) ? 'nothing' : undefined
  }

  function decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined {
    const frame = frameOf(value)
    if (!frame) return undefined
    const raw = value
    if (frame.type === 'server.connected') {
      memory.reconnected()
      return [{ type: 'connected', at, raw }]
    }
    if (frame.id !== undefined && isRepeated(frame.id)) return []
    const delta = toDelta(frame, at, raw)
    if (delta) return [delta]
    const missedIn = missedBefore(frame, memory)
    const missed: readonly ReplyEvent[] = missedIn === undefined ? [] : [{ type: 'missed', at, inSession: missedIn }]
    const read = frame.kind?.read?.({ at, raw, frame, memory })
    if (read === undefined) return missed
    if (!('issues' in read)) {
      const { directory } = frame
      if (directory !== undefined) for (const event of read) setDirectory(event, directory)
      return missedIn === undefined ? read : [...read, ...missed]
    }
    const [issue] = read.issues
    report(`Skipped a malformed event "${frame.type}": data.${issue?.path.join('.')}: ${issue?.message}`, read)
    return missed
  }

  function report(message: string, cause?: unknown): void {
    onError?.(new ReplyError('malformed', message, { cause }))
  }
}
