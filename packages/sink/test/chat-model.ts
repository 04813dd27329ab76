import type { Clock } from '@reply/core'
import { callPlatform, lookUpByProbe } from '../src/port/call.ts'
import type { Limits } from '../src/port/limits.ts'
import { createToPortError, typeOfStatus } from '../src/port/network.ts'
import type { ChannelPort, LookedUp, MessageRef } from '../src/port/port.ts'

/*
 * A chat platform as seen from outside, with the network before it: written for the tests of faults alone, and without
 * the sink's own fake. What it does is what the platforms document:
 *
 * - `plain`: a post has no key, and nothing tells whether it is there, but edits can be made.
 *   https://core.telegram.org/bots/api#sendmessage
 * - `sealed`: the same without edits. https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages
 * - `searched`: posts carry metadata, and the chat's history can be read.
 *   https://docs.slack.dev/reference/methods/conversations.history
 * - `keyed`: a second post with the same key within some minutes gives the first one's message.
 *   https://discord.com/developers/docs/resources/message#create-message (`enforce_nonce`)
 */
export type Kind = 'plain' | 'sealed' | 'searched' | 'keyed'

/** What happens to a request on its way, by RFC 9110, section 9.2.2: only where nothing was sent, nothing was done. */
export type Fault =
  /** It never arrives, and nothing comes back. */
  | 'unanswered'
  /** It is done, and the response comes after the deadline. */
  | 'late'
  /** No connection is made. */
  | 'refused'
  /** The connection breaks before or after it was done. */
  | 'reset-before'
  | 'reset-after'
  /** It is done, and a gateway says 502. */
  | 'accepted-5xx'
  /** A gateway says 503, and it never arrives. */
  | 'unavailable'
  /** 429 with a time to wait. */
  | 'limited'

export interface ModelMessage {
  readonly id: string
  readonly key: string
  /** That of a file is its caption. */
  readonly text: string
  /** The names of its files. */
  readonly files: readonly string[]
  readonly at: number
}

/** The platform, and the port that its channel would have. */
export interface ChatModel {
  readonly port: ChannelPort
  /** What people see now, in its order. */
  screen(): readonly ModelMessage[]
  /** The texts that were sent, whether they arrived or not. */
  sent(): readonly string[]
}

/** How long a key is known, in ms: as on Discord, where it is not documented how many minutes it is. */
const keyMs = 300_000

export function createChatModel(options: {
  readonly kind: Kind
  readonly clock: Clock
  /** Of each request, in their order. Undefined: it is answered. */
  readonly faultAt: (now: number) => Fault | undefined
}): ChatModel {
  const { kind, clock, faultAt } = options
  let messages: readonly ModelMessage[] = []
  let count = 0
  const sent: string[] = []
  const limits: Limits = {
    maxLength: 400,
    edits: kind !== 'sealed',
    editIntervalMs: 1000,
    perChat: { calls: 60, perMs: 60_000 },
    idempotent: kind === 'keyed',
    files: { maxBytes: 1000, perPost: 4, postBytes: 4000 },
    ...(kind === 'keyed' && { keyMs }),
  }
  const port: ChannelPort = {
    limits,
    post: (bubble, { key, signal }) => {
      sent.push(bubble.text)
      return call('post', signal, () => post(key, bubble.text))
    },
    ...(kind !== 'sealed' && {
      edit: (ref, bubble, { signal }) => {
        sent.push(bubble.text)
        return call('edit', signal, () => edit(ref, bubble.text))
      },
      remove: (ref, { signal }) => call('remove', signal, () => remove(ref)),
    }),
    ...((kind === 'plain' || kind === 'sealed') && {
      lookUp: ({ signal }) => lookUpByProbe(call('probe', signal, () => undefined)),
    }),
    // Files carry no metadata.
    ...(kind === 'searched' && {
      lookUp: ({ key, kind: posted, signal }) =>
        call('history', signal, () => (posted === 'file' ? { type: 'unknown' } : find(key))),
    }),
    upload: (file, { key, signal }) => call('upload', signal, () => post(key, file.caption, [file.name])),
    ...(kind !== 'sealed' && {
      uploadAlbum: (files, { key, signal }) =>
        call('album', signal, () =>
          post(
            key,
            files.map(({ caption }) => caption).join(' '),
            files.map(({ name }) => name),
          ),
        ),
    }),
  }
  return { port, screen: () => messages, sent: () => sent }

  function call<T>(what: string, signal: AbortSignal, act: () => T): Promise<T> {
    return callPlatform(() => request(act), { what, signal, clock, toPortError, timeoutMs: 30_000 })
  }

  async function request<T>(act: () => T): Promise<T> {
    const fault = faultAt(clock.now())
    switch (fault) {
      case undefined:
        return act()
      case 'unanswered':
        return await never()
      case 'late':
        act()
        return await never()
      case 'refused':
        throw networkError('ECONNREFUSED')
      case 'reset-before':
        throw networkError('ECONNRESET')
      case 'reset-after':
        act()
        throw networkError('ECONNRESET')
      case 'accepted-5xx':
        act()
        throw new StatusError(502)
      case 'unavailable':
        throw new StatusError(503)
      case 'limited':
        throw new StatusError(429)
      default:
        return fault satisfies never
    }
  }

  function post(key: string, text: string, files: readonly string[] = []): MessageRef {
    const known = messages.find((one) => one.key === key && clock.now() - one.at <= keyMs)
    if (kind === 'keyed' && known) return refOf(known)
    if (text.length > limits.maxLength) throw new StatusError(413)
    count += 1
    const message = { id: String(count), key, text, files, at: clock.now() }
    messages = [...messages, message]
    return refOf(message)
  }

  function edit({ id }: MessageRef, text: string): void {
    if (text.length > limits.maxLength) throw new StatusError(413)
    messages = messages.map((one) => (one.id === id ? { ...one, text } : one))
  }

  function remove({ id }: MessageRef): void {
    messages = messages.filter((one) => one.id !== id)
  }

  function find(key: string): LookedUp {
    const found = messages.findLast((one) => one.key === key)
    return found ? { type: 'there', ref: refOf(found) } : { type: 'absent' }
  }
}

function refOf({ id, at }: ModelMessage): MessageRef {
  return { id, postedAt: at }
}

class StatusError extends Error {
  readonly status: number

  constructor(status: number) {
    super(`HTTP ${status}`)
    this.status = status
  }
}

const toPortError = createToPortError('The chat', (error) =>
  error instanceof StatusError
    ? { type: typeOfStatus(error.status), reason: error.message, ...(error.status === 429 && { retryAfterMs: 3000 }) }
    : undefined,
)

function networkError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

function never<T>(): Promise<T> {
  return new Promise(() => {})
}
