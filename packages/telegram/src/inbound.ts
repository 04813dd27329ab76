import type { Actor, Chat, Inbound, InboundFile, MessageRef } from '@reply/sink'
import { isAskToken } from '@reply/sink/channel'
import { textOfContact, textOfPlace } from '@reply/sink/internal'
import * as z from 'zod'
import { refOf, type TelegramMove } from './api.ts'
import { chatOf } from './limits.ts'

/** A parsed update, without the `answer` function yet. */
export type Received =
  | (Omit<Extract<Inbound, { type: 'text' }>, 'answer'> & {
      /** The names in the text that may be this bot's. Only Telegram knows the bot's name. */
      readonly names?: readonly NameInText[] | undefined
    })
  | (Omit<Extract<Inbound, { type: 'press' }>, 'answer'> & { readonly queryID: string })
  /** A press of an ask's button without a message, for example below a message sent via the bot in another chat. */
  | { readonly type: 'unplaced'; readonly actor: Actor; readonly queryID: string }
  | Extract<Inbound, { type: 'stop' }>
  /** The group became a supergroup. Reported in both chats, in any order: https://core.telegram.org/bots/api#message */
  | ({ readonly type: 'moved' } & TelegramMove)

/** A part of a text that names a bot or a person. */
export interface NameInText {
  readonly type: 'command' | 'mention'
  /** The name without its `@`. */
  readonly name: string
  /** The range to cut out of the text if the name is the bot's, in UTF-16 units. */
  readonly from: number
  readonly to: number
}

/** The update types that a channel handles. Polling requests only these. */
export const updateTypes: readonly string[] = ['message', 'callback_query', 'stopped_message_generation']

