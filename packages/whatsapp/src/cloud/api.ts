import { secretFault } from '@reply/sink/channel'
import { jsonOf } from '@reply/sink/internal'
import { CloudError, WhatsAppError } from '../error.ts'
import { toMediaId, toPosted, toRefusal } from './inbound.ts'

/** A body of `POST /{phone number id}/messages`, under the Cloud API's names. */
export type CloudMessage = Readonly<Record<string, unknown>>

/** A file to upload. */
export interface CloudMedia {
  /** The file's name. */
  readonly name: string
  /** Its media type, for example `text/plain`. */
  readonly mediaType: string
  /** Its content. */
  readonly bytes: Uint8Array
}

/** The result of a call. */
export interface CloudPosted {
  /** The `wamid`, if a message was posted. */
  readonly id: string | undefined
  /**
   * When Meta answered, by its clock, in ms since the epoch: the `Date` header, in whole seconds. Absent without that
   * header. The sink then uses its own clock.
   */
  readonly at?: number | undefined
}

/**
 * A Cloud API client for one phone number, as `createCloudClient` makes it. Sinks on one client share its rate limits.
 */
export interface CloudClient {
  /** The Cloud API's id of the number to write from. */
  readonly phoneNumberId: string
  /** Posts a message, marks one as read, or shows typing. Rejects with a `CloudError`, or as `fetch` does. */
  messages(message: CloudMessage, signal: AbortSignal): Promise<CloudPosted>
  /** Uploads a file. Resolves with the media id for a document or picture message. */
  media(media: CloudMedia, signal: AbortSignal): Promise<string>
  /**
   * Resolves when Meta answers. The sink calls it before it repeats a post that had no response. Without it, the post is
   * repeated after a second, also during an outage.
   */
  ping?(signal: AbortSignal): Promise<void>
}

/** Options of `createCloudClient`. */
export interface CloudClientOptions {
  /** A system user's token, with the permission `whatsapp_business_messaging`. */
  readonly token: string
  /** Meta's id of the number, not the number. */
  readonly phoneNumberId: string
  /** Includes the API version. Default `https://graph.facebook.com/v23.0`. */
  readonly apiUrl?: string | undefined
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined
}

/** The address of the Cloud API, with its version. */
export const defaultApiUrl = 'https://graph.facebook.com/v23.0'

/**
 * Creates a Cloud API client that uses plain `fetch`: one request per call, without retries. Throws `WhatsAppError` of type
 * `invalid` for unusable options.
 */
export function createCloudClient(options: CloudClientOptions): CloudClient {
  const { token, phoneNumberId, apiUrl = defaultApiUrl, fetch: send = fetch } = options
  const fault = secretFault(token, { form: { pattern: /^[\x21-\x7e]+$/, description: 'one word of printable ASCII' } })
  if (fault !== undefined)
    throw new WhatsAppError('invalid', `The token can't be used. ${fault} Use a system user's token.`)
  if (!/^[\w-]+$/.test(phoneNumberId))
    throw new WhatsAppError(
      'invalid',
      `"${phoneNumberId}" is not a phone number id: use the id of digits that Meta assigned, not the phone number.`,
    )
  if (!URL.canParse(apiUrl)) throw new WhatsAppError('invalid', `"${apiUrl}" is not a URL for the Cloud API.`)
  const base = `${apiUrl.replace(/\/+$/, '')}/${phoneNumberId}`
  const authorization = `Bearer ${token}`
  return { phoneNumberId, messages, media, ping }

  /**
   * Posts a message, or marks one as read. Rejects with a `CloudError` for a refusal, and for a response without a result.
   */
  async function messages(message: CloudMessage, signal: AbortSignal): Promise<CloudPosted> {
    const body = JSON.stringify({ messaging_product: 'whatsapp', ...message })
    const { answer, at } = await call('/messages', { body, headers: { 'content-type': 'application/json' }, signal })
    const posted = toPosted(answer)
    if (posted) return { ...posted, at }
    throw new CloudError('The response contains no message id.', { status: 200 })
  }

  /**
   * Uploads a file, and resolves with its id. Rejects with a `CloudError` for a refusal, and for a response without an id.
   */
  async function media({ name, mediaType, bytes }: CloudMedia, signal: AbortSignal): Promise<string> {
    const body = new FormData()
    body.set('messaging_product', 'whatsapp')
    body.set('type', mediaType)
    body.set('file', new Blob([Buffer.from(bytes)], { type: mediaType }), name)
    const { answer } = await call('/media', { body, signal })
    const id = toMediaId(answer)
    if (id !== undefined) return id
    throw new CloudError('The response contains no media id.', { status: 200 })
  }

  /** Reads the number's id. Resolves when Meta answers, and rejects with a `CloudError` for a refusal. */
  async function ping(signal: AbortSignal): Promise<void> {
    await call('?fields=id', { signal })
  }

  /**
   * Posts the body, or reads if there is none. Resolves with the response, and with Meta's time as `at`, in ms since the
   * epoch. Rejects with a `CloudError` for a failed one.
   */
  async function call(
    path: string,
    { headers, ...request }: Pick<RequestInit, 'body' | 'signal'> & { readonly headers?: CloudHeaders },
  ): Promise<{ readonly answer: unknown; readonly at: number | undefined }> {
    const method = request.body === undefined ? 'GET' : 'POST'
    // A redirect may lead to another host, which must get neither the token nor the message.
    const guarded = { method, headers: { ...headers, authorization }, redirect: 'manual' } as const
    const response = await send(`${base}${path}`, { ...request, ...guarded })
    return { answer: await readResponse(response), at: responseTime(response.headers) }
  }
}

type CloudHeaders = Readonly<Record<string, string>>

/** Parses a response of the Cloud API. Undefined if it isn't JSON. Throws a `CloudError` for a failed one. */
export async function readResponse(response: Response): Promise<unknown> {
  const answer = jsonOf(await response.text())
  if (response.ok) return answer
  const { status } = response
  const { message = `HTTP ${status}`, code, details } = toRefusal(answer) ?? {}
  throw new CloudError(message, { status, code, details })
}

/** Returns the `Date` header, in ms since the epoch. Undefined if it is missing or unreadable. */
function responseTime(headers: Headers): number | undefined {
  const at = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? undefined : at
}
