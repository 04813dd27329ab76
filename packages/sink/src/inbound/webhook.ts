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
}

/** Makes a webhook that refuses requests by their head before it reads their body. */
export function createWebhook({ refuse, take: accept, maxBytes = 1_048_576 }: WebhookOptions): Webhook {
  return { take, listener }

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
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxBytes) return { status: 413 }
    }
    return await take({ method, url, headers, body: Buffer.concat(chunks) })
  }
}

/** A channel's two ways to its webhook. Without one, both throw what `missing` returns. */
export function webhookRoutes(
  webhook: Webhook | undefined,
  missing: () => Error,
): { readonly webhook: Webhook['take']; readonly listener: Webhook['listener'] } {
  return {
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
  }

  function secured(): Webhook {
    if (webhook) return webhook
    throw missing()
  }
}
