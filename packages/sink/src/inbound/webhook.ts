import type { IncomingMessage, ServerResponse } from 'node:http'

/** What is known of a request before its body is read. */
export interface WebhookHead {
  /** `GET`, `POST`, … in capitals. */
  readonly method: string
  /** Includes the query. */
  readonly url?: string | undefined
  /** Keyed by lower-case name, as Node gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** A request in the form that any framework can provide. */
export interface WebhookRequest extends WebhookHead {
  /** The raw bytes: signatures cover bytes. */
  readonly body: Uint8Array
}

/** The response to a webhook's request. */
export interface WebhookAnswer {
  /** The HTTP status. */
  readonly status: number
  /** With its content type. Undefined: no body. */
  readonly body?: { readonly type: string; readonly text: string } | undefined
}

/** The checks of a webhook, and what handles its requests. */
export interface WebhookOptions {
  /** Refuses a request by its head alone, so that bodies of unauthenticated requests are never read. */
  readonly refuse: (head: WebhookHead) => WebhookAnswer | undefined
  /** Handles a request that was not refused. */
  readonly take: (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer>
  /** The most bytes of a body. Larger requests get 413. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** Takes a platform's requests, from any HTTP framework. */
export interface Webhook {
  /** Answers one request; a refused or too large one, too. */
  take(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. Rejects if the body breaks off. */
  fetch(request: Request): Promise<Response>
}

/** Makes a webhook that refuses requests by their head before it reads their body. */
export function createWebhook({ refuse, take: accept, maxBytes = 1_048_576 }: WebhookOptions): Webhook {
  return { take, listener, fetch }

  async function take(request: WebhookRequest): Promise<WebhookAnswer> {
    const refused = refuse(request)
    if (refused) return refused
    if (request.body.length > maxBytes) return { status: 413 }
    return await accept(request)
  }

  function listener(request: IncomingMessage, response: ServerResponse): void {
    answer(request).then(
      ({ status, body }) => {
        // Closes the connection rather than reading the rest of the body.
        const close = status < 300 ? {} : { connection: 'close' }
        response.writeHead(status, { ...close, ...(body && { 'content-type': body.type }) }).end(body?.text)
      },
      // The client disconnected, so no answer is possible.
      () => response.destroy(),
    )
  }

  async function answer(request: IncomingMessage): Promise<WebhookAnswer> {
    const { method = '', url, headers } = request
    const refused = refuse({ method, url, headers })
    if (refused) return refused
    const body = await read(request.iterator({ destroyOnReturn: false }))
    return body ? await take({ method, url, headers, body }) : { status: 413 }
  }

  async function fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const head = { method: request.method, url: pathname + search, headers: Object.fromEntries(request.headers) }
    const refused = refuse(head)
    if (refused) return responseOf(refused)
    const body = request.body ? await read(request.body) : new Uint8Array()
    return responseOf(body ? await take({ ...head, body }) : { status: 413 })
  }

  /** Undefined for a body that is too large. */
  async function read(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
    const all: Uint8Array[] = []
    let length = 0
    for await (const chunk of chunks) {
      all.push(chunk)
      length += chunk.length
      if (length > maxBytes) return undefined
    }
    return Buffer.concat(all)
  }
}

function responseOf({ status, body }: WebhookAnswer): Response {
  return new Response(body?.text ?? null, { status, headers: body ? { 'content-type': body.type } : {} })
}

/** A channel's ways to its webhook. */
export interface WebhookRoutes extends Pick<Webhook, 'listener' | 'fetch'> {
  /** Answers one request, from any framework. */
  readonly webhook: Webhook['take']
}

/** Without a webhook, each way throws what `missing` returns. */
export function webhookRoutes(webhook: Webhook | undefined, missing: () => Error): WebhookRoutes {
  return {
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
    fetch: async (request) => await secured().fetch(request),
  }

  function secured(): Webhook {
    if (webhook) return webhook
    throw missing()
  }
}
