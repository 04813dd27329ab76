import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Clock, systemClock } from '@reply/core'
import { type BodySource, createBodyReader, nodeBody, webBody } from './body-reader.ts'

/** A request without its body. */
export interface WebhookHead {
  /** In capitals, for example `POST`. */
  readonly method: string
  /** The path and the query, or the whole URL. */
  readonly url?: string | undefined
  /** The values by lower-case name, as in `node:http`. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** A request with its body, independent of any framework. */
export interface WebhookRequest extends WebhookHead {
  /** The raw bytes, because signatures cover bytes. */
  readonly body: Uint8Array
}

/** The response to a webhook request. */
export interface WebhookAnswer {
  /** The HTTP status. */
  readonly status: number
  /** The body and its content type. Default: no body. */
  readonly body?: { readonly type: string; readonly text: string } | undefined
}

/** Options of `createWebhook`. */
export interface WebhookOptions {
  /** Returns the response for a request to refuse before its body is read, or undefined to accept it. */
  readonly refuse: (head: WebhookHead) => WebhookAnswer | undefined
  /** Handles an accepted request. */
  readonly take: (request: WebhookRequest) => WebhookAnswer | Promise<WebhookAnswer>
  /**
   * Maximum size of a body, in bytes. A larger request gets 413, before its body is read if its `content-length` is too
   * large. Default 1,048,576.
   */
  readonly maxBytes?: number | undefined
  /**
   * Maximum size of all bodies that are being read at the same time, in bytes. A signature can only be checked once the
   * body has been read. Above this limit the largest requests get 503, so that a flood doesn't block the platform's small
   * requests. Default: four times `maxBytes`.
   */
  readonly maxUnverifiedBytes?: number | undefined
  /** How long reading a body may take, in ms. A slower request gets 408. Default 10,000. */
  readonly bodyMs?: number | undefined
  /** Times `bodyMs`. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Handles a platform's webhook requests, from any HTTP framework. */
export interface Webhook {
  /** Returns the response for a request to refuse before its body is read. Undefined: read the body and call `take`. */
  refuse(head: WebhookHead): WebhookAnswer | undefined
  /** Resolves with the response to a request, also for one to refuse or one that is too large. */
  take(request: WebhookRequest): Promise<WebhookAnswer>
  /** A `node:http` request listener. Closes the connection without a response if the client disconnects or `take` fails. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /**
   * For frameworks with web requests, for example Hono, Next, Bun and Deno. Rejects if the client disconnects or `take`
   * fails.
   */
  fetch(request: Request): Promise<Response>
}

/** The default of `WebhookOptions.maxBytes`. */
const defaultBytes = 1_048_576

/** Creates a webhook that reads no bodies of requests that `refuse` refuses. */
export function createWebhook(options: WebhookOptions): Webhook {
  const { take: accept, maxBytes = defaultBytes, clock = systemClock } = options
  const { maxUnverifiedBytes = 4 * maxBytes, bodyMs = 10_000 } = options
  const read = createBodyReader({ maxBytes, maxUnverifiedBytes, bodyMs, clock })
  return { refuse, take, listener, fetch }

  /** Returns the response for a request to refuse: that of the option, or 413 if its `content-length` is too large. */
  function refuse(head: WebhookHead): WebhookAnswer | undefined {
    const refused = options.refuse(head)
    if (refused) return refused
    return Number(head.headers['content-length'] ?? 0) > maxBytes ? { status: 413 } : undefined
  }

  /** Resolves with the response to a request. Refuses it first if necessary, so any request can be passed. */
  async function take(request: WebhookRequest): Promise<WebhookAnswer> {
    const refused = refuse(request)
    if (refused) return refused
    if (request.body.length > maxBytes) return { status: 413 }
    return await accept(request)
  }

  /**
   * Responds to a `node:http` request. Closes the connection after a refusal, and without a response if there can be none.
   */
  function listener(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url, headers } = request
    respond({ method, url, headers }, nodeBody(request)).then(
      ({ status, body }) => {
        // Closes the connection rather than reading the rest of the body.
        const close = status < 300 ? {} : { connection: 'close' }
        response.writeHead(status, { ...close, ...(body && { 'content-type': body.type }) }).end(body?.text)
      },
      // The client disconnected, so no answer is possible.
      () => response.destroy(),
    )
  }

  /** Resolves with the response to a web request. Rejects if the client disconnects or `take` fails. */
  async function fetch(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url)
    const head = { method: request.method, url: pathname + search, headers: Object.fromEntries(request.headers) }
    const { status, body } = await respond(head, request.body ? webBody(request.body) : undefined)
    return new Response(body?.text ?? null, { status, headers: body ? { 'content-type': body.type } : {} })
  }

  /** Resolves with the response to a request. Without a `source`, the body is empty. */
  async function respond(head: WebhookHead, source: BodySource | undefined): Promise<WebhookAnswer> {
    const refused = refuse(head)
    if (refused) return refused
    const body = source ? await read(source) : new Uint8Array()
    return typeof body === 'number' ? { status: body } : await take({ ...head, body })
  }
}

/** A channel's webhook. Each method throws the channel's `invalid` error if its options contain no secret. */
export interface WebhookRoutes {
  /** A `node:http` request listener: `createServer(channel.listener)`. */
  listener(request: IncomingMessage, response: ServerResponse): void
  /** For frameworks with web requests, for example Hono, Next, Bun and Deno. Rejects if the client disconnects. */
  fetch(request: Request): Promise<Response>
  /**
   * For any other framework: resolves with the response to one request, whose raw body you have read. The status is one of
   * these:
   * - 200: handled, or a repeat
   * - 400: unreadable
   * - 401: not from the platform
   * - 405: wrong method
   * - 413: too large
   * - 503: not handled, so the platform should send it again
   */
  webhook(request: WebhookRequest): Promise<WebhookAnswer>
  /**
   * Returns the response for a request to refuse before you read its body for `webhook`, or undefined. `listener` and
   * `fetch` call it themselves.
   */
  refuse(head: WebhookHead): WebhookAnswer | undefined
}

/** Creates a channel's routes. Without a webhook, each throws the error that `missing` returns. */
export function webhookRoutes(webhook: Webhook | undefined, missing: () => Error): WebhookRoutes {
  return {
    refuse: (head) => requireWebhook().refuse(head),
    webhook: async (request) => await requireWebhook().take(request),
    listener: (request, response) => requireWebhook().listener(request, response),
    fetch: async (request) => await requireWebhook().fetch(request),
  }

  /** Returns the webhook. Throws the error of `missing` if there is none. */
  function requireWebhook(): Webhook {
    if (webhook) return webhook
    throw missing()
  }
}

/** Parses JSON from a string or from UTF-8 bytes. Returns undefined if it isn't valid. */
export function jsonOf(body: Uint8Array | string): unknown {
  const text = typeof body === 'string' ? body : utf8Of(body)
  try {
    return text === undefined ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Decodes UTF-8. Returns undefined if the bytes aren't valid. */
export function utf8Of(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return undefined
  }
}
