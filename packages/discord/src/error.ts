import { ChannelError, createToPortError, type PortErrorType, typeOfStatus } from '@reply/sink/channel'
import type { ChannelErrorType, ToPortError } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `unauthorized`: the token is wrong or revoked, or the bot lacks an intent.
 * - `updates`: the gateway failed. The channel reconnects.
 */
export type DiscordErrorType = ChannelErrorType | 'unauthorized' | 'updates'

/** An error of the channel. `invalid` is thrown, the other types go to `onError`. Never contains the token. */
export class DiscordError extends ChannelError<DiscordErrorType> {
  override readonly name = 'DiscordError'
}

/** An error response, as `DiscordAPIError` and `HTTPError` carry it. */
interface ErrorResponse {
  readonly status: number
  /** Discord's error code. Undefined if the response isn't from Discord's API. */
  readonly code: number | undefined
  /** For an invalid form body, each wrong field has a line after the first: "content[BASE_TYPE_MAX_LENGTH]: …". */
  readonly message: string
}

/**
 * Error codes whose meaning differs from their HTTP status.
 * https://discord.com/developers/docs/topics/opcodes-and-status-codes#json
 */
const codes: Readonly<Record<number, PortErrorType>> = {
  // Unknown channel, unknown message, unknown emoji.
  10003: 'gone',
  10008: 'gone',
  10014: 'gone',
  // Too many edits of messages older than an hour: "Try again later".
  30046: 'unreachable',
  // A message of another author, and one in an archived thread.
  50005: 'fixed',
  50083: 'fixed',
}

/** Error codes of a chat that takes no message of the bot: no access, a person who takes none, no permission, no server in common. */
const closedChat: ReadonlySet<number> = new Set([50001, 50007, 50013, 50278])

/**
 * Maps a failed call to the sink's error. Drops the cause: the client's errors contain the whole request, and routes of
 * interactions contain tokens.
 */
export const toPortError: ToPortError = createToPortError('Discord', (error) => {
  const response = responseOf(error)
  if (response) {
    const { status, code, message } = response
    const reason = [status, code, message].filter((text) => text !== undefined && text !== '').join(' ')
    return { type: typeOf(response), reason, isOfChat: code !== undefined && closedChat.has(code) }
  }
  if (!(error instanceof Error)) return undefined
  // The client's own `RateLimitError`, thrown after a 429 or ahead of one that earlier headers announced.
  if ('retryAfter' in error && typeof error.retryAfter === 'number' && 'timeToReset' in error) {
    const retryAfterMs = Math.ceil(error.retryAfter)
    const scope = 'global' in error && error.global === true ? 'client' : 'chat'
    return { type: 'rate-limited', reason: `429, retry after ${retryAfterMs} ms`, retryAfterMs, scope }
  }
  // The client drops a token that Discord refused, and makes no further calls.
  if (!/^Expected token to be set/.test(error.message)) return undefined
  return { type: 'refused', reason: "the bot's token is missing or was rejected before. Set it again." }
})

/** Returns the error response of a failed call. Undefined without a response, or with an unreadable one. */
export function responseOf(error: unknown): ErrorResponse | undefined {
  if (!(error instanceof Error) || !('status' in error) || typeof error.status !== 'number') return undefined
  const code = 'code' in error && typeof error.code === 'number' ? error.code : undefined
  return { status: error.status, code, message: error.message }
}

/** Returns the error's type: by Discord's code if it has a meaning of its own, else by the HTTP status. */
function typeOf({ status, code, message }: ErrorResponse): PortErrorType {
  const type = code === undefined ? undefined : codes[code]
  if (type) return type
  if (code === 50035 && /^content\[BASE_TYPE_MAX_LENGTH\]/m.test(message)) return 'too-long'
  return typeOfStatus(status)
}
