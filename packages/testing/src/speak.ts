import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Piece, Pieces } from './script.ts'

export interface SpeakOptions {
  readonly chunk: number
  readonly chunkDelayMs: number
  readonly nextCallID: () => string
  /** Texts of the tool results so far, for `{session}` in a tool's input. */
  readonly results: string
  readonly hold: (name: string, gone: AbortSignal) => Promise<void>
}

/** Splits by code points: JSON can't contain half a surrogate pair. */
const chunksOf = (words: string, size: number): readonly string[] => {
  const points = Array.from(words)
  const chunks: string[] = []
  for (let at = 0; at < points.length; at += size) chunks.push(points.slice(at, at + size).join(''))
  return chunks
}

interface Call {
  readonly index: number
  readonly id: string
  readonly results: string
}

/** A script can't know the server's ids; `{session}` stands for the last one named in the results. */
const inputOf = (input: unknown, results: string): string =>
  JSON.stringify(input).replaceAll('{session}', results.match(/ses_\w+/g)?.at(-1) ?? '{session}')

/** The deltas of one piece, as the vendor streams them. */
const deltasOf = (piece: Piece, call: Call, chunk: number): readonly unknown[] => {
  if (piece.type === 'text') return chunksOf(piece.text, piece.chunk ?? chunk).map((content) => ({ content }))
  if (piece.type === 'reasoning')
    return chunksOf(piece.text, piece.chunk ?? chunk).map((words) => ({ reasoning_content: words }))
  if (piece.type !== 'tool') return []
  const opening = { index: call.index, id: call.id, type: 'function', function: { name: piece.tool, arguments: '' } }
  const pieces = chunksOf(inputOf(piece.input, call.results), piece.chunk ?? 64)
  return [opening, ...pieces.map((part) => ({ index: call.index, function: { arguments: part } }))].map((each) => ({
    tool_calls: [each],
  }))
}

/** Streams a script's pieces as one chat completion. Ends early, without an error, if the client disconnects. */
export const speak = async (pieces: Pieces, response: ServerResponse, options: SpeakOptions): Promise<void> => {
  const first = pieces[0]
  if (first?.type === 'error') {
    response.writeHead(first.status, { 'content-type': 'application/json', ...first.headers })
    response.end(JSON.stringify({ error: { message: first.message, type: 'scripted', code: first.status } }))
    return
  }
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })

  const write = (choices: readonly unknown[], rest: object = {}): void => {
    const chunk = {
      id: 'chatcmpl-scripted',
      object: 'chat.completion.chunk',
      created: 0,
      model: 'm1',
      choices,
      ...rest,
    }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const drained = async (): Promise<void> => {
    if (options.chunkDelayMs > 0) await sleep(options.chunkDelayMs, undefined, { signal: gone.signal }).catch(() => {})
    if (!response.writableNeedDrain || gone.signal.aborted) return
    // Rejects when the client disconnects, which the caller sees on the signal.
    await once(response, 'drain', { signal: gone.signal }).catch(() => {})
  }

  write([{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }])
  let index = -1
  for (const piece of pieces) {
    if (gone.signal.aborted) return
    if (piece.type === 'hold') await options.hold(piece.name, gone.signal)
    if (piece.type === 'cut') {
      // Written data must be sent before the socket breaks, else the client sees no text at all.
      await sleep(150)
      response.destroy()
      return
    }
    if (piece.type === 'tool') index++
    const call = { index, id: piece.type === 'tool' ? options.nextCallID() : '', results: options.results }
    for (const delta of deltasOf(piece, call, options.chunk)) {
      if (gone.signal.aborted) return
      write([{ index: 0, delta, finish_reason: null }])
      await drained()
    }
  }
  if (gone.signal.aborted) return
  const reason = pieces.findLast((piece) => piece.type === 'finish')?.reason ?? (index >= 0 ? 'tool_calls' : 'stop')
  const tokens = pieces.findLast((piece) => piece.type === 'usage')
  const { input, output, cached = 0 } = tokens ?? { input: 120, output: 24 }
  write([{ index: 0, delta: {}, finish_reason: reason }])
  write([], {
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    },
  })
  response.end('data: [DONE]\n\n')
}
