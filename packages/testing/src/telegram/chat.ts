import type { Media } from './file.ts'
import type { TelegramEntity, TelegramMode } from './formatted.ts'
import type { TelegramRichNode } from './rich.ts'

/** Telegram's own names. A `supergroup` can have topics. */
export type TelegramChatType = 'private' | 'group' | 'supergroup'

/** A chat that exists at the start. */
export interface TelegramChat {
  /** Above 0 for a person's chat, below for a group. */
  readonly id: number
  /** Default: "private" for an id above 0, "group" for one below. */
  readonly type?: TelegramChatType
  /** The person's name, or the group's title. Default "Person" or "Group". */
  readonly title?: string
  /** The `message_thread_id`s of its topics. Default none. */
  readonly topics?: readonly number[]
  /** Whether the person has blocked the bot, or the group has removed it: 403. Default false. */
  readonly isBlocked?: boolean
}

/** An account that writes or presses. */
export interface TelegramPerson {
  /** Telegram's id of the person, above 0. */
  readonly id: number
  /** Default "Person". */
  readonly name?: string
  /** Default false. */
  readonly isBot?: boolean
}

/** A button below a message. */
export interface TelegramButton {
  /** The visible label. */
  readonly text: string
  /** Absent for a link. */
  readonly data?: string
  /** Where a link leads. Absent for a button with data. */
  readonly url?: string
  /**
   * Another function in the person's app, by the Bot API's name, for example `copy_text`. The bot gets no update for
   * it.
   */
  readonly action?: string
}

/** Rows of buttons, from the top. */
export type TelegramRows = readonly (readonly TelegramButton[])[]

export interface Content {
  readonly text: string
  readonly entities: readonly TelegramEntity[]
  readonly source: string
  readonly mode: TelegramMode
  readonly rich: readonly TelegramRichNode[]
  readonly loads: readonly string[]
  readonly names: readonly string[]
  readonly commands: readonly string[]
}

export interface StoredFile {
  readonly fileId: string
  readonly name: string
  readonly bytes: Uint8Array
}

interface Reaction {
  readonly from: 'bot' | number
  readonly emoji: string
}

/** A message in a chat. */
export interface Post {
  readonly messageId: number
  readonly from: 'bot' | TelegramPerson
  readonly at: number
  readonly editedAt?: number
  readonly editedTimes: number
  readonly content: Content
  readonly rows: TelegramRows
  readonly document?: StoredFile
  readonly photo?: StoredFile
  readonly media?: Media
  readonly albumId?: string
  readonly replyTo?: number
  readonly threadId?: number
  readonly isSilent: boolean
  readonly reactions: readonly Reaction[]
}

/** A message being written. */
export interface Draft {
  readonly draftId: number
  readonly threadId?: number
  readonly content: Content
  readonly until: number
  readonly canStop: boolean
  readonly keepOnStop: boolean
}

/**
 * A chat and its content. Each topic, or `undefined` for messages outside topics, has one draft and one "typing…" at a
 * time.
 */
export interface Chat {
  readonly id: number
  readonly type: TelegramChatType
  readonly title: string
  readonly topics: ReadonlySet<number>
  readonly posts: Map<number, Post>
  readonly drafts: Map<number | undefined, Draft>
  readonly typingUntil: Map<number | undefined, number>
  isBlocked: boolean
  /** The supergroup that it became. */
  movedTo?: number
  /** How many of the bot's messages notified. */
  notifications: number
}

/** Returns the chat without messages, with the defaults of `TelegramChat`. */
export function createChat(options: TelegramChat): Chat {
  const type = options.type ?? (options.id > 0 ? 'private' : 'group')
  return {
    id: options.id,
    type,
    title: options.title ?? (type === 'private' ? 'Person' : 'Group'),
    topics: new Set(options.topics),
    posts: new Map(),
    drafts: new Map(),
    typingUntil: new Map(),
    isBlocked: options.isBlocked ?? false,
    notifications: 0,
  }
}
