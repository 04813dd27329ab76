import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnswerPiece, ModelAnswer } from '../script.ts'
import type { Answer, AnswerEncoder, Dialect, Frame } from './dialect.ts'

/** How an answer is sent. */
interface Delivery {
  readonly dialect: Dialect
  readonly answer: Answer
  /** Whether the answer is not streamed: it is sent as one JSON value at its end. */
  readonly isWhole: boolean
  /** Code points per chunk of text, unless the piece sets its own. */
  readonly chunk: number
  readonly chunkDelayMs: number
  readonly nextCallID: () => string
  /** Texts of the tool results so far, for `{session}` in a tool's input. */
  readonly results: string
  /** Waits until the hold is released or `gone` aborts. */
  readonly hold: (name: string, gone: AbortSignal) => Promise<void>
}

/**
 * Returns a text in pieces of `size` code points, because JSON can't contain half a surrogate pair. None for no text.
 */
const chunksOf = (text: string, size: number): readonly string[] => {
  const points = Array.from(text)
  const chunks: string[] = []
  for (let at = 0; at < points.length; at += size) chunks.push(points.slice(at, at + size).join(''))
  return chunks
}

/**
 * Returns a tool's input as JSON. A script can't know the server's ids, so `{session}` becomes the last one named in
 * the results. It stays if there is none.
 */
const inputJson = (input: unknown, results: string): string =>
  JSON.stringify(input).replaceAll('{session}', results.match(/ses_\w+/g)?.at(-1) ?? '{session}')

/** Returns the frames of a text, thinking or a tool call, as the vendor streams them. None for any other piece. */
const framesOf = (piece: AnswerPiece, encoder: AnswerEncoder, options: Delivery): readonly Frame[] => {
  if (piece.type === 'text') return encoder.text(chunksOf(piece.text, piece.chunk ?? options.chunk))
  if (piece.type === 'reasoning') return encoder.reasoning(chunksOf(piece.text, piece.chunk ?? options.chunk))
  if (piece.type !== 'tool') return []
  const pieces = chunksOf(inputJson(piece.input, options.results), piece.chunk ?? 64)
  return encoder.tool({ id: options.nextCallID(), name: piece.tool, pieces })
}

/** A frame as a server-sent event: its name if it has one, and its data, as JSON unless it is a text. */
const encodeFrame = ({ event, data }: Frame): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/**
 * Streams a script's pieces as one answer, or sends its HTTP error, or breaks the connection at a cut. Waits at its
 * holds. Ends early, without an error, if the client disconnects.
 */
export const streamAnswer = async (pieces: ModelAnswer, response: ServerResponse, options: Delivery): Promise<void> => {
  const first = pieces[0]
  if (first?.type === 'error') {
    response.writeHead(first.status, { 'content-type': 'application/json', ...first.headers })
    response.end(JSON.stringify(options.dialect.errorBody(first.status, first.message)))
    return
  }
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const frames: Frame[] = []
  const { isWhole } = options
  response.writeHead(200, {
    'content-type': isWhole ? 'application/json' : 'text/event-stream',
    'cache-control': 'no-cache',
  })
  /** Sends a frame, or keeps it if the answer is sent whole. */
  const write = (frame: Frame): void => {
    if (isWhole) frames.push(frame)
    else response.write(encodeFrame(frame))
  }
  /** Resolves after the pause between two frames, and once the client has read enough, or when it disconnects. */
  const waitForDrain = async (): Promise<void> => {
    if (options.chunkDelayMs > 0) await sleep(options.chunkDelayMs, undefined, { signal: gone.signal }).catch(() => {})
    if (!response.writableNeedDrain || gone.signal.aborted) return
    // Rejects when the client disconnects, which the caller sees on the signal.
    await once(response, 'drain', { signal: gone.signal }).catch(() => {})
  }

  const tokens = pieces.findLast((piece) => piece.type === 'usage')
  const { input, output, cached = 0 } = tokens ?? { input: 120, output: 24 }
  const spent = { input, output, cached }
  const encoder = options.dialect.createEncoder(options.answer)
  for (const frame of encoder.begin(spent)) write(frame)
  for (const piece of pieces) {
    if (gone.signal.aborted) return
    if (piece.type === 'hold') await options.hold(piece.name, gone.signal)
    if (piece.type === 'cut') {
      // Written data must be sent before the socket breaks, else the client sees no text at all.
      await sleep(150)
      response.destroy()
      return
    }
    for (const frame of framesOf(piece, encoder, options)) {
      if (gone.signal.aborted) return
      write(frame)
      await waitForDrain()
    }
  }
  if (gone.signal.aborted) return
  const reason = pieces.findLast((piece) => piece.type === 'finish')?.reason
  for (const frame of encoder.end(spent, reason)) write(frame)
  response.end(isWhole ? JSON.stringify(options.dialect.joinFrames?.(frames)) : undefined)
}
