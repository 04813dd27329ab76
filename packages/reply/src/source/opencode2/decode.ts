import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { excerptOf } from '../../excerpt.ts'
import type { FrameDecoder } from '../../reader.ts'
import { type Frame, frameOf } from './decode/canonical.ts'
import { createMemory, type Memory } from './decode/memory.ts'
import { textPartID } from './decode/part.ts'
import { readFrame } from './decode/read.ts'
import { missedBefore } from './decode/sequence.ts'

export interface Decoder2 extends FrameDecoder {
  /** Decodes a parsed frame; undefined if it isn't one of this generation. */
  decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined
  readonly memory: Memory
}

/** Turns the events of OpenCode 2 into `ReplyEvent`s. Keep one decoder per server across its connections. */
export function createDecoder2({ onError }: { readonly onError?: OnError | undefined } = {}): Decoder2 {
  const memory = createMemory()
  return { decode, decodeValue, memory }

  function decode(data: string, at: number): readonly ReplyEvent[] {
    let value: unknown
    try {
      value = JSON.parse(data)
    } catch {
      // Omits the parser's own error: it quotes the text, including secrets.
      report(`Skipped a frame that is not JSON: ${excerptOf(data)}`)
      return []
    }
    const events = decodeValue(value, at)
    if (!events) report('Skipped a frame that is not an event (expected an object with a "type" and "data")')
    return events ?? []
  }

  function decodeValue(value: unknown, at: number): readonly ReplyEvent[] | undefined {
    const frame = frameOf(value)
    if (!frame) return undefined
    const raw = value
    if (frame.type === 'server.connected') {
      memory.reconnected()
      return [{ type: 'connected', at, raw }]
    }
    const delta = toDelta(frame, at, raw)
    if (delta) return [delta]
    const missed = missedBefore(frame, memory).map((inSession): ReplyEvent => ({ type: 'missed', at, inSession }))
    const read = readFrame(frame, { at, raw, memory })
    if (read === undefined) return missed
    if (!('issues' in read)) return [...read.map((event) => withDirectory(event, frame.directory)), ...missed]
    const [issue] = read.issues
    report(`Skipped a malformed event "${frame.type}": data.${issue?.path.join('.')}: ${issue?.message}`, read)
    return missed
  }

  function report(message: string, cause?: unknown): void {
    onError?.(new ReplyError('malformed', message, { cause }))
  }
}

function toDelta({ type, data }: Frame, at: number, raw: unknown): ReplyEvent | undefined {
  const kind = type === 'session.text.delta' ? 'text' : type === 'session.reasoning.delta' ? 'reasoning' : undefined
  if (kind === undefined) return undefined
  const { sessionID, assistantMessageID: messageID, ordinal, delta } = data
  if (typeof sessionID !== 'string' || typeof messageID !== 'string') return undefined
  if (typeof ordinal !== 'number' || typeof delta !== 'string') return undefined
  const partID = textPartID(messageID, kind, ordinal)
  return { type: 'delta', at, raw, sessionID, messageID, partID, field: 'text', delta }
}

/** The directory in the event itself takes precedence. */
function withDirectory(event: ReplyEvent, directory: string | undefined): ReplyEvent {
  if (directory === undefined || !('sessionID' in event) || event.directory !== undefined) return event
  return { ...event, directory }
}
