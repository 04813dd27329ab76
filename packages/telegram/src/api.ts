import type { MessageRef } from '@reply/sink'

/** Optional fields of a call, under their Bot API names. */
export type TelegramFields = Readonly<Record<string, unknown>>

/** Aborts a call. At run time a real `AbortSignal`; grammY's types name another package's, which isn't assignable. */
export interface TelegramSignal {
  /** Whether the call was given up. */
  readonly aborted: boolean
}

/** The fields used from a posted message. */
export interface TelegramPosted {
  /** The message's id, unique in its chat. */
  readonly message_id: number
  /** Unix time in seconds. https://core.telegram.org/bots/api#message */
  readonly date?: number | undefined
}

/** A rich message, in HTML. https://core.telegram.org/bots/api#inputrichmessage */
export interface TelegramRichMessage {
  /** Tags of this package, around escaped text. */
  readonly html: string
  /** Telegram looks for no names, commands or addresses in the text. */
  readonly skip_entity_detection: true
}

type ChatId = number | string

/** The writing part of grammY's `Api`: `bot.api`, `ctx.api` or `new Api(token)`. */
export interface TelegramApi {
  /** Posts a text of at most 4,096 UTF-16 units. https://core.telegram.org/bots/api#sendmessage */
  sendMessage(chatId: ChatId, text: string, other?: TelegramFields, signal?: TelegramSignal): Promise<TelegramPosted>
  /** Posts a rich message of at most 32,768 code points. https://core.telegram.org/bots/api#rich-messages */
  sendRichMessage(
    chatId: ChatId,
    message: TelegramRichMessage,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<TelegramPosted>
  /** Posts a file. https://core.telegram.org/bots/api#senddocument */
  sendDocument(
    chatId: ChatId,
    document: string | TelegramFile,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<TelegramPosted>
  /** Replaces the text and buttons of a message. https://core.telegram.org/bots/api#editmessagetext */
  editMessageText(
    chatId: ChatId,
    messageId: number,
    text: string | TelegramRichMessage,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  /** Removes a message. https://core.telegram.org/bots/api#deletemessage */
  deleteMessage(chatId: ChatId, messageId: number, signal?: TelegramSignal): Promise<unknown>
  /** Shows "typing" for a few seconds. https://core.telegram.org/bots/api#sendchataction */
  sendChatAction(chatId: ChatId, action: 'typing', other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
  /** Replaces the bot's reactions; an empty list removes them. https://core.telegram.org/bots/api#setmessagereaction */
  setMessageReaction(
    chatId: ChatId,
    messageId: number,
    reaction: TelegramReaction[],
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  /** Shows a preview of a text in a private chat. https://core.telegram.org/bots/api#sendmessagedraft */
  sendMessageDraft(
    chatId: number,
    draftId: number,
    text: string,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
  /** The same for a rich message. https://core.telegram.org/bots/api#sendrichmessagedraft */
  sendRichMessageDraft(
    chatId: number,
    draftId: number,
    message: TelegramRichMessage,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
}

/** The same, with the methods that receive updates. */
export interface TelegramInboundApi extends TelegramApi {
  /** Waits for updates and returns them, oldest first. https://core.telegram.org/bots/api#getupdates */
  getUpdates(other?: TelegramFields, signal?: TelegramSignal): Promise<readonly unknown[]>
  /** The bot itself. Called once, for its name in commands. https://core.telegram.org/bots/api#getme */
  getMe(signal?: TelegramSignal): Promise<{ readonly username?: string | undefined }>
  /** Answers a press of a button. https://core.telegram.org/bots/api#answercallbackquery */
  answerCallbackQuery(queryId: string, other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
}

/** What a bridge uses of grammY's `Api`. */
export interface TelegramBridgeApi extends TelegramInboundApi {
  /** The bot's token, with which its files are read. */
  readonly token: string
  /** Where the Bot API is, if not at Telegram's own address. */
  readonly options?: { readonly apiRoot?: string | undefined } | undefined
  /** Where a file can be read. https://core.telegram.org/bots/api#getfile */
  getFile(fileId: string, signal?: TelegramSignal): Promise<{ readonly file_path?: string | undefined }>
  /** Fills the menu of commands. https://core.telegram.org/bots/api#setmycommands */
  setMyCommands(commands: { command: string; description: string }[]): Promise<unknown>
}

/** A reaction that the bot gives: 👀 for seen, 👍 for done. */
export interface TelegramReaction {
  readonly type: 'emoji'
  /** One of the emoji that Telegram allows as a reaction. https://core.telegram.org/bots/api#reactiontypeemoji */
  readonly emoji: '👀' | '👍'
}

/** grammY's `InputFile`. */
export interface TelegramFile {
  /** The name that the chat shows. */
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
