import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, systemClock } from '@reply/core'
import { type BodySource, createBodyReader, nodeBody, webBody } from './body-reader.ts'

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
  /**
   * The most bytes of a body. Larger requests get 413: by their `content-length` before the body is read, else while it
   * is. Default 1 MiB.
   */
  readonly maxBytes?: number | undefined
  /**
   * The most bytes of all bodies that are being read at the same time: a signature can only be checked once its body is
   * there. Beyond it the largest get 503, so that a flood does not keep out a platform's small requests. Default: four
   * times `maxBytes`.
   */
  readonly maxUnverifiedBytes?: number | undefined
  /** How long a body may take, in ms. Slower requests get 408. Default 10,000. */
  readonly bodyMs?: number | undefined
  /** Times `bodyMs`. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Takes a platform's requests, from any HTTP framework. */
export interface Webhook {
  /** Refuses a request by its head, for hosts that read bodies themselves. Undefined: read its body, and call `take`. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** Answers one request; a refused or too large one, too. */
  take(request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a `node:http` request listener. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. Rejects if the body breaks off. */
  fetch(request: Request): Promise<Response>
}

/** What a webhook's `maxBytes` is by default. */
const defaultBytes = 1_048_576

/** Makes a webhook that refuses requests by their head before it reads their body. */
export function createWebhook(options: WebhookOptions): Webhook {
  const { take: accept, maxBytes = defaultBytes, clock = systemClock } = options
  const { maxUnverifiedBytes = 4 * maxBytes, bodyMs = 10_000 } = options
  const read = createBodyReader({ maxBytes, maxUnverifiedBytes, bodyMs, clock })
  return { refuse, take, listener, fetch }

  function refuse(head: WebhookHead): WebhookAnswer | undefined {
    const refused = options.refuse(head)
    if (refused) return refused
    return Number(head.headers['content-length'] ?? 0) > maxBytes ? { status: 413 } : undefined
  }

  async function take(request: WebhookRequest): Promise<WebhookAnswer> {
    const refused = refuse(request)
    if (refused) return refused
    if (request.body.length > maxBytes) return { status: 413 }
    return await accept(request)
  }

  function listener(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url, headers } = request
    answer({ method, url, headers }, nodeBody(request)).then(
      ({ status, body }) => {
        // Closes the connection rather than reading the rest of the body.
        const close = status < 300 ? {} : { connection: 'close' }
        response.writeHead(status, { ...close, ...(body && { 'content-type': body.type }) }).end(body?.text)
      },
      // The client disconnected, so no answer is possible.
      () => response.destroy(),
    )
  }

  async function fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const head = { method: request.method, url: pathname + search, headers: Object.fromEntries(request.headers) }
    const { status, body } = await answer(head, request.body ? webBody(request.body) : undefined)
    return new Response(body?.text ?? null, { status, headers: body ? { 'content-type': body.type } : {} })
  }

  /** Without a source, the body is empty. */
  async function answer(head: WebhookHead, source: BodySource | undefined): Promise<WebhookAnswer> {
    const refused = refuse(head)
    if (refused) return refused
    const body = source ? await read(source) : new Uint8Array()
    return typeof body === 'number' ? { status: body } : await take({ ...head, body })
  }
}

/** How a channel takes its platform's requests. Each throws the channel's `invalid` if no secret was given. */
export interface WebhookRoutes {
  /** A `node:http` request listener: `createServer(channel.listener)`. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** For frameworks with web requests, for example Hono, Next, Bun and Deno. Rejects if the body breaks off. */
  fetch(request: Request): Promise<Response>
  /**
   * For any other framework: answers one request whose raw body you read. 200: handled, or a repeat; 400: unreadable; 401:
   * not from the platform; 405: wrong method; 413: too large; 503: not handled, so the platform should send it again.
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /** Refuses a request by its head, before you read its body for `webhook`. `listener` and `fetch` call it themselves. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
}

/** The routes of a channel's webhook. Without a webhook, each throws what `missing` returns. */
export function webhookRoutes(webhook: Webhook | undefined, missing: () => Error): WebhookRoutes {
  return {
    refuse: (head) => secured().refuse(head),
    webhook: async (request) => await secured().take(request),
    listener: (request, response) => secured().listener(request, response),
    fetch: async (request) => await secured().fetch(request),
  }

  function secured(): Webhook {
    if (webhook) return webhook
    throw missing()
  }
}

/** The JSON in a text, or in a body of UTF-8. Undefined if there is none. */
export function jsonOf(given: Uint8Array | string): unknown {
  const text = typeof given === 'string' ? given : utf8Of(given)
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A body's text. Undefined if the bytes aren't UTF-8. */
export function utf8Of(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}
