import type { MessageRef } from '@reply/sink'
import { createRecent, type Recent } from '@reply/sink/internal'

/** Optional fields of a call, under their Bot API names. */
export type TelegramFields = Readonly<Record<string, unknown>>

/**
 * Aborts a call. A real `AbortSignal` at run time, but grammY's types use another package's, which isn't assignable.
 */
export interface TelegramSignal {
  /** Whether the call was aborted. */
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
  /** Escaped text with tags that this package writes. */
  readonly html: string
  /** Keeps Telegram from detecting names, commands and addresses in the text. */
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
  /** Posts a picture. https://core.telegram.org/bots/api#sendphoto */
  sendPhoto(
    chatId: ChatId,
    photo: string | TelegramFile,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<TelegramPosted>
  /** Posts 2 to 10 pictures, or as many documents. https://core.telegram.org/bots/api#sendmediagroup */
  sendMediaGroup(
    chatId: ChatId,
    media: readonly TelegramMedia[],
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<readonly TelegramPosted[]>
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
  /** Replaces the bot's reactions. An empty list removes them. https://core.telegram.org/bots/api#setmessagereaction */
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
  /** Shows a preview of a rich message in a private chat. https://core.telegram.org/bots/api#sendrichmessagedraft */
  sendRichMessageDraft(
    chatId: number,
    draftId: number,
    message: TelegramRichMessage,
    other?: TelegramFields,
    signal?: TelegramSignal,
  ): Promise<unknown>
}

/** `TelegramApi` with the methods that receive updates. */
export interface TelegramInboundApi extends TelegramApi {
  /** Waits for updates and returns them, oldest first. https://core.telegram.org/bots/api#getupdates */
  getUpdates(other?: TelegramFields, signal?: TelegramSignal): Promise<readonly unknown[]>
  /** Returns the bot. Called once, for its name in commands. https://core.telegram.org/bots/api#getme */
  getMe(signal?: TelegramSignal): Promise<{ readonly username?: string | undefined }>
  /** Answers the press of a button. https://core.telegram.org/bots/api#answercallbackquery */
  answerCallbackQuery(queryId: string, other?: TelegramFields, signal?: TelegramSignal): Promise<unknown>
}

/** The part of grammY's `Api` that a bridge uses. */
export interface TelegramBridgeApi extends TelegramInboundApi {
  /** The bot's token, used to download files. */
  readonly token: string
  /** Set if the Bot API is not at Telegram's own address. */
  readonly options?: { readonly apiRoot?: string | undefined } | undefined
  /** Returns the path to download a file from. https://core.telegram.org/bots/api#getfile */
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

/** A file of an album. https://core.telegram.org/bots/api#inputmediaphoto and #inputmediadocument */
export interface TelegramMedia {
  /** `photo` or `document`: an album has only one of them. */
  readonly type: string
  /** The file to upload. */
  readonly media: string | TelegramFile
  /** Its own caption, without markup. */
  readonly caption?: string | undefined
}

/** The ids of a group that became a supergroup. */
export interface TelegramMove {
  /** The group's id. Calls with it fail. */
  readonly from: string
  /** The supergroup's id. */
  readonly to: string
}

/** Turns link previews off, so that Telegram doesn't load an address that a model wrote. Rich messages have none. */
export const noPreview: TelegramFields = { link_preview_options: { is_disabled: true } }

/** Returns an id as a number, because some methods only accept numbers. Usernames stay strings. */
export function toChatId(id: number | string): number | string {
  return typeof id === 'string' && /^-?\d+$/.test(id) ? Number(id) : id
}

/** Returns the reference of a message. Dates are in seconds. 0 marks an inaccessible message, whose ref has no time. */
export function refOf({ message_id, date }: TelegramPosted): MessageRef {
  return { id: String(message_id), ...(date && { postedAt: date * 1000 }) }
}

const botsByOptions = new WeakMap<object, Map<string, object>>()
const botsByToken = new Map<string, object>()

/**
 * Returns the object that all clients of one bot share. grammY creates a new `Api` for each update (`ctx.api`), with the
 * token and the client options of `bot.api`. Any other client is its own bot.
 */
export function botOf(api: object): object {
  if (!('token' in api) || typeof api.token !== 'string') return api
  const options = 'options' in api && typeof api.options === 'object' ? api.options : undefined
  const bots = options ? botsOfOptions(options) : botsByToken
  const bot = bots.get(api.token) ?? {}
  bots.set(api.token, bot)
  return bot
}

/** Returns the bots that were created with these client options, by token. Remembers an empty map for new options. */
function botsOfOptions(options: object): Map<string, object> {
  const bots = botsByOptions.get(options) ?? new Map<string, object>()
  botsByOptions.set(options, bots)
  return bots
}

/** The features of the server behind a bot's clients, and of its chats. */
interface Features {
  /** Whether the server has rich messages. */
  readonly rich: Feature
  /** Whether the server has drafts. */
  readonly drafts: Feature
  /** Chats that refused a draft, by id. */
  readonly draftless: Recent<true>
  /** Groups that became supergroups: their new ids. */
  readonly moved: Map<string, number>
}

/** A method that older servers don't have. */
interface Feature {
  /** False after the server has refused it `mostRefusals` times in a row. */
  isKnown(): boolean
  /** Records whether a call found the method. */
  record(wasKnown: boolean): void
}

/** More than one, because a gateway may answer a single call with 404. An older server answers all of them so. */
const mostRefusals = 2

/** How many chats without drafts are kept in memory. */
const mostChats = 1000

const features = new WeakMap<object, Features>()

/** Returns what the bot's server supports, shared by the bot's clients. Assumes everything at first. */
export function featuresOf(api: TelegramApi): Features {
  const bot = botOf(api)
  const known = features.get(bot) ?? newFeatures()
  features.set(bot, known)
  return known
}

/** Returns features that all count as supported. */
function newFeatures(): Features {
  return { rich: newFeature(), drafts: newFeature(), draftless: createRecent(mostChats), moved: new Map() }
}

/** Creates a feature that counts as known until `mostRefusals` calls in a row were refused. */
function newFeature(): Feature {
  let refusals = 0
  return {
    isKnown: () => refusals < mostRefusals,
    record: (wasKnown) => {
      refusals = wasKnown ? 0 : refusals + 1
    },
  }
}
