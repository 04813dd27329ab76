import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Hear } from './hear.ts'
import { parseUpdate } from './inbound.ts'

/** A request as any framework has it. */
export interface WebhookRequest {
  readonly method: string
  /** By name, in lower case, as Node gives them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** As they came. */
  readonly body: Uint8Array
}

export interface WebhookAnswer {
  readonly status: 200 | 400 | 401 | 405 | 413
}

export interface WebhookOptions {
  readonly secretToken: string
  readonly hear: Hear
  /** Bytes that a body may have. */
  readonly maxBytes: number
}

export interface Webhook {
  take(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same for `node:http`; nothing is read of whoever does not know the secret. */
  listener(request: IncomingMessage, response: ServerResponse): void
}

/** Telegram sends back the secret that the webhook was set with. https://core.telegram.org/bots/api#setwebhook */
const secretHeader = 'x-telegram-bot-api-secret-token'

export function createWebhook({ secretToken, hear, maxBytes }: WebhookOptions): Webhook {
  const secret = digest(secretToken)
  return { take, listener }

  async function take({ method, headers, body }: WebhookRequest): Promise<WebhookAnswer> {
    const refused = refusalOf(method, headers)
    if (refused) return refused
    if (body.length > maxBytes) return { status: 413 }
    const update = parseUpdate(body)
    if (!update) return { status: 400 }
    await hear(update)
    return { status: 200 }
  }

  function refusalOf(method: string, headers: WebhookRequest['headers']): WebhookAnswer | undefined {
    if (method.toUpperCase() !== 'POST') return { status: 405 }
    const given = headers[secretHeader]
    // Of equal length whatever is given, so that the time it takes tells nothing.
    if (typeof given !== 'string' || !timingSafeEqual(digest(given), secret)) return { status: 401 }
    return undefined
  }

  function listener(request: IncomingMessage, response: ServerResponse): void {
    answer(request).then(
      ({ status }) => {
        // What was not read is not waited for.
        response.writeHead(status, status === 200 ? {} : { connection: 'close' }).end()
      },
      // The client broke off; there is nobody to answer.
      () => response.destroy(),
    )
  }

  async function answer(request: IncomingMessage): Promise<WebhookAnswer> {
    const { method = '', headers } = request
    const refused = refusalOf(method, headers)
    if (refused) return refused
    const chunks: Uint8Array[] = []
    let length = 0
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxBytes) return { status: 413 }
    }
    return await take({ method, headers, body: Buffer.concat(chunks) })
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
