import type { Clock } from '@reply/core'
import type { Chat, MessageRef } from '@reply/sink'
import { callPlatform, PortError, uploadTimeoutMs } from '@reply/sink/channel'
import { createRecent, type Recent } from '@reply/sink/internal'
import { codeIn, toPortError } from './error.ts'

/** Arguments of a call, under their Web API names. */
export type SlackFields = Record<string, unknown>

/** The part of `WebClient` that is used. Its typed methods all call this one. */
export interface SlackApi {
  /** Calls a method of the Web API, for example `chat.postMessage`. Rejects with the client's own errors. */
  apiCall(method: string, options?: SlackFields): Promise<SlackResult>
}

/** The part of `WebClient` that a bridge uses. */
export interface SlackBridgeApi extends SlackApi {
  /** The bot user's token, used to download files. */
  readonly token?: string | undefined
  /** The address of the Web API. */
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
  /** Listens to events from Slack. */
  on(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Listens to the end of the connection. */
  on(event: 'disconnected', listener: () => void): unknown
  /** Stops the listener. */
  off(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Stops the listener. */
  off(event: 'disconnected', listener: () => void): unknown
  /** Connects. Resolves after Slack's hello, and rejects if that fails. */
  start(): Promise<unknown>
  /** Closes the connection. */
  disconnect(): Promise<unknown>
}

/** An envelope received over the socket. */
export interface SlackEnvelope {
  /** Acknowledges the envelope, optionally with a response. Slack resends an unacknowledged envelope. */
  ack(response?: SlackFields): Promise<void>
  /** The event, interaction or command, as Slack sent it. */
  readonly body: unknown
}

/** Makes one call, without retries, and returns its response. Rejects with a `PortError`. */
export type Call = (method: string, options: SlackFields, about: CallDetails) => Promise<Readonly<SlackFields>>

interface CallDetails {
  /** The call's name in errors, for example `post`. */
  readonly verb: string
  /** The scope of a rate limit: `chat` for posts, `client` (the workspace) for all other calls. Default `client`. */
  readonly scope?: 'chat' | 'client'
  /** Ends the call before its deadline. */
  readonly signal?: AbortSignal | undefined
  /** How many bytes of files it sends. Default 0. */
  readonly byteCount?: number
}

interface CallTarget {
  readonly api: SlackApi
  readonly channelId: string
  readonly timeoutMs: number | undefined
  readonly clock: Clock
}

/**
 * Returns the function that makes calls. It rejects with a `PortError`. The client can't abort a call, so a timeout or an
 * abort only stops waiting for it.
 */
export function createCall({ api, channelId, timeoutMs, clock }: CallTarget): Call {
  return async (method, options, { verb, scope = 'client', signal, byteCount = 0 }) => {
    const deadlineMs = uploadTimeoutMs(byteCount, timeoutMs)
    const what = `${verb} in ${channelId}`
    const call = { what, signal, timeoutMs: deadlineMs, clock, toPortError: toPortError[scope] }
    return { ...(await callPlatform(() => api.apiCall(method, options), call)) }
  }
}

/** Returns Slack's error code in a failed call. Undefined for other errors. */
export function errorCodeOf(error: unknown): string | undefined {
  return error instanceof PortError ? codeIn(error.cause) : undefined
}

/**
 * Returns the `Chat` of a channel or thread, for inbounds and sinks. Ids of direct messages begin with D.
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
 * Returns the ref of a message. A `ts` is the message's Unix time in seconds, with a counter after the point. `postedAt` is
 * absent for other ids, such as file ids.
 */
export function refOf(ts: string): MessageRef {
  return { id: ts, ...(isTs(ts) && { postedAt: Math.floor(Number(ts) * 1000) }) }
}

/** The features of the workspace behind a client. A flag that became false stays false. */
export interface Features {
  /** Streams: true until Slack refuses one. */
  streams: boolean
  /** Status texts of threads. */
  readonly statuses: LimitedFeature
  /** Agent sessions. The pacer knows their rate limit. */
  readonly sessions: Feature
  /**
   * The streams that belong to a reply, by `ts`: the `PostOptions.key` of each that this process opened or found, and undefined
   * for those that it continues.
   */
  readonly streamed: Recent<string | undefined>
  /** The app's own user, once known. */
  ownUserId?: string
}

/** An optional feature: a failed call is not an error. */
interface Feature {
  isSupported: boolean
}

interface LimitedFeature extends Feature {
  /** When the rate limit ends, in ms since the epoch. */
  limitedUntil: number
}

/** How many streams to keep. The oldest are dropped. */
const mostStreams = 1000

const features = new WeakMap<SlackApi, Features>()

/** Returns what the workspace supports, shared by all users of the client. Assumes everything at first. */
export function featuresOf(api: SlackApi): Features {
  const known = features.get(api) ?? {
    streams: true,
    statuses: { isSupported: true, limitedUntil: 0 },
    sessions: { isSupported: true },
    streamed: createRecent<string | undefined>(mostStreams),
  }
  features.set(api, known)
  return known
}

/** Error codes that mean that the workspace or token lacks a feature, not that one call was wrong. */
const missingFeatureCodes: ReadonlySet<string> = new Set([
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

/** Whether the code says that the workspace or the token lacks the feature. */
export function isMissingFeature(code: string | undefined): boolean {
  return code !== undefined && missingFeatureCodes.has(code)
}

/** Error codes for a person or channel without streams, for example a channel shared by two workspaces. */
const noStreamsCodes: ReadonlySet<string> = new Set([
  'channel_type_not_supported',
  'method_not_supported_for_channel_type',
  'missing_recipient_user_id',
  'missing_recipient_team_id',
  'user_not_found',
  'team_not_found',
])

/** Whether the code says that this person or channel has no streams. */
export function isWithoutStreams(code: string | undefined): boolean {
  return code !== undefined && noStreamsCodes.has(code)
}

/**
 * Turns off mentions from bare words and link previews. For a preview, Slack would load an address that a model wrote.
 * https://docs.slack.dev/reference/methods/chat.postMessage
 */
export const noMentionsOrPreviews: SlackFields = {
  parse: 'none',
  link_names: false,
  unfurl_links: false,
  unfurl_media: false,
}
