import type { Fields } from '../fields.ts'
import type { Chat, Post, StoredFile, TelegramPerson } from './chat.ts'
import { mediaFields } from './file.ts'

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** The bot as `getMe` returns it. */
export interface Me extends Fields {
  readonly id: number
  readonly username: string
}

export function meFor(token: string): Me {
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

export function userOf({ id, name = 'Person', isBot = false }: TelegramPerson): Fields {
  return { id, is_bot: isBot, first_name: name }
}

/**
 * The user that represents a chat that posts: one for anonymous administrators, another for channels.
 * https://core.telegram.org/bots/api#message
 */
const standIn = { admin: 1_087_968_824, channel: 136_817_688 } as const

/**
 * Fields of only some messages. In a topic, a message that isn't a reply names the topic's first message, whose id is
 * the topic's: example in https://github.com/banteg/takopi/pull/152. `sender_chat` and `forward_origin`:
 * https://core.telegram.org/bots/api#message
 */
export function originOf(
  { threadId, replyTo, isForwarded, as }: TelegramOrigin,
  { post, chat }: { readonly post: Post; readonly chat: Chat },
): Fields {
  const began = { message_id: threadId, chat: chatOf(chat), date: 0, forum_topic_created: { name: 'Topic' } }
  const hidden = { type: 'hidden_user', sender_user_name: 'Someone', date: seconds(post.at) }
  const from = userOf({ id: as?.id === chat.id ? standIn.admin : standIn.channel, name: 'Chat', isBot: true })
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

export function chatOf({ id, type, title, topics }: Chat): Fields {
  if (type === 'private') return { id, type, first_name: title }
  return { id, type, title, ...(topics.size > 0 ? { is_forum: true } : {}) }
}

/** A message as the Bot API returns it. */
export function messageOf(post: Post, chat: Chat, me: Me): Fields {
  const { content, replyTo, threadId, editedAt } = post
  const replied = replyTo === undefined ? undefined : chat.posts.get(replyTo)
  return {
    message_id: post.messageId,
    from:
      post.from === 'bot'
        ? { id: me.id, is_bot: true, first_name: me.first_name, username: me.username }
        : userOf(post.from),
    chat: chatOf(chat),
    date: seconds(post.at),
    ...(editedAt === undefined ? {} : { edit_date: seconds(editedAt) }),
    ...(threadId === undefined ? {} : { message_thread_id: threadId, is_topic_message: true }),
    ...(replied === undefined ? {} : { reply_to_message: messageOf({ ...replied, replyTo: 0 }, chat, me) }),
    ...mediaOf(post),
    ...(post.rows.length === 0 ? {} : { reply_markup: { inline_keyboard: post.rows.map((row) => row.map(buttonOf)) } }),
    ...(content.mode === 'rich' ? { rich_message: { blocks: [{ type: 'paragraph', text: content.text }] } } : {}),
  }
}

function bodyOf({ content: { text, entities, mode } }: Post): Fields {
  if (mode === 'rich') return {}
  return { text, ...(entities.length === 0 ? {} : { entities }) }
}

function captionOf({ content: { text, entities } }: Post): Fields {
  return text === '' ? {} : { caption: text, ...(entities.length === 0 ? {} : { caption_entities: entities }) }
}

function mediaOf(post: Post): Fields {
  const { document, photo, media, albumId } = post
  if (media)
    return { ...mediaFields(media), ...(albumId !== undefined && { media_group_id: albumId }), ...captionOf(post) }
  if (document) return { document: { ...fileOf(document), file_name: document.name }, ...captionOf(post) }
  // Telegram returns a photo in several sizes. https://core.telegram.org/bots/api#photosize
  if (photo) return { photo: [{ ...fileOf(photo), width: 90, height: 90 }], ...captionOf(post) }
  return bodyOf(post)
}

function fileOf({ fileId, bytes }: StoredFile): Fields {
  return { file_id: fileId, file_unique_id: fileId, file_size: bytes.length }
}

function buttonOf({
  text,
  data,
  url,
}: {
  readonly text: string
  readonly data?: string
  readonly url?: string
}): Fields {
  return url === undefined ? { text, callback_data: data } : { text, url }
}
