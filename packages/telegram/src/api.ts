import type { MessageRef } from '@reply/sink'

/** What a call takes beside what it must have, in the Bot API's own names. */
export type TelegramFields = Readonly<Record<string, unknown>>

/** Ends a call. A real `AbortSignal`; grammY names the type of another package, to which that one does not fit. */
export interface TelegramSignal {
  readonly aborted: boolean
}

/** A message, as far as it is of interest after it was posted. */
export interface TelegramPosted {
  readonly message_id: number
  /** Unix time in seconds. https://core.telegram.org/bots/api#message */
  readonly date?: number | undefined
}

type ChatId = number | string

/** The part of grammY's `Api` that writes. `bot.api` or `new Api(token)`; not `ctx.api`, which is another one with each update. */
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

/** The part of it that hears. */
export interface TelegramInboundApi extends TelegramApi {
  getUpdates(other?: TelegramFields, signal?: TelegramSignal): Promise<readonly unknown[]>
  answerCallbackQuery(queryId: string, other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
}

export interface TelegramReaction {
  readonly type: 'emoji'
  readonly emoji: '👀' | '👍'
}

/** What grammY makes of bytes: its `InputFile`. */
export interface TelegramFile {
  readonly filename?: string | undefined
}

/** The Bot API takes names as text and everything else as numbers; some methods take numbers alone. */
export function toChatId(id: number | string): number | string {
  return typeof id === 'string' && /^-?\d+$/.test(id) ? Number(id) : id
}

/** Dates are in seconds; one of 0 stands for a message that can't be accessed. */
export function refOf({ message_id, date }: TelegramPosted): MessageRef {
  return { id: String(message_id), ...(date && { postedAt: date * 1000 }) }
}
