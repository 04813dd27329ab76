import type { Chat, Content, Draft, Post, TelegramRows } from './chat.ts'
import type { TelegramEntity, TelegramMode } from './formatted.ts'
import { mentionedIds, type TelegramRichNode } from './rich.ts'

/** A message as a person sees it. */
export interface TelegramMessage {
  /** For a draft: its `draft_id`. */
  readonly messageId: number
  /** `bot` for the bot under test, `user` for every other author. */
  readonly from: 'bot' | 'user'
  /** The text after parsing. A rich message has marks for its lists and tables. A document has its caption. */
  readonly text: string
  /** Formats and functions of ranges of `text`. */
  readonly entities: readonly TelegramEntity[]
  /** The source as sent, and its markup. */
  readonly source: string
  /** How `source` is marked up. */
  readonly mode: TelegramMode
  /** Rows of buttons, from the top. */
  readonly buttons: TelegramRows
  /** The attached file, if any. */
  readonly document: { readonly name: string; readonly bytes: Uint8Array } | undefined
  /** The picture, if any. One that Telegram would fetch has no bytes. */
  readonly photo: { readonly name: string; readonly bytes: Uint8Array } | undefined
  /** The `messageId` of the message that it replies to. */
  readonly replyTo: number | undefined
  /** The `message_thread_id` of its topic. Absent outside of topics. */
  readonly threadId: number | undefined
  /** Whether it was posted without a notification. */
  readonly isSilent: boolean
  /** Ids of the people that it mentions by id. They are notified. */
  readonly mentions: readonly number[]
  /** The content of a rich message, in order. Empty for other messages. */
  readonly rich: readonly TelegramRichNode[]
  /** The addresses that Telegram itself loads, without a press, for pictures and link previews. */
  readonly loads: readonly string[]
  /** The usernames that Telegram finds in it. They are notified. */
  readonly names: readonly string[]
  /** The bot commands that Telegram finds in it. A press sends them. */
  readonly commands: readonly string[]
  /** How often it was edited. */
  readonly editedTimes: number
  /** Emoji from the bot and from people. */
  readonly reactions: readonly string[]
  /** Whether it is a draft, which expires. */
  readonly isDraft: boolean
}

/**
 * The messages that a person sees, in order, then the live drafts. All of the chat if `threadId` is undefined, else
 * those of the topic.
 */
export function screenOf(chat: Chat, threadId: number | undefined, now: number): readonly TelegramMessage[] {
  const all = [...[...chat.posts.values()].map(messageShown), ...liveDrafts(chat, now).map(draftShown)]
  return threadId === undefined ? all : all.filter((shown) => shown.threadId === threadId)
}

/** The drafts of a chat that have not expired. */
export function liveDrafts(chat: Chat, now: number): readonly Draft[] {
  return [...chat.drafts.values()].filter(({ until }) => until > now)
}

/** A message as a person sees it. Other bots and people count as `user`. */
function messageShown(post: Post): TelegramMessage {
  const { content, document, photo } = post
  return {
    ...content,
    messageId: post.messageId,
    from: post.from === 'bot' ? 'bot' : 'user',
    buttons: post.rows,
    document: document === undefined ? undefined : { name: document.name, bytes: document.bytes },
    photo: photo === undefined ? undefined : { name: photo.name, bytes: photo.bytes },
    replyTo: post.replyTo,
    threadId: post.threadId,
    isSilent: post.isSilent,
    mentions: mentionsIn(content),
    editedTimes: post.editedTimes,
    reactions: post.reactions.map(({ emoji }) => emoji),
    isDraft: false,
  }
}

/** A draft as a person sees it: a silent message of the bot, under its `draft_id`. */
function draftShown({ draftId, content, threadId }: Draft): TelegramMessage {
  return {
    ...content,
    messageId: draftId,
    from: 'bot',
    buttons: [],
    document: undefined,
    photo: undefined,
    replyTo: undefined,
    threadId,
    isSilent: true,
    mentions: [],
    editedTimes: 0,
    reactions: [],
    isDraft: true,
  }
}

/**
 * The ids of the people that a message mentions, also by links in a rich message.
 * https://core.telegram.org/bots/api#rich-messages
 */
function mentionsIn({ rich, entities }: Content): readonly number[] {
  return [...entities.flatMap(({ userId }) => userId ?? []), ...mentionedIds(rich)]
}
