import { ChannelError, createToPortError, PortError, type PortErrorType, typeOfStatus } from '@reply/sink/channel'
import type { ChannelErrorType, ToPortError } from '@reply/sink/internal'

/**
 * Besides the types of all channels:
 * - `conflict`: another process or a webhook takes this bot's updates.
 * - `unauthorized`: the token is wrong or revoked.
 * - `updates`: fetching updates failed. The channel retries.
 */
export type TelegramErrorType = ChannelErrorType | 'conflict' | 'unauthorized' | 'updates'

/** An error of the channel. `invalid` is thrown, the other types go to `onError`. Never contains the token. */
export class TelegramError extends ChannelError<TelegramErrorType> {
  override readonly name = 'TelegramError'
}

/** Returns the error for an update that can't be read. */
export function unreadableUpdateError(id: number | undefined): TelegramError {
  return new TelegramError('malformed', `Skipped update ${id ?? 'without an id'}, which can't be read.`)
}

/** Returns the error for a token that Telegram rejects with that status. */
export function rejectedTokenError(code: number, cause?: unknown): TelegramError {
  const message = `Telegram rejected the bot's token (${code}). Use the one that @BotFather shows now.`
  return new TelegramError('unauthorized', message, { cause })
}

/** An error response, as grammY's `GrammyError` carries it. */
interface ErrorResponse {
  readonly code: number
  readonly description: string
  readonly retryAfterS: number | undefined
  /** The new id of a group that became a supergroup. https://core.telegram.org/bots/api#responseparameters */
  readonly movedTo: number | undefined
}

/** Classifies the description of a 400. The first match wins. Telegram documents none of these texts. */
const badRequests: readonly (readonly [PortErrorType, RegExp])[] = [
  ['gone', /message to \w+ not found|message_id_invalid|message identifier is not specified/i],
  ['gone', /chat not found|chat_id_invalid|peer_id_invalid|thread not found|topic_deleted|upgraded to a supergroup/i],
  ['fixed', /message can't be (?:edited|deleted)|edit_time_expired|no text in the message to edit/i],
  ['too-long', /too[ _]long|too many blocks/i],
  // Other errors about rich messages are undocumented. The retry has no markup, so it isn't rich and avoids them.
  ['unparsable', /can't parse|entit(?:y|ies)|unsupported start tag|too many columns|rich/i],
]

/** 400s of a group or topic that takes no message of the bot. Undocumented, too. */
const closedChat =
  /not enough rights to send text|no rights to send|chat_write_forbidden|need administrator rights|topic_closed/i

/** Maps a failed call to the sink's error. The message has no URL, because the URL contains the token. */
export const toPortError: ToPortError = createToPortError('Telegram', (error) => {
  const response = responseOf(error)
  if (!response) return undefined
  const { code, description, retryAfterS } = response
  const retryAfterMs = retryAfterS && retryAfterS * 1000
  // Telegram doesn't say whether a chat or the bot exceeded its rate.
  const type = errorTypeOf(response)
  // Every 403 is about the chat: the bot was blocked or removed, or the person never wrote to it.
  const isOfChat = code === 403 || (code === 400 && closedChat.test(description))
  return { type, reason: `${code} ${description}`, cause: error, retryAfterMs, scope: 'unknown', isOfChat }
})

/** Returns the error response of a failed call. Undefined without a response, or with an unreadable one. */
export function responseOf(error: unknown): ErrorResponse | undefined {
  if (!isObject(error) || !('error_code' in error) || typeof error.error_code !== 'number') return undefined
  const description = 'description' in error ? String(error.description) : ''
  const parameters = 'parameters' in error && isObject(error.parameters) ? error.parameters : {}
  const retryAfterS = numberField(parameters, 'retry_after')
  const movedTo = numberField(parameters, 'migrate_to_chat_id')
  return { code: error.error_code, description, retryAfterS, movedTo }
}

/** Returns the new id of the chat, if a call failed because its group became a supergroup. Undefined otherwise. */
export function movedToIn(error: unknown): number | undefined {
  return error instanceof PortError ? responseOf(error.cause)?.movedTo : undefined
}

/** Whether Telegram rejects the token: 401 for a wrong one, and 404 for one that isn't even formed like a token. */
export function isTokenRejection(code: number): boolean {
  return code === 401 || code === 404
}

/** Returns the field if it is a number. Undefined otherwise. */
function numberField(fields: object, name: string): number | undefined {
  const value: unknown = Reflect.get(fields, name)
  return typeof value === 'number' ? value : undefined
}

/** Returns the error's type, by the description for a 400 and else by the code. */
function errorTypeOf({ code, description }: ErrorResponse): PortErrorType {
  if (code !== 400) return typeOfStatus(code)
  return badRequests.find(([, pattern]) => pattern.test(description))?.[0] ?? 'refused'
}

/** Whether the value is an object, and not null. */
function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/**
 * Whether the server lacks the method. Older servers answer 404 for an unknown method, and ignore an unknown `rich_message`,
 * so the text is empty.
 */
export function isUnknownMethod({ code, description }: ErrorResponse): boolean {
  return code === 404 || (code === 400 && /message text is empty/i.test(description))
}

/** Resolves as the edit does, but with undefined if Telegram refuses it because it changes nothing. */
export async function ignoreUnchanged(edited: Promise<unknown>): Promise<unknown> {
  try {
    return await edited
  } catch (error) {
    if (/message is not modified/i.test(responseOf(error)?.description ?? '')) return undefined
    throw error
  }
}
