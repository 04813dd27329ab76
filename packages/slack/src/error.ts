import { ChannelError, createToPortError, type PortErrorType, typeOfStatus } from '@reply/sink/channel'
import type { ChannelErrorType, ToPortError } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `client`: the client retries calls on its own, so a message may be posted twice.
 * - `unauthorized`: the app's token is wrong or revoked.
 * - `updates`: connecting the socket failed.
 */
export type SlackErrorType = ChannelErrorType | 'client' | 'unauthorized' | 'updates'

/** An error of the channel. `invalid` is thrown, the other types go to `onError`. Never contains the token. */
export class SlackError extends ChannelError<SlackErrorType> {
  override readonly name = 'SlackError'
}

/** An error response, as the errors of `@slack/web-api` carry it. */
type ErrorResponse =
  | { readonly type: 'limited'; readonly retryAfterS: number }
  /** `ok: false`, with one of Slack's error codes. */
  | { readonly type: 'refused'; readonly error: string; readonly details: readonly string[] }
  | { readonly type: 'status'; readonly code: number }

/** Slack's error codes. All others map to `refused`. https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const errorTypes: Readonly<Record<string, PortErrorType>> = {
  ratelimited: 'rate-limited',
  rate_limited: 'rate-limited',
  message_not_found: 'gone',
  channel_not_found: 'gone',
  thread_not_found: 'gone',
  cant_update_message: 'fixed',
  cant_delete_message: 'fixed',
  edit_window_closed: 'fixed',
  // Slack or a person closed the stream.
  message_not_in_streaming_state: 'fixed',
  stopped_by_user: 'fixed',
  msg_too_long: 'too-long',
  msg_blocks_too_long: 'too-long',
  invalid_blocks: 'unparsable',
  invalid_blocks_format: 'unparsable',
  // Another process is streaming to the message, or ended without closing it. Slack closes it after a while.
  streaming_state_conflict: 'unreachable',
  service_unavailable: 'unreachable',
  request_timeout: 'unreachable',
  team_added_to_org: 'unreachable',
  // Documented for both: "It's possible some aspect of the operation succeeded".
  fatal_error: 'ambiguous',
  internal_error: 'ambiguous',
}

/** Slack's error codes of a conversation that takes no message of the app. From the same list. */
const closedChat: ReadonlySet<string> = new Set([
  'is_archived',
  'not_in_channel',
  'messages_tab_disabled',
  'restricted_action',
  'restricted_action_read_only_channel',
  'restricted_action_thread_only_channel',
  'restricted_action_non_threadable_channel',
])

/**
 * The mappings of failed calls, by the scope of a rate limit. Only Slack's own errors are kept as the cause, because
 * they contain no headers.
 */
export const toPortError: Readonly<Record<'chat' | 'client', ToPortError>> = {
  chat: createMapping('chat'),
  client: createMapping('client'),
}

/** Creates the mapping of failed calls to `PortError`. A rate limit pauses the given scope. */
function createMapping(scope: 'chat' | 'client'): ToPortError {
  return createToPortError('Slack', (error) => {
    const response = responseOf(error)
    if (!response) return undefined
    if (response.type === 'limited') {
      const retryAfterMs = response.retryAfterS * 1000
      return { type: 'rate-limited', reason: `429, retry after ${retryAfterMs} ms.`, retryAfterMs, scope }
    }
    if (response.type === 'status') {
      const { code } = response
      return { type: typeOfStatus(code), reason: `status ${code} without a readable response.` }
    }
    const reason = [response.error, ...response.details].join(' ')
    const isOfChat = closedChat.has(response.error)
    return { type: errorTypes[response.error] ?? 'refused', reason, cause: error, scope, isOfChat }
  })
}

/**
 * Returns the error response of a failed call. A 429 without a usable time counts as 30 s. Undefined without a response, or
 * with an unreadable one.
 */
export function responseOf(error: unknown): ErrorResponse | undefined {
  if (!isObject(error)) return undefined
  if ('retryAfter' in error && typeof error.retryAfter === 'number')
    return { type: 'limited', retryAfterS: error.retryAfter }
  // The client's error text for a 429 without a usable Retry-After header.
  if (error instanceof Error && error.message.startsWith('Retry header')) return { type: 'limited', retryAfterS: 30 }
  if ('statusCode' in error && typeof error.statusCode === 'number') return { type: 'status', code: error.statusCode }
  if (!('data' in error) || !isObject(error.data) || !('error' in error.data)) return undefined
  const { data } = error
  // If the body isn't JSON, for example a proxy's HTML page, the client puts all of it here.
  if (typeof data.error !== 'string' || !/^[a-z][\w-]{0,60}$/i.test(data.error)) return undefined
  return { type: 'refused', error: data.error, details: detailsIn(data) }
}

/** Returns Slack's error code. Undefined for other errors. */
export function codeIn(error: unknown): string | undefined {
  const response = responseOf(error)
  return response?.type === 'refused' ? response.error : undefined
}

/** Returns Slack's details, for example the fault of a block. At most three. */
function detailsIn(data: object): readonly string[] {
  if (!('response_metadata' in data) || !isObject(data.response_metadata)) return []
  const { response_metadata: more } = data
  if (!('messages' in more) || !Array.isArray(more.messages)) return []
  return more.messages.filter((message) => typeof message === 'string').slice(0, 3)
}

/** Whether the value is an object, and not null. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
