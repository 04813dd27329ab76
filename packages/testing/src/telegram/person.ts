import { TestingError } from '../error.ts'
import { shownButton, shownPlace, shownPost } from '../platform/fake.ts'
import type { Chat, Post, TelegramPerson } from './chat.ts'
import { storeMedia, type TelegramSentFile } from './file.ts'
import type { TelegramEntity } from './formatted.ts'
import type { TelegramPress } from './press.ts'
import { liveDrafts } from './screen.ts'
import { addPost, type TelegramState } from './state.ts'
import { chatObject, messageObject, originFields, type TelegramOrigin, userObject } from './wire.ts'

/** Which person acts. */
export interface TelegramFrom {
  /** Default: the person of a private chat, or person 1000 in a group. */
  readonly from?: TelegramPerson
}

/** Which person presses, and what the bot receives. */
export interface TelegramPressBy extends TelegramFrom {
  /**
   * Whether the message is too old for the bot, which then gets an `InaccessibleMessage` with only the chat and the
   * message's id. Default false. https://core.telegram.org/bots/api#inaccessiblemessage
   */
  readonly isInaccessible?: boolean
  /**
   * Whether `button` is sent as data even if the message has no such button, because a client can send any. Default
   * false. https://core.telegram.org/bots/api#callbackquery
   */
  readonly isForged?: boolean
}

/** Which person writes, and how the message came about. */
export interface TelegramSay extends TelegramFrom, TelegramOrigin {
  /** Whether the text is the caption of a picture. Default false. */
  readonly isCaption?: boolean
  /** A file. The text is its caption, and may be empty. */
  readonly file?: TelegramSentFile
  /** Files sent together are one message each, with the same id of their album. */
  readonly albumId?: string
}

/** The actions of people in the chats. An action that a person couldn't do throws a `TestingError`. */
export interface TelegramPeople {
  /** Writes a message, which the bot receives. Returns its `messageId`. */
  say(chatId: number, text: string, options?: TelegramSay): number
  /** Presses the button with this text or data. The bot receives it and has 15 s to answer. */
  press(chatId: number, messageId: number, button: string, options?: TelegramPressBy): TelegramPress
  /** Sends the bot an update of that type with any content, even malformed. */
  push(type: string, content: unknown): void
  /** Deletes a message. The bot gets no update. */
  remove(chatId: number, messageId: number): void
  /** Presses the Stop button of the draft. The bot receives it. */
  stopDraft(chatId: number, threadId?: number): void
  /** Replaces the person's reactions with these emoji. The bot gets an update if it allowed `message_reaction`. */
  setReaction(chatId: number, messageId: number, emoji: readonly string[], options?: TelegramFrom): void
  /**
   * Makes a group a supergroup with another id, without the group's messages. Calls with the old id are refused, with
   * the new one in `parameters.migrate_to_chat_id`.
   */
  upgrade(chatId: number, toChatId: number): void
  /** Blocks the bot, or removes it from the group. Undoes that with `false`. The bot gets no update. */
  block(chatId: number, isBlocked?: boolean): void
}

/** Returns the chat. Throws a `TestingError` if the fake doesn't have it. */
export function existingChat(state: TelegramState, chatId: number): Chat {
  return shownPlace('telegram', 'chat', chatId, state.chat(chatId))
}

/** Returns the message. Throws a `TestingError` if the chat has none with this id. */
function shownPostIn({ id, posts }: Chat, messageId: number): Post {
  return shownPost('telegram', `Chat ${id}`, posts, messageId)
}

/**
 * Returns the commands and the names of people and bots that a client marks in a text.
 * https://core.telegram.org/bots/api#messageentity
 */
const clientEntities = (text: string): readonly TelegramEntity[] =>
  [...text.matchAll(/(?<=^|\s)\/\w{1,32}(?:@\w+)?|(?<![\w@/])@\w{4,32}/g)].map(({ 0: found, index }) => ({
    type: found.startsWith('/') ? 'bot_command' : 'mention',
    offset: index,
    length: found.length,
  }))

/** Fields that only a bot's message fills. */
const noFindings = { rich: [], loads: [], names: [], commands: [] } as const

