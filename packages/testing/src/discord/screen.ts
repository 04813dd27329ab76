import type { Channel, DiscordComponent, DiscordEmbed } from './channel.ts'
import { type DiscordLink, linksInDiscord, readDiscord } from './markdown.ts'

/** A message as a person sees it. */
export interface DiscordMessage {
  /** The message's id, a snowflake. */
  readonly messageId: string
  /** `bot` for the bot under test, `user` for every other author. */
  readonly from: 'bot' | 'user'
  /** As a person reads it, with its markup applied. */
  readonly text: string
  /** The links that a person can press, in order. */
  readonly links: readonly DiscordLink[]
  /** The addresses that Discord itself loads for link previews, without a press. */
  readonly loads: readonly string[]
  /** As sent. */
  readonly source: string
  /** Rows of buttons and selects. */
  readonly rows: readonly (readonly DiscordComponent[])[]
  /** The boxes below the text. Empty if there are none. */
  readonly embeds: readonly DiscordEmbed[]
  /** The attached files. Empty if there are none. */
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  /** The id of the message that it replies to. */
  readonly replyTo: string | undefined
  /** Whether it was posted without a notification. */
  readonly isSilent: boolean
  /** How often it was edited. */
  readonly editedTimes: number
  /** Emoji from the bot and from people. */
  readonly reactions: readonly string[]
}

/** The flag of a silent message. */
export const silentFlag = 1 << 12

/** https://docs.discord.com/developers/resources/message#message-object-message-flags */
const noEmbedsFlag = 1 << 2

/**
 * Returns the addresses whose previews Discord loads. None if the message suppresses them. Those in angle brackets have
 * none: https://support.discord.com/hc/en-us/articles/206342858
 */
function previewedIn(content: string, flags: number): readonly string[] {
  if ((flags & noEmbedsFlag) !== 0) return []
  const bracketed = new Set([...content.matchAll(/<(https?:\/\/[^\s>]+)>/g)].map(([, url]) => url))
  return linksInDiscord(content).flatMap(({ url }) => (bracketed.has(url) ? [] : [url]))
}

/** Returns the messages that a person sees in a channel, oldest first. */
export function screenOf(channel: Channel): readonly DiscordMessage[] {
  return [...channel.posts.values()].map((post) => ({
    messageId: post.id,
    from: post.from === 'bot' ? 'bot' : 'user',
    text: readDiscord(post.content),
    links: linksInDiscord(post.content),
    loads: previewedIn(post.content, post.flags),
    source: post.content,
    rows: post.rows,
    embeds: post.embeds ?? [],
    files: post.files,
    replyTo: post.replyTo,
    isSilent: (post.flags & silentFlag) !== 0,
    editedTimes: post.editedTimes,
    reactions: post.reactions.map(({ emoji }) => emoji),
  }))
}