const person = z.object({
  id: z.number(),
  is_bot: z.boolean().optional(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  username: z.string().optional(),
  title: z.string().optional(),
})

const place = z.object({
  message_id: z.number(),
  date: z.number().optional(),
  chat: person,
  message_thread_id: z.number().optional(),
  /** Replies have a thread id too, but it can't be posted to. The thread is a topic only if this is true. */
  is_topic_message: z.boolean().optional(),
})

const entities = z.array(z.object({ type: z.string(), offset: z.number(), length: z.number() }))

/** The fields that all files have. https://core.telegram.org/bots/api#document */
const file = z.object({
  file_id: z.string(),
  file_name: z.string().optional(),
  mime_type: z.string().optional(),
  file_size: z.number().optional(),
  /** In seconds, for voice notes, audio and videos. https://core.telegram.org/bots/api#voice */
  duration: z.number().optional(),
})

const location = z.object({ latitude: z.number(), longitude: z.number() })

const message = place.extend({
  from: person.optional(),
  /**
   * Set if the message is posted in the name of a chat. `from` is then a placeholder.
   * https://core.telegram.org/bots/api#message
   */
  sender_chat: person.optional(),
  forward_origin: z.unknown().optional(),
  /** Replaced by `forward_origin` in Bot API 7.0. https://core.telegram.org/bots/api-changelog#december-29-2023 */
  forward_date: z.number().optional(),
  /** The text comes from an inline bot. https://core.telegram.org/bots/api#message */
  via_bot: z.unknown().optional(),
  /** A scheduled message, or an automatic answer of a business account. https://core.telegram.org/bots/api#message */
  is_from_offline: z.boolean().optional(),
  /** The message replied to, if it is in another chat or topic. https://core.telegram.org/bots/api#externalreplyinfo */
  external_reply: z.object({ message_id: z.number().optional() }).optional(),
  reply_to_story: z.unknown().optional(),
  text: z.string().optional(),
  caption: z.string().optional(),
  entities: entities.optional(),
  /** The entities of a caption. https://core.telegram.org/bots/api#message */
  caption_entities: entities.optional(),
  reply_to_message: z.object({ message_id: z.number(), from: person.optional() }).optional(),
  /** The same for all messages of an album. */
  media_group_id: z.string().optional(),
  document: file.optional(),
  /** Sizes of one photo. */
  photo: z.array(file).optional(),
  voice: file.optional(),
  audio: file.optional(),
  video: file.optional(),
  /** A round video. https://core.telegram.org/bots/api#videonote */
  video_note: file.optional(),
  /** https://core.telegram.org/bots/api#sticker */
  sticker: file
    .extend({
      emoji: z.string().optional(),
      is_animated: z.boolean().optional(),
      is_video: z.boolean().optional(),
      /** A picture, in WebP or JPEG. */
      thumbnail: file.optional(),
    })
    .optional(),
  location: location.optional(),
  /** A named place. Such a message has its location, too. https://core.telegram.org/bots/api#venue */
  venue: z.object({ location, title: z.string(), address: z.string() }).optional(),
  contact: z.object({ phone_number: z.string(), first_name: z.string(), last_name: z.string().optional() }).optional(),
  migrate_to_chat_id: z.number().optional(),
  migrate_from_chat_id: z.number().optional(),
})

type Message = z.infer<typeof message>

const press = z.object({ id: z.string(), from: person, data: z.string().optional(), message: place.optional() })

const stopped = z.object({ chat: person, message_thread_id: z.number().optional() })

const schema = z.object({
  update_id: z.number(),
  message: message.optional(),
  callback_query: press.optional(),
  stopped_message_generation: stopped.optional(),
})

export interface Update {
  readonly id: number
  /** Undefined for updates that a channel ignores: joins, polls and the like. */
  readonly received: Received | undefined
}

/** Parses an update. `botID` is the bot's own id. Returns undefined if the value isn't an update. */
export function toUpdate(value: unknown, botID?: string): Update | undefined {
  const { data } = schema.safeParse(value)
  return data && { id: data.update_id, received: receivedIn(data, botID) }
}

const numbered = z.object({ update_id: z.number() })

/** Returns the id alone, because the next poll's `offset` must also pass an unreadable update. Undefined without one. */
export function updateIdOf(value: unknown): number | undefined {
  return numbered.safeParse(value).data?.update_id
}

/** Returns what an update brings. Undefined for updates that a channel ignores, for example those of bots. */
function receivedIn(
  { message, callback_query, stopped_message_generation: stop }: z.infer<typeof schema>,
  botID: string | undefined,
): Received | undefined {
  if (message) return moveIn(message) ?? textOrFilesIn(message, botID)
  if (stop) {
    const chat = chatOf(stop.chat.id, stop.message_thread_id)
    // Sent only in private chats, where the chat's id is the person's.
    return { type: 'stop', chat, actor: actorOf(stop.chat) }
  }
  if (callback_query?.data === undefined) return undefined
  const { id, from, data, message: at } = callback_query
  if (from.is_bot && from.id !== anonymousAdmin) return undefined
  if (!at) return isAskToken(data) ? { type: 'unplaced', actor: actorOf(from), queryID: id } : undefined
  return {
    type: 'press',
    chat: chatIn(at),
    actor: { ...actorOf(from), ...(from.id === anonymousAdmin && { isAnonymous: true }) },
    token: data,
    ...(!isAskToken(data) && { isForeign: true }),
    messageRef: refOf(at),
    queryID: id,
  }
}

/** Returns the move of a group to another id, which both chats report. Undefined for every other message. */
function moveIn({ chat, migrate_to_chat_id: to, migrate_from_chat_id: from }: z.infer<typeof message>) {
  if (to !== undefined) return { type: 'moved', from: String(chat.id), to: String(to) } as const
  return from === undefined ? undefined : ({ type: 'moved', from: String(from), to: String(chat.id) } as const)
}

/**
 * Returns the text, or else the caption, and the files of a message. The text is empty for files without a caption. Undefined
 * for messages of bots, and for those without text and files.
 */
function textOrFilesIn(raw: Message, botID: string | undefined): Received | undefined {
  const files = filesIn(raw)
  const text = raw.text ?? raw.caption ?? (files.length > 0 ? '' : sharedIn(raw))
  const actor = authorOf(raw)
  if (text === undefined || !actor) return undefined
  const marks = (raw.text === undefined ? raw.caption_entities : raw.entities) ?? []
  const replyTo = repliedMessageIn(raw)
  const repliesToBot = replyTo && botID !== undefined && String(raw.reply_to_message?.from?.id) === botID
  const names = namesIn(text, marks)
  return {
    type: 'text',
    chat: chatIn(raw),
    actor,
    text,
    messageRef: refOf(raw),
    ...(replyTo && { replyTo }),
    ...(repliesToBot && { repliesToBot }),
    ...(files.length > 0 && { files }),
    ...(raw.media_group_id !== undefined && { albumID: raw.media_group_id }),
    ...(isNotTyped(raw) && { isForwarded: true }),
    isCommand: marks.some(({ type, offset }) => type === 'bot_command' && offset === 0),
    ...(names.length > 0 && { names }),
  }
}

/** Returns what a message without text and file shares, as a text. Undefined if it shares nothing. */
function sharedIn({ location, venue, contact, sticker }: Message): string | undefined {
  if (venue) return textOfPlace({ ...venue.location, name: venue.title, address: venue.address })
  if (location) return textOfPlace(location)
  if (contact) {
    const { first_name, last_name = '', phone_number } = contact
    return textOfContact(`${first_name} ${last_name}`.trim(), [phone_number])
  }
  return sticker && `Sticker: ${sticker.emoji ?? 'without a picture'}`
}

/** Returns all mentions by username, and the bot's name in a leading command. */
function namesIn(text: string, marks: z.infer<typeof entities>): readonly NameInText[] {
  return marks.flatMap(({ type, offset, length }): readonly NameInText[] => {
    const from = offset
    const to = offset + length
    const at = text.indexOf('@', from)
    if (at === -1 || at >= to) return []
    const name = text.slice(at + 1, to)
    if (type === 'mention') return [{ type: 'mention', name, from, to }]
    return type === 'bot_command' && from === 0 ? [{ type: 'command', name, from: at, to }] : []
  })
}

/** The default name and media type of each kind of file. */
const fileKinds = {
  document: ['file', 'application/octet-stream'],
  photo: ['photo.jpg', 'image/jpeg'],
  voice: ['voice.ogg', 'audio/ogg'],
  audio: ['audio.mp3', 'audio/mpeg'],
  video: ['video.mp4', 'video/mp4'],
  video_note: ['video.mp4', 'video/mp4'],
  sticker: ['sticker.webp', 'image/webp'],
} as const

/**
 * Returns the files of a message, with the kind's usual name and type where it has none. Of a photo, only the largest size. Of a
 * sticker that moves, its picture.
 */
function filesIn(raw: Message): readonly InboundFile[] {
  const { photo, document, voice, audio, video, video_note, sticker } = raw
  const picture = sticker?.is_animated || sticker?.is_video ? sticker.thumbnail : sticker
  // Sizes are listed from the smallest. https://core.telegram.org/bots/api#photosize
  const files = { document, photo: photo?.at(-1), voice, audio, video, video_note, sticker: picture }
  return Object.entries(fileKinds).flatMap(([kind, [name, mime]]) => {
    const file = files[kind as keyof typeof fileKinds]
    if (!file) return []
    const { file_id: ref, file_name, mime_type, file_size: size, duration: seconds } = file
    const told = { ...(size !== undefined && { size }), ...(seconds !== undefined && { seconds }) }
    return [{ ref, name: file_name || name, mime: mime_type || mime, ...told }]
  })
}

/** Returns the text without these names. Each mention is cut out with the space after it. The rest stays verbatim. */
export function withoutNames(text: string, names: readonly NameInText[]): string {
  const cut = names.toReversed().reduce((rest, { type, from, to }) => {
    const after = rest.slice(to)
    return rest.slice(0, from) + (type === 'mention' ? after.replace(/^[ \t]/, '') : after)
  }, text)
  return cut.trim()
}

/** Whether the person didn't type this text now, so that it can't answer what the chat shows. */
function isNotTyped({ forward_origin, forward_date, via_bot, is_from_offline }: z.infer<typeof message>): boolean {
  const isByOthers = [forward_origin, forward_date, via_bot].some((mark) => mark !== undefined)
  return isByOthers || is_from_offline === true
}

/** The service account of anonymous administrators without `sender_chat`. https://core.telegram.org/bots/api#message */
const anonymousAdmin = 1_087_968_824

/**
 * Returns the author of a message. A message posted in a chat's name hides its author, who is then anonymous. Undefined for
 * messages from bots.
 */
function authorOf({ from, sender_chat: as, chat }: z.infer<typeof message>): Actor | undefined {
  const poster = as ?? (from?.id === anonymousAdmin ? chat : undefined)
  if (poster) return { ...actorOf(poster), isAnonymous: true }
  return from && !from.is_bot ? actorOf(from) : undefined
}

/**
 * Returns the message that was replied to. Undefined if it isn't a reply. A message in another chat or a story has an id that
 * matches none of this chat. In a topic, a message that isn't a reply still has the topic's first message as
 * `reply_to_message`, whose id is the topic's. See https://github.com/banteg/takopi/pull/152.
 */
function repliedMessageIn(raw: Message): MessageRef | undefined {
  const { reply_to_message: replied, external_reply: external, message_thread_id, is_topic_message } = raw
  // A message outside this chat can't be the bot's. The prefix keeps its id from matching one of them.
  if (external || raw.reply_to_story !== undefined) return { id: `elsewhere/${external?.message_id ?? ''}` }
  if (!replied || (is_topic_message === true && replied.message_id === message_thread_id)) return undefined
  return { id: String(replied.message_id) }
}

/** Returns the chat of a message, with its thread only if that is a topic. */
function chatIn({ chat, message_thread_id, is_topic_message }: z.infer<typeof place>): Chat {
  return chatOf(chat.id, is_topic_message === true ? message_thread_id : undefined)
}

/** Returns a person with the full name, or else the title, the username or the id. */
function actorOf({ id, first_name, last_name, username, title }: z.infer<typeof person>): Actor {
  const full = [first_name, last_name].filter((name) => name !== undefined && name !== '').join(' ')
  return { id: String(id), name: full || title || username || String(id) }
}
