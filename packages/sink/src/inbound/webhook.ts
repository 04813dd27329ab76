import type { IncomingMessage, ServerResponse } from 'node:http'

/** What is known of a request before its body. */
export interface WebhookHead {
  readonly method: string
  /** With its query. */
  readonly url?: string | undefined
  /** By name, in lower case, as Node gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** A request as any framework has it. */
export interface WebhookRequest extends WebhookHead {
  /** As it came: signatures are over bytes. */
  readonly body: Uint8Array
}

export interface WebhookAnswer {
  readonly status: number
  /** With its type; left out: none. */
  readonly body?: { readonly type: string; readonly text: string } | undefined
}

export interface WebhookOptions {
  /** Refuses by the head alone, so that nothing is read of whom nobody knows. */
  readonly refuse: (head: WebhookHead) => WebhookAnswer | undefined
  readonly take: (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer>
  /** Bytes that a body may have: one of more is answered 413. */
  readonly maxBytes: number
}

export interface Webhook {
  take(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same for `node:http`. */
  listener(request: IncomingMessage, response: ServerResponse): void
}

export function createWebhook({ refuse, take: accept, maxBytes }: WebhookOptions): Webhook {
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
        // What was not read is not waited for.
        const close = status < 300 ? {} : { connection: 'close' }
        response.writeHead(status, { ...close, ...(body && { 'content-type': body.type }) }).end(body?.text)
      },
      // The client broke off; there is nobody to answer.
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
