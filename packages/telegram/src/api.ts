import type { MessageRef } from '@reply/sink'

/** Optional fields of a call, under their Bot API names. */
export type TelegramFields = Readonly<Record<string, unknown>>

/** Aborts a call. At run time a real `AbortSignal`; grammY's types name another package's, which isn't assignable. */
export interface TelegramSignal {
  readonly aborted: boolean
}

/** The fields used from a posted message. */
export interface TelegramPosted {
  readonly message_id: number
  /** Unix time in seconds. https://core.telegram.org/bots/api#message */
  readonly date?: number | undefined
}

type ChatId = number | string

/**
 * The writing part of grammY's `Api`. Use `bot.api` or `new Api(token)`, not `ctx.api`, which is new with each update.
 */
export interface TelegramApi {
  sendMessage(chatId: ChatId, text: string, other?: TelegramFields, signal?: TelegramSignal): Promise<TelegramPosted>
  sendRichMessage(
    chatId: ChatId,
    message: { readonly markdown: string },
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<TelegramPosted>
  sendDocument(
    chatId: ChatId,
    document: string | TelegramFile,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<TelegramPosted>
  editMessageText(
    chatId: ChatId,
    messageId: number,
    text: string | { readonly markdown: string },
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  deleteMessage(chatId: ChatId, messageId: number, signal?: TelegramSignal): Promise<unknown>
  sendChatAction(chatId: ChatId, action: 'typing', other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
  setMessageReaction(
    chatId: ChatId,
    messageId: number,
    reaction: TelegramReaction[],
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  sendMessageDraft(
    chatId: number,
    draftId: number,
    text: string,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  sendRichMessageDraft(
    chatId: number,
    draftId: number,
    message: { readonly markdown: string },
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
}

/** The same, with the methods that receive updates. */
export interface TelegramInboundApi extends TelegramApi {
  getUpdates(other?: TelegramFields, signal?: TelegramSignal): Promise<readonly unknown[]>
  answerCallbackQuery(queryId: string, other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
}

export interface TelegramReaction {
  readonly type: 'emoji'
  readonly emoji: '👀' | '👍'
}

/** grammY's `InputFile`. */
export interface TelegramFile {
  readonly filename?: string | undefined
}

/** The Bot API takes usernames as strings and ids as numbers; some methods take only numbers. */
export function toChatId(id: number | string): number | string {
  return typeof id === 'string' && /^-?\d+$/.test(id) ? Number(id) : id
}

/** Dates are in seconds; 0 marks a message that can't be accessed. */
export function refOf({ message_id, date }: TelegramPosted): MessageRef {
  return { id: String(message_id), ...(date && { postedAt: date * 1000 }) }
}