/** Returns the actions of people. Each action that the bot learns of becomes an update. */
export function createPeople(state: TelegramState): TelegramPeople {
  return {
    say: (chatId, text, options = {}) => {
      const chat = existingChat(state, chatId)
      const { threadId, replyTo } = options
      if (threadId !== undefined && !chat.topics.has(threadId))
        throw new TestingError('telegram', `Chat ${chatId} has no topic ${threadId}: add it to the chat's topics.`)
      const content = { text, entities: clientEntities(text), source: text, mode: 'plain' as const, ...noFindings }
      const photo = { fileId: 'photo', name: 'photo.jpg', bytes: new Uint8Array(3) }
      const reply = replyTo === undefined ? {} : { replyTo: shownPostIn(chat, replyTo).messageId }
      const post = addPost(
        state,
        { chat, threadId },
        {
          from: actingPerson(chat, options),
          content,
          rows: [],
          isSilent: false,
          ...reply,
          ...(options.isCaption && { photo }),
          ...(options.file && { media: storeMedia(state, options.file) }),
          ...(options.albumId !== undefined && { albumId: options.albumId }),
        },
      )
      const origin = originFields(options, post, chat)
      state.updates.push('message', { ...messageObject(post, chat, state.me), ...origin })
      return post.messageId
    },
    press: (chatId, messageId, button, options = {}) => {
      const chat = existingChat(state, chatId)
      const post = shownPostIn(chat, messageId)
      const press = state.presses.begin(options.isForged ? button : dataOf(post, button))
      state.updates.push('callback_query', {
        id: press.id,
        from: userObject(actingPerson(chat, options)),
        message: options.isInaccessible
          ? { chat: chatObject(chat), message_id: messageId, date: 0 }
          : messageObject(post, chat, state.me),
        chat_instance: String(chatId),
        data: press.data,
      })
      return press
    },
    push: (type, content) => state.updates.push(type, content),
    remove: (chatId, messageId) => {
      const chat = existingChat(state, chatId)
      chat.posts.delete(shownPostIn(chat, messageId).messageId)
      state.changed(chat)
    },
    stopDraft: (chatId, threadId) => {
      const chat = existingChat(state, chatId)
      const draft = liveDrafts(chat, state.clock.now()).find((each) => each.threadId === threadId)
      if (!draft?.canStop) throw new TestingError('telegram', `Chat ${chatId} shows no draft with a Stop button.`)
      if (draft.keepOnStop) chat.drafts.set(threadId, { ...draft, canStop: false })
      else chat.drafts.delete(threadId)
      const thread = threadId === undefined ? {} : { message_thread_id: threadId }
      state.updates.push('stopped_message_generation', { chat: chatObject(chat), ...thread, draft_id: draft.draftId })
      state.changed(chat)
    },
    setReaction: (chatId, messageId, emoji, options = {}) => {
      const chat = existingChat(state, chatId)
      const post = shownPostIn(chat, messageId)
      const from = actingPerson(chat, options)
      const before = post.reactions.filter((reaction) => reaction.from === from.id)
      const others = post.reactions.filter((reaction) => reaction.from !== from.id)
      const own = emoji.map((each) => ({ from: from.id, emoji: each }))
      chat.posts.set(messageId, { ...post, reactions: [...others, ...own] })
      state.updates.push('message_reaction', {
        chat: chatObject(chat),
        message_id: messageId,
        user: userObject(from),
        date: Math.floor(state.clock.now() / 1000),
        old_reaction: before.map((reaction) => ({ type: 'emoji', emoji: reaction.emoji })),
        new_reaction: emoji.map((each) => ({ type: 'emoji', emoji: each })),
      })
      state.changed(chat)
    },
    upgrade: (chatId, toChatId) => {
      const chat = existingChat(state, chatId)
      if (chat.type !== 'group') throw new TestingError('telegram', `Chat ${chatId} is a ${chat.type}, not a group.`)
      existingChat(state, toChatId)
      chat.movedTo = toChatId
    },
    block: (chatId, isBlocked = true) => {
      existingChat(state, chatId).isBlocked = isBlocked
    },
  }
}

/** The given person, else the person of a private chat, or person 1000 in a group. */
function actingPerson({ id, type, title }: Chat, { from }: TelegramFrom): TelegramPerson {
  return from ?? (type === 'private' ? { id, name: title } : { id: 1000 })
}

/**
 * Returns the data of the button with this text or data. Throws a `TestingError` if there is none, or if it is a
 * button that the bot gets no press of.
 */
function dataOf({ messageId, rows }: Post, wanted: string): string {
  const buttons = rows.flat().flatMap(({ text, data }) => (data === undefined ? [] : [{ label: text, data }]))
  const named = buttons.map((button) => ({ ...button, otherNames: [button.data] }))
  return shownButton('telegram', messageId, wanted, named).data
}
