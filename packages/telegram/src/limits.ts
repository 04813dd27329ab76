import type { Chat, Limits } from '@reply/sink'
import { toChatId } from './api.ts'

export type TelegramChatKind = 'private' | 'group'

/** UTF-16 units of a message after its entities are parsed. https://core.telegram.org/bots/api#sendmessage */
export const textLength = 4096

/** Code points of a rich message. https://core.telegram.org/bots/api#rich-messages */
export const richLength = 32_768

/** Blocks of a rich message, list items and table rows included. https://core.telegram.org/bots/api#rich-messages */
export const richBlocks = 500

/** UTF-16 units below a document. https://core.telegram.org/bots/api#senddocument */
export const captionLength = 1024

/** UTF-16 units of the notice that answers a press. https://core.telegram.org/bots/api#answercallbackquery */
export const noticeLength = 200

/** A draft shows for 30 s after its last change; this leaves ten for a call that has to wait. https://core.telegram.org/bots/api#sendmessagedraft */
export const draftRenewMs = 20_000

/**
 * What one chat takes. `rich`: its messages are rich ones.
 *
 * The rates are from https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this: one message a second
 * in a chat, short bursts aside; 20 a minute in a group; about 30 a second in all. Edits and drafts count, too, which is
 * measured, not documented. Each is kept under by a little.
 */
export function telegramLimits(kind: TelegramChatKind, rich: boolean): Limits {
  return {
    maxLength: rich ? richLength : textLength,
    // Names after it are kept from ringing.
    swells: /@/g,
    // Own messages, for ever. https://core.telegram.org/bots/api#editmessagetext
    edits: true,
    editIntervalMs: kind === 'private' ? 1100 : 3100,
    perChat: kind === 'private' ? { calls: 3, perMs: 3300 } : { calls: 1, perMs: 3100 },
    perClient: { calls: 25, perMs: 1000 },
    // "for 5 seconds or less". https://core.telegram.org/bots/api#sendchataction
    typingMs: 5000,
    // 64 bytes are documented. Eight in a row and a hundred in all are taken; three and eight rows can be read on a phone.
    buttons: { perRow: 3, rows: 8, label: 40, data: 64 },
    // There is no key that a message could be sent with. https://core.telegram.org/bots/api#sendmessage
    idempotent: false,
  }
}

/** Groups, supergroups and channels have ids below 0, or names. https://core.telegram.org/bots/api#chat */
export function kindOf(chatId: number | string): TelegramChatKind {
  return typeof chatId === 'number' && chatId > 0 ? 'private' : 'group'
}

/** A chat or topic as inbound and sinks name it. Ids above 0 are people's, whose chats are private. */
export function chatOf(chatId: number | string, thread: number | undefined): Chat {
  const kind = kindOf(toChatId(chatId)) === 'private' ? 'private' : 'shared'
  return { id: String(chatId), kind, ...(thread !== undefined && { thread: String(thread) }) }
}
