/** An OpenCode server in this process: one event stream to write to, and no session at work when asked over REST. */
export interface Server {
  readonly fetch: typeof fetch
  /** The next chunks of the event stream. Each is handed over when the one before has been taken, as from a socket. */
  send(chunks: Iterable<Uint8Array>): void
}

export function createServer(): Server {
  const waiting: Iterable<Uint8Array>[] = [
    [new TextEncoder().encode('data: {"type":"server.connected","properties":{}}\n\n')],
  ]
  let wake = (): void => {}
  return { fetch: answer, send }

  function send(chunks: Iterable<Uint8Array>): void {
    waiting.push(chunks)
    wake()
  }

  async function answer(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname !== '/global/event') return Response.json(restAnswers[pathname] ?? [])
    const body = ReadableStream.from(stream(init?.signal ?? undefined))
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }

  async function* stream(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    signal?.addEventListener('abort', () => wake())
    while (!signal?.aborted) {
      yield* waiting.shift() ?? []
      if (waiting.length > 0) continue
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}

/** All else is an empty list. */
const restAnswers: Readonly<Record<string, unknown>> = {
  '/global/health': { healthy: true, version: '1.18.33' },
  '/session/status': {},
  '/config/providers': { providers: [], default: {} },
}
