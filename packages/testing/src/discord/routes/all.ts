import type { DiscordBucket } from '../limits.ts'
import type { Payload } from '../payload.ts'
import type { DiscordState } from '../state.ts'
import { botOf } from '../wire.ts'
import { callback, followUp } from './interaction.ts'
import { edit, post, react, remove, thread, typing } from './message.ts'
import { readChannel, readMessages } from './read.ts'

/** The kind of a call. */
export type DiscordCallName = DiscordBucket | 'callback' | 'me' | 'channel' | 'messages'

/** A parsed call. */
export interface Call {
  readonly state: DiscordState
  readonly payload: Payload
  readonly query: URLSearchParams
  readonly method: string
  readonly channelId: string
  readonly messageId: string
  /** An emoji, or an interaction's token. */
  readonly rest: string
}

interface Route {
  readonly name: DiscordCallName
  readonly method: string
  /** Groups: `channel`, `message`, `rest`. */
  readonly path: RegExp
  readonly bucket?: DiscordBucket
  /** The token is part of the path. */
  readonly isOpen?: true
  /** Throws a `Refusal`. Undefined: 204. */
  run(call: Call): unknown
}

const channel = '/channels/(?<channel>\\d{17,19})'
const message = `${channel}/messages/(?<message>\\d{17,19})`
const at = (path: string): RegExp => new RegExp(`^${path}$`)

const routes: readonly Route[] = [
  { name: 'post', method: 'POST', path: at(`${channel}/messages`), bucket: 'post', run: post },
  { name: 'channel', method: 'GET', path: at(channel), run: readChannel },
  { name: 'messages', method: 'GET', path: at(`${channel}/messages`), run: readMessages },
  { name: 'edit', method: 'PATCH', path: at(message), bucket: 'edit', run: edit },
  { name: 'remove', method: 'DELETE', path: at(message), bucket: 'remove', run: remove },
  { name: 'typing', method: 'POST', path: at(`${channel}/typing`), bucket: 'typing', run: typing },
  { name: 'thread', method: 'POST', path: at(`${message}/threads`), bucket: 'thread', run: thread },
  ...['PUT', 'DELETE'].map((method) => ({
    ...({ name: 'react', method, bucket: 'react', run: react } as const),
    path: at(`${message}/reactions/(?<rest>[^/]+)/@me`),
  })),
  {
    ...{ name: 'callback', method: 'POST', isOpen: true, run: callback },
    path: at('/interactions/\\d{17,19}/(?<rest>[^/]+)/callback'),
  },
  {
    ...{ name: 'followUp', method: 'POST', isOpen: true, bucket: 'followUp', run: followUp },
    path: at('/webhooks/\\d{17,19}/(?<rest>[^/]+)'),
  },
  { name: 'me', method: 'GET', path: at('/users/@me'), run: ({ state }) => botOf(state.me) },
]

export interface Found {
  readonly route: Route
  readonly channelId: string
  readonly messageId: string
  readonly rest: string
}

/** Undefined if no route matches. */
export function routeOf(method: string, path: string): Found | undefined {
  for (const route of routes) {
    const found = route.method === method ? route.path.exec(path) : null
    if (!found) continue
    const { channel: channelId = '', message: messageId = '', rest = '' } = found.groups ?? {}
    return { route, channelId, messageId, rest }
  }
  return undefined
}
