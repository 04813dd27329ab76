import type { Fields } from '../fields.ts'
import type { Chat, Post, StoredFile, TelegramButton, TelegramPerson } from './chat.ts'
import { mediaFields } from './file.ts'

const unixSeconds = (ms: number): number => Math.floor(ms / 1000)

/** The bot as `getMe` returns it. */
export interface Me extends Fields {
  readonly id: number
  readonly username: string
}

/** The bot of a token, which begins with its id. The id is 1 if it doesn't. https://core.telegram.org/bots/api#getme */
export function botObject(token: string): Me {
  return {
    id: Number.parseInt(token, 10) || 1,
    is_bot: true,
    first_name: 'Fake bot',
    username: 'fake_bot',
    can_join_groups: true,
    can_read_all_group_messages: true,
    supports_inline_queries: false,
    can_connect_to_business: false,
    has_main_web_app: false,
    has_topics_enabled: true,
  }
}

/** An account as the Bot API returns it, named "Person" by default. https://core.telegram.org/bots/api#user */
export function userObject({ id, name = 'Person', isBot = false }: TelegramPerson): Fields {
  return { id, is_bot: isBot, first_name: name }
}

/**
 * The user that represents a chat that posts: one for anonymous administrators, another for channels.
 * https://core.telegram.org/bots/api#message
 */
const standIn = { admin: 1_087_968_824, channel: 136_817_688 } as const

/**
 * Returns the fields that only some messages have: none for a plain message outside of topics. In a topic, a message
 * that isn't a reply names the topic's first message, whose id is the topic's: example in
 * https://github.com/banteg/takopi/pull/152. `sender_chat` and `forward_origin`:
 * https://core.telegram.org/bots/api#message
 */
export function originFields({ threadId, replyTo, isForwarded, as }: TelegramOrigin, post: Post, chat: Chat): Fields {
  const began = { message_id: threadId, chat: chatObject(chat), date: 0, forum_topic_created: { name: 'Topic' } }
  const hidden = { type: 'hidden_user', sender_user_name: 'Someone', date: unixSeconds(post.at) }
  const from = userObject({ id: as?.id === chat.id ? standIn.admin : standIn.channel, name: 'Chat', isBot: true })
  return {
    ...(threadId !== undefined && replyTo === undefined && { reply_to_message: began }),
    ...(isForwarded && { forward_origin: hidden }),
    ...(as && {
      from,
      sender_chat: { id: as.id, type: as.id === chat.id ? 'supergroup' : 'channel', title: as.title },
    }),
  }
}

/** The origin of a person's message. */
export interface TelegramOrigin {
  readonly threadId?: number
  readonly replyTo?: number
  /** Whether it is forwarded. */
  readonly isForwarded?: boolean
  /** The chat that it is posted as: a channel, or the group itself for an anonymous administrator. */
  readonly as?: { readonly id: number; readonly title: string }
}

/** A chat as the Bot API returns it. One with topics is a forum. https://core.telegram.org/bots/api#chat */
export function chatObject({ id, type, title, topics }: Chat): Fields {
  if (type === 'private') return { id, type, first_name: title }
  return { id, type, title, ...(topics.size > 0 ? { is_forum: true } : {}) }
}

/**
 * A message as the Bot API returns it, with the message that it replies to if that one exists. That one doesn't have
 * its own.
 */
export function messageObject(post: Post, chat: Chat, me: Me): Fields {
  const { content, replyTo, threadId, editedAt } = post
  const replied = replyTo === undefined ? undefined : chat.posts.get(replyTo)
  return {
    message_id: post.messageId,
    from:
      post.from === 'bot'
        ? { id: me.id, is_bot: true, first_name: me.first_name, username: me.username }
        : userObject(post.from),
    chat: chatObject(chat),
    date: unixSeconds(post.at),
    ...(editedAt === undefined ? {} : { edit_date: unixSeconds(editedAt) }),
    ...(threadId === undefined ? {} : { message_thread_id: threadId, is_topic_message: true }),
    ...(replied === undefined ? {} : { reply_to_message: messageObject({ ...replied, replyTo: 0 }, chat, me) }),
    ...contentFields(post),
    ...(post.rows.length === 0
      ? {}
      : { reply_markup: { inline_keyboard: post.rows.map((row) => row.map(buttonObject)) } }),
    ...(content.mode === 'rich' ? { rich_message: { blocks: [{ type: 'paragraph', text: content.text }] } } : {}),
  }
}

/** The text with its entities. Empty for a rich message, which has a field of its own. */
function textFields({ content: { text, entities, mode } }: Post): Fields {
  if (mode === 'rich') return {}
  return { text, ...(entities.length === 0 ? {} : { entities }) }
}

/** The caption with its entities. Empty if there is none. */
function captionFields({ content: { text, entities } }: Post): Fields {
  return text === '' ? {} : { caption: text, ...(entities.length === 0 ? {} : { caption_entities: entities }) }
}

/** The fields of a message's content: its file, document or photo with the caption, else its text. */
function contentFields(post: Post): Fields {
  const { document, photo, media, albumId } = post
  const more = { ...(albumId !== undefined && { media_group_id: albumId }), ...captionFields(post) }
  if (media) return { ...mediaFields(media), ...more }
  if (document) return { document: { ...fileFields(document), file_name: document.name }, ...more }
  // Telegram returns a photo in several sizes. https://core.telegram.org/bots/api#photosize
  if (photo) return { photo: [{ ...fileFields(photo), width: 90, height: 90 }], ...more }
  return textFields(post)
}

function fileFields({ fileId, bytes }: StoredFile): Fields {
  return { file_id: fileId, file_unique_id: fileId, file_size: bytes.length }
}

/** A link, else a button with data. Neither for another action. */
function buttonObject({ text, data, url }: TelegramButton): Fields {
  return url === undefined ? { text, callback_data: data } : { text, url }
}
