import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import { type PostReport, type PostReports, secretFault } from '@reply/sink/channel'
import { createRecent, pause } from '@reply/sink/internal'
import { CloudError, toCloudPortError, WhatsAppError, windowCode } from '../error.ts'
import { toMediaId, toPosted, toRefusal } from './inbound.ts'

/** A body of `POST /{phone number id}/messages`, under the Cloud API's names. */
export type CloudMessage = Readonly<Record<string, unknown>>

/** A file to upload. */
export interface CloudMedia {
  /** The file's name. */
  readonly name: string
  /** Its MIME type: `text/plain`. */
  readonly mediaType: string
  /** Its content, UTF-8 once sent. */
  readonly text: string
}

/** The result of a call. */
export interface CloudPosted {
  /** The `wamid`, if a message was posted. */
  readonly id: string | undefined
  /**
   * When Meta answered, by its clock, in ms since the epoch: the `Date` header, in whole seconds. The body has no time.
   * Absent without that header: the sink then uses its own clock.
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
  /** Uploads a file. Resolves with the media id for a document message. */
  media(media: CloudMedia, signal: AbortSignal): Promise<string>
  /**
   * Resolves when Meta answers; the sink calls it before it repeats a post without a result. Absent: it is repeated after
   * a second, also during an outage.
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

/** A status of a message, from a webhook. */
export interface CloudStatus {
  readonly ref: MessageRef
  /** What the message was posted with as `biz_opaque_callback_data`. Absent for messages without it. */
  readonly key: string | undefined
  /** Ids of the person that it was written to. */
  readonly people: readonly string[]
  /** Why it was not delivered. Absent if it was sent, delivered or read. */
  readonly failure: { readonly code: number; readonly text: string } | undefined
}

/**
 * What the webhooks of a number say of its messages, and whose chats are closed: WhatsApp takes messages for a person only
 * within 24 h of their last one.
 */
interface CloudReports {
  /** A channel receives the number's webhooks from now on. */
  listen(): void
  /** Whether a channel does. Without one, no one would say when a chat is open again. */
  isListening(): boolean
  status(status: CloudStatus): void
  /** The person wrote at that time, in ms since the epoch: less than 24 h ago. */
  heard(person: string, at: number): void
  /** The Cloud API refused a message to that person because of the 24 h, at that time. */
  close(person: string, at: number): void
  /** Those of one person's chat, for a port. */
  of(person: string): PostReports
  /** The message posted with that key, as soon as a status names it. `silent`: none did in time, although others came. */
  find(key: string, clock: Clock, signal: AbortSignal): Promise<MessageRef | 'silent' | 'unknown'>
}

/** Whether WhatsApp takes messages for a person, and when they last wrote, in ms since the epoch; 0 if that is unknown. */
interface Window {
  readonly isClosed: boolean
  readonly since: number
}

/** How many posts to know the reports of; the oldest are dropped. */
const mostPosts = 1000

/** How many people to know as out of reach. A forgotten one is noticed by the next message that fails. */
const mostPeople = 10_000

/**
 * How long to wait for a message's first status, in ms. Meta documents no time; a status usually comes within a second or
 * two.
 */
const statusMs = 10_000

const known = new WeakMap<CloudClient, CloudReports>()

/** Shared by everything that uses the client. */
export function reportsOf(client: CloudClient): CloudReports {
  const reports = known.get(client) ?? createReports()
  known.set(client, reports)
  return reports
}

function createReports(): CloudReports {
  /** By key, then by the message's id: tries of one post may make several messages. */
  const posts = createRecent<ReadonlyMap<string, PostReport>>(mostPosts)
  const people = createRecent<Window>(mostPeople)
  const listeners = new Set<() => void>()
  let isListening = false
  let hasHeard = false
  return {
    listen: () => {
      isListening = true
    },
    isListening: () => isListening,
    status,
    heard: (person, at) => set(person, { isClosed: false, since: at }),
    close,
    of,
    find,
  }

  function status({ ref, key, people: named, failure }: CloudStatus): void {
    hasHeard = true
    if (failure?.code === windowCode) for (const person of named) close(person, ref.postedAt ?? 0)
    if (key !== undefined) {
      const before = posts.get(key) ?? new Map<string, PostReport>()
      const said = before.get(ref.id)
      // A failure is the last word, and statuses may come in any order.
      if (said === undefined || said.type === 'there')
        posts.set(key, new Map([...before, [ref.id, reportOf(ref, failure)]]))
    }
    changed()
  }

  /** The report of an earlier message may come after the person has written. */
  function close(person: string, at: number): void {
    const since = people.get(idOf(person))?.since ?? 0
    if (at === 0 || at > since) set(person, { isClosed: true, since })
  }

  function set(person: string, window: Window): void {
    const before = people.get(idOf(person))
    if (before && window.since < before.since) return
    people.set(idOf(person), window)
    if ((before?.isClosed ?? false) !== window.isClosed) changed()
  }

  function changed(): void {
    for (const listener of [...listeners]) listener()
  }

  function of(person: string): PostReports {
    return {
      of: (key) => [...(posts.get(key)?.values() ?? [])],
      isClosed: () => people.get(idOf(person))?.isClosed === true,
      withinMs: () => (isListening ? statusMs : 0),
      observe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
  }

  async function find(key: string, clock: Clock, signal: AbortSignal): Promise<MessageRef | 'silent' | 'unknown'> {
    if (!isListening) return 'unknown'
    const over = new AbortController()
    const end = (): void => over.abort()
    const look = (): void => {
      if (posts.has(key)) end()
    }
    listeners.add(look)
    signal.addEventListener('abort', end)
    look()
    try {
      await pause(clock, statusMs, over.signal)
    } finally {
      listeners.delete(look)
      signal.removeEventListener('abort', end)
    }
    const [first] = posts.get(key)?.values() ?? []
    return first?.ref ?? (hasHeard && !signal.aborted ? 'silent' : 'unknown')
  }
}

function reportOf(ref: MessageRef, failure: CloudStatus['failure']): PostReport {
  if (failure === undefined) return { type: 'there', ref }
  if (failure.code === windowCode) return { type: 'chat-closed', ref }
  const { code, text } = failure
  const error = toCloudPortError(new CloudError(text, { status: 400, code }), `message ${ref.id}`)
  return { type: 'failed', ref, error }
}

/** Webhooks name a number without the sign that a call may have. */
function idOf(person: string): string {
  return person.replace(/^\+/, '')
}
