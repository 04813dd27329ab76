import type { Clock } from '@reply/core'
import type { Chat, MessageRef } from '@reply/sink'
import { callPlatform, type Form, PortError } from '@reply/sink/channel'
import { createRecent, type Recent } from '@reply/sink/internal'
import { toPortError, wordOf } from './error.ts'

/** Arguments of a call, under their Web API names. */
export type SlackFields = Record<string, unknown>

/** The part of `WebClient` that is used. Its typed methods all call this one. */
export interface SlackApi {
  /** Calls a method of the Web API, such as `chat.postMessage`. Rejects with the client's own errors. */
  apiCall(method: string, options?: SlackFields): Promise<SlackResult>
}

/** What a bridge uses of `WebClient`. */
export interface SlackBridgeApi extends SlackApi {
  /** The bot user's token, with which files are read. */
  readonly token?: string | undefined
  /** Where the Web API is. */
  readonly slackApiUrl?: string | undefined
}

/** The fields that every response has. */
export interface SlackResult {
  /** Whether the call succeeded. */
  readonly ok: boolean
}

/**
 * The part of `SocketModeClient` that is used. Create it with `autoReconnectEnabled: false`: the channel reconnects.
 */
export interface SlackSocket {
  /** Starts to listen to what Slack sends. */
  on(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Starts to listen to the end of the connection. */
  on(event: 'disconnected', listener: () => void): unknown
  /** Stops the listener. */
  off(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Stops the listener. */
  off(event: 'disconnected', listener: () => void): unknown
  /** Connects. Resolves once Slack has greeted, rejects if that fails. */
  start(): Promise<unknown>
  /** Closes the connection. */
  disconnect(): Promise<unknown>
}

/** An envelope received over the socket. */
export interface SlackEnvelope {
  /** Confirms the envelope, with the response that its kind takes. Slack repeats an envelope that isn't confirmed. */
  ack(response?: SlackFields): Promise<void>
  /** The event, interaction or command, as Slack sent it. */
  readonly body: unknown
}

/** Makes one call, without retries, and returns its response. Rejects with a `PortError`. */
export type Call = (method: string, options: SlackFields, about: About) => Promise<Readonly<SlackFields>>

interface About {
  /** Names the call in errors, as in `post`. */
  readonly verb: string
  /** What a rate limit applies to: posts are limited per channel, all other calls per workspace. Default `client`. */
  readonly scope?: 'chat' | 'client'
  /** Ends the call before its deadline. */
  readonly signal?: AbortSignal | undefined
}

interface CallOptions {
  readonly api: SlackApi
  readonly channelId: string
  readonly timeoutMs: number | undefined
  readonly clock: Clock
}

/** The client can't abort a call, so a timeout or an abort only stops waiting for it. */
export function createCall({ api, channelId, timeoutMs, clock }: CallOptions): Call {
  return async (method, options, { verb, scope = 'client', signal }) => {
    const call = { what: `${verb} in ${channelId}`, signal, timeoutMs, clock, toPortError: toPortError[scope] }
    return { ...(await callPlatform(() => api.apiCall(method, options), call)) }
  }
}

/** Slack's error code in a failed call. */
export function saysOf(error: unknown): string | undefined {
  return error instanceof PortError ? wordOf(error.cause) : undefined
}

/**
 * The `Chat` of a channel or thread, as inbounds and sinks use it. Direct messages have ids that begin with D.
 * https://docs.slack.dev/reference/objects/conversation-object
 */
export function chatOf(channel: string, thread: string | undefined): Chat {
  const kind = channel.startsWith('D') ? 'private' : 'shared'
  return { id: channel, kind, ...(thread !== undefined && { thread }) }
}

/** Whether an id is that of a message, and not, for example, that of a slash command. */
export function isTs(id: string): boolean {
  return /^\d+\.\d+$/.test(id)
}

/**
 * A `ts` is the message's Unix time in seconds, with a counter after the point. `postedAt` is absent for other ids,
 * such as file ids.
 */
export function refOf(ts: string): MessageRef {
  return { id: ts, ...(isTs(ts) && { postedAt: Math.floor(Number(ts) * 1000) }) }
}

/** What the workspace behind a client supports. A flag that turned false stays false. */
export interface Features {
  /** Streams: true until Slack refuses one. */
  streams: boolean
  /** Status texts of threads. */
  readonly statuses: Feature
  /** Agent sessions. */
  readonly sessions: Feature
  /** The `ts` of the streams that this process knows: each belongs to a reply. */
  readonly streamed: Recent<true>
  /** The app's own user, once known. */
  me?: string
  /** Forms by token, the newest last: some are too long for their message to carry. */
  readonly forms: Recent<Form>
}

/** An optional feature: a failed call is not an error. */
interface Feature {
  has: boolean
  /** Rate-limited until then, in ms since the epoch. */
  restUntil: number
}

/** How many forms and streams to keep; the oldest are dropped. */
const mostForms = 500
const mostStreams = 1000

const features = new WeakMap<SlackApi, Features>()

export function featuresOf(api: SlackApi): Features {
  const known = features.get(api) ?? {
    streams: true,
    statuses: fresh(),
    sessions: fresh(),
    streamed: createRecent<true>(mostStreams),
    forms: createRecent<Form>(mostForms),
  }
  features.set(api, known)
  return known
}

function fresh(): Feature {
  return { has: true, restUntil: 0 }
}

/** Error codes for a feature that the workspace or token lacks, as opposed to one bad call. */
const lacking: ReadonlySet<string> = new Set([
  'unknown_method',
  'feature_not_enabled',
  'method_deprecated',
  'not_allowed_token_type',
  'not_authorized',
  'no_permission',
  'missing_scope',
  'access_denied',
  'team_access_not_granted',
  'enterprise_is_restricted',
])

export function isLacking(word: string | undefined): boolean {
  return word !== undefined && lacking.has(word)
}

/** Error codes for a person or channel without streams, such as a channel shared by two workspaces. */
const misplaced: ReadonlySet<string> = new Set([
  'channel_type_not_supported',
  'method_not_supported_for_channel_type',
  'missing_recipient_user_id',
  'missing_recipient_team_id',
  'user_not_found',
  'team_not_found',
])

export function isMisplaced(word: string | undefined): boolean {
  return word !== undefined && misplaced.has(word)
}

/**
 * Slack's options against mentions made from bare words, and against link previews: for one, Slack loads an address that
 * a model wrote. https://docs.slack.dev/reference/methods/chat.postMessage
 */
export const quiet: SlackFields = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false }
