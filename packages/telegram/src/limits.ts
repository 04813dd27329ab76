import type { Chat } from '@reply/sink'
import type { Budget, FileLimits, Limits } from '@reply/sink/channel'
import { toChatId } from './api.ts'

/** `private`: a person's chat with the bot. `group`: every other chat, including channels. */
export type TelegramChatKind = 'private' | 'group'

/** UTF-16 units of a message after entities parsing. https://core.telegram.org/bots/api#sendmessage */
export const textLength = 4096

/** Code points of a rich message. https://core.telegram.org/bots/api#rich-messages */
export const richLength = 32_768

/** Blocks of a rich message, list items and table rows included. https://core.telegram.org/bots/api#rich-messages */
export const richBlocks = 500

/** Nesting depth of blocks and formats in a rich message. https://core.telegram.org/bots/api#rich-messages */
export const richDepth = 16

/** Columns of a table in a rich message. https://core.telegram.org/bots/api#rich-messages */
export const richColumns = 20

/**
 * Formats of a text message. Further ones are ignored. Measured by others:
 * https://github.com/rubenlagus/TelegramBots/issues/854
 */
export const mostEntities = 100

/** UTF-16 units of a document's caption. https://core.telegram.org/bots/api#senddocument */
export const captionLength = 1024

/** Bytes of a file that a bot sends. https://core.telegram.org/bots/api#sending-files */
export const fileLimits: FileLimits = {
  maxBytes: 50_000_000,
  // "2-10 items": https://core.telegram.org/bots/api#sendmediagroup
  perPost: 10,
}

/**
 * The largest photo: its bytes, its width and height together, and the ratio of the longer to the shorter side. Telegram refuses
 * others as photos, and takes them as documents. https://core.telegram.org/bots/api#sendphoto
 */
export const photoLimits = { maxBytes: 10_000_000, sides: 10_000, ratio: 20 } as const

/** UTF-16 units of the notice that answers a press. https://core.telegram.org/bots/api#answercallbackquery */
export const noticeLength = 200

/**
 * How often a draft is renewed, in ms. It disappears 30 s after its last change, so this leaves 10 s for a delayed
 * call. https://core.telegram.org/bots/api#sendmessagedraft
 */
export const draftRenewMs = 20_000

/** Short bursts that any chat allows. */
const burst: Budget = { calls: 3, perMs: 3300 }

/**
 * Returns the limits of one chat. `rich`: for rich messages instead of HTML.
 *
 * The rates are from https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: one message a
 * second in a chat apart from short bursts, 20 a minute in a group, about 30 a second in all. Edits and drafts count too,
 * which is measured, not documented. Each value here stays slightly below its limit.
 */
export function telegramLimits(kind: TelegramChatKind, rich: boolean): Limits {
  return {
    maxLength: rich ? richLength : textLength,
    // An invisible character after each @ before a name, and after the colon of the app's addresses, disables them.
    escapable: /[@:]+/g,
    // The bot's own messages, without a time limit. https://core.telegram.org/bots/api#editmessagetext
    edits: true,
    // The rate of bursts. In a group the pacer spaces text further: it may use 16 of the 19 calls.
    editIntervalMs: 1100,
    ...(kind === 'private' ? { perChat: burst } : { perChat: { calls: 19, perMs: 61_000 }, burst }),
    perClient: { calls: 25, perMs: 1000 },
    // "for 5 seconds or less (when a message arrives from your bot, Telegram clients clear its typing status)".
    // https://core.telegram.org/bots/api#sendchataction
    typingMs: 5000,
    // `data`: 64 bytes, documented. Telegram allows 8 buttons a row and 100 in all, but only 3 in each of 8 rows are
    // readable on a phone.
    buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
    files: fileLimits,
    // Messages have no idempotency key. https://core.telegram.org/bots/api#sendmessage
    idempotent: false,
  }
}

/**
 * Returns the kind of a chat by its id. Groups, supergroups and channels have negative ids, or usernames.
 * https://core.telegram.org/bots/api#chat
 */
export function kindOf(chatId: number | string): TelegramChatKind {
  return typeof chatId === 'number' && chatId > 0 ? 'private' : 'group'
}

/**
 * Returns the `Chat` of a chat or topic, as inbounds and sinks use it. Positive ids are people's, so those chats are
 * private.
 */
export function chatOf(chatId: number | string, thread: number | undefined): Chat {
  const kind = kindOf(toChatId(chatId)) === 'private' ? 'private' : 'shared'
  return { id: String(chatId), kind, ...(thread !== undefined && { thread: String(thread) }) }
}
