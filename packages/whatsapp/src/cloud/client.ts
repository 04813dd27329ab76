import { secretFault } from '@reply/sink/channel'
import { WhatsAppError } from '../error.ts'
import { type CloudClient, CloudError, type CloudMedia, type CloudMessage, type CloudPosted } from './api.ts'
import { toMediaId, toPosted, toRefusal } from './decode.ts'

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

/**
 * A Cloud API client that uses plain `fetch`: one request per call, without retries. Throws `invalid` for unusable
 * options.
 */
export function createCloudClient(options: CloudClientOptions): CloudClient {
  const { token, phoneNumberId, apiUrl = 'https://graph.facebook.com/v23.0', fetch: send = fetch } = options
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

  async function messages(message: CloudMessage, signal: AbortSignal): Promise<CloudPosted> {
    const body = JSON.stringify({ messaging_product: 'whatsapp', ...message })
    const { answer, at } = await call('/messages', { body, headers: { 'content-type': 'application/json' }, signal })
    const posted = toPosted(answer)
    if (posted) return { ...posted, at }
    throw new CloudError('The response contains no message id.', { status: 200 })
  }

  async function media({ name, mediaType, text }: CloudMedia, signal: AbortSignal): Promise<string> {
    const body = new FormData()
    body.set('messaging_product', 'whatsapp')
    body.set('type', mediaType)
    body.set('file', new Blob([text], { type: mediaType }), name)
    const { answer } = await call('/media', { body, signal })
    const id = toMediaId(answer)
    if (id !== undefined) return id
    throw new CloudError('The response contains no media id.', { status: 200 })
  }

  async function ping(signal: AbortSignal): Promise<void> {
    await call('?fields=id', { signal })
  }

  async function call(
    path: string,
    { headers, ...request }: Pick<RequestInit, 'body' | 'signal'> & { readonly headers?: CloudHeaders },
  ): Promise<{ readonly answer: unknown; readonly at: number | undefined }> {
    const method = request.body === undefined ? 'GET' : 'POST'
    // A redirect may lead to another host, which must get neither the token nor the message.
    const guarded = { method, headers: { ...headers, authorization }, redirect: 'manual' } as const
    const response = await send(`${base}${path}`, { ...request, ...guarded })
    const text = await response.text()
    const answer = parsed(text)
    if (response.ok) return { answer, at: timeIn(response.headers) }
    const { status } = response
    const refusal = toRefusal(answer)
    if (refusal) throw new CloudError(refusal.message, { status, code: refusal.code, details: refusal.details })
    throw new CloudError(`HTTP ${status}`, { status })
  }
}

type CloudHeaders = Readonly<Record<string, string>>

function timeIn(headers: Headers): number | undefined {
  const at = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(at) ? undefined : at
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
