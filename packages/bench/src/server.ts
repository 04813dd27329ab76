/** An OpenCode server in this process: one event stream to write to, and no session at work when asked over REST. */
export interface Server {
  readonly fetch: typeof fetch
  /** The next bytes of the event stream. */
  send(chunk: Uint8Array): void
}

export function createServer(): Server {
  const utf8 = new TextEncoder()
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined
  return { fetch: answer, send: (chunk) => stream?.enqueue(chunk) }

  async function answer(input: Parameters<typeof fetch>[0]): Promise<Response> {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    if (pathname !== '/global/event') return Response.json(restAnswers[pathname] ?? [])
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        stream = controller
        controller.enqueue(utf8.encode('data: {"type":"server.connected","properties":{}}\n\n'))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
}

/** All else is an empty list. */
const restAnswers: Readonly<Record<string, unknown>> = {
  '/global/health': { healthy: true, version: '1.18.33' },
  '/session/status': {},
  '/config/providers': { providers: [], default: {} },
}
