import type { Fields } from '../fields.ts'
import type { NamedFile } from '../platform/payload.ts'

/**
 * `group`: direct messages between people. A bot takes part only through interactions of an app that a person
 * installed.
 */
type DiscordChannelKind = 'text' | 'direct' | 'group' | 'thread'

/** A place that contains messages. */
export interface FakeDiscordChannel {
  /** 17 to 19 digits. */
  readonly id: string
  /** Default "text". */
  readonly kind?: DiscordChannelKind
  /** For a thread: its parent channel. */
  readonly parentId?: string
  /** The channel's name. Default: its kind. */
  readonly name?: string
  /** Whether the bot can see it but not write there. Default false. */
  readonly isClosed?: boolean
  /** For a thread: nothing in it can be changed. Default false. */
  readonly isArchived?: boolean
}

/** An account that writes or presses. */
export interface DiscordUser {
  /** 17 to 19 digits. */
  readonly id: string
  /** Default "Person". */
  readonly name?: string
  /** Another bot. Default false. */
  readonly isBot?: boolean
  /** Whether it is a webhook, so that its messages have a `webhook_id`. Default false. */
  readonly isWebhook?: boolean
}

/**
 * A button, or a select, of a message. A link opens an address without telling the bot, so its `customId` is empty.
 */
export type DiscordComponent =
  | { readonly type: 'link'; readonly label: string; readonly customId: ''; readonly url: string }
  | { readonly type: 'button'; readonly label: string; readonly customId: string; readonly style: number }
  | {
      readonly type: 'select'
      readonly customId: string
      readonly options: readonly DiscordOption[]
      readonly min: number
      readonly max: number
    }

/** One option of a select. */
export interface DiscordOption {
  /** The visible label. */
  readonly label: string
  /** The value that the bot receives when it is picked. */
  readonly value: string
  /** A line below the label, if any. */
  readonly description?: string
}

/** A box below a message's text, with the texts that people see in it. */
export interface DiscordEmbed {
  /** The headline. May be empty. */
  readonly title: string
  /** The text below it. May be empty. */
  readonly description: string
  /** Its fields, in order. */
  readonly fields: readonly { readonly name: string; readonly value: string }[]
  /** As the bot sent it. */
  readonly source: Readonly<Record<string, unknown>>
}

/** A file of a message, with its media type if a person sent it, and its length in seconds if it is a voice message. */
interface DiscordFile extends NamedFile {
  readonly mime?: string
  readonly voiceSeconds?: number
}

/** A message in a channel. */
export interface Post {
  readonly id: string
  readonly from: 'bot' | DiscordUser
  readonly at: number
  readonly editedAt?: number
  readonly editedTimes: number
  readonly content: string
  readonly flags: number
  readonly rows: readonly (readonly DiscordComponent[])[]
  /** The components as sent: a client gets them back unchanged. */
  readonly components: readonly unknown[]
  /** As sent, if any. */
  readonly embeds?: readonly DiscordEmbed[]
  readonly files: readonly DiscordFile[]
  readonly replyTo?: string
  /** The message that this one forwards, as a snapshot. */
  readonly forwarded?: {
    readonly id: string
    readonly channelId: string
    readonly snapshot: Fields
  }
  readonly nonce?: string
  readonly reactions: readonly { readonly from: 'bot' | string; readonly emoji: string }[]
}

/** A channel and its content. */
export interface Channel {
  readonly id: string
  readonly kind: DiscordChannelKind
  readonly parentId: string | undefined
  readonly name: string
  readonly posts: Map<string, Post>
  typingUntil: number
  isClosed: boolean
  isArchived: boolean
  /** How many of the bot's messages notified. */
  notifications: number
  /** The mentions that its messages triggered, as written. */
  mentions: readonly string[]
}

/** Returns the channel without messages, with the defaults of `FakeDiscordChannel`. */
export function createChannel({
  id,
  kind = 'text',
  parentId,
  name,
  isClosed,
  isArchived,
}: FakeDiscordChannel): Channel {
  return {
    id,
    kind,
    parentId,
    name: name ?? kind,
    posts: new Map(),
    typingUntil: 0,
    notifications: 0,
    mentions: [],
    isClosed: isClosed ?? false,
    isArchived: isArchived ?? false,
  }
}
