/** An OpenCode server in this process: one event stream to write to, and REST responses. */
export interface Server {
  readonly fetch: typeof fetch
  /** Queues chunks of the event stream. Each is delivered when the one before has been read, as from a socket. */
  send(chunks: Iterable<Uint8Array>): void
  /** Ends the event stream. A reconnect gets a new one. */
  cut(): void
}

/** The start of an event stream. */
const connected = 'data: {"type":"server.connected","properties":{}}\n\n'

/** A JSON text, or a function that makes it from the query. */
export type Answer = string | ((query: URLSearchParams) => Response)

/**
 * Returns a server with these responses by path. Any other path answers with an empty list, so that no session is busy.
 * A session that isn't listed is unreadable: 503.
 */
export function createServer(answersByPath: Readonly<Record<string, Answer>> = {}): Server {
  const queued: Iterable<Uint8Array>[] = []
  let wake = (): void => {}
  let cutCount = 0
  return { fetch: respond, send, cut }

  /** Queues chunks, and wakes the stream. */
  function send(chunks: Iterable<Uint8Array>): void {
    queued.push(chunks)
    wake()
  }

  /** Ends the stream after the chunks that it sends. The next one gets what is queued. */
  function cut(): void {
    cutCount += 1
    wake()
  }

  /** Opens the event stream at its path, and answers any other request, whatever its method. */
  async function respond(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
    const known = answersByPath[pathname]
    if (typeof known === 'function') {
      // As from a socket: the response comes in a later turn of the event loop.
      await new Promise((resolve) => setImmediate(resolve))
      return known(searchParams)
    }
    if (pathname !== '/global/event') return jsonResponse(known ?? defaultAnswer(pathname))
    const body = ReadableStream.from(streamChunks(init?.signal ?? undefined))
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  /** Yields the greeting and the queued chunks as they come. Ends when the stream is cut or the signal aborts. */
  async function* streamChunks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    signal?.addEventListener('abort', () => wake())
    const cutsBefore = cutCount
    yield new TextEncoder().encode(connected)
    while (!signal?.aborted && cutsBefore === cutCount) {
      yield* queued.shift() ?? []
      // What happened during the chunks woke nothing.
      if (queued.length > 0 || signal?.aborted || cutsBefore !== cutCount) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}

/** A response with this JSON text. Status 503 without one. */
function jsonResponse(text: string | undefined): Response {
  return new Response(text, {
    status: text === undefined ? 503 : 200,
    headers: { 'content-type': 'application/json' },
  })
}

/** Returns the default response as JSON text, mostly an empty list. Undefined for a single session. */
function defaultAnswer(pathname: string): string | undefined {
  return pathname.startsWith('/session/ses_') ? undefined : JSON.stringify(defaultAnswers[pathname] ?? [])
}

const defaultAnswers: Readonly<Record<string, unknown>> = {
  '/global/health': { healthy: true, version: '1.18.33' },
  '/session/status': {},
  '/config/providers': { providers: [], default: {} },
}
