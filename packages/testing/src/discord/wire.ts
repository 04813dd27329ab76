import type { Channel, DiscordUser, Post } from './channel.ts'

/** The bot, as the gateway names it. */
export interface Me {
  readonly id: string
  readonly username: string
}

/** The one server that all channels are in that are no direct messages. */
export const guildId = '900000000000000001'

const kinds: Readonly<Record<Channel['kind'], number>> = { text: 0, direct: 1, thread: 11 }

export function userOf({ id, name = 'Person' }: DiscordUser): Readonly<Record<string, unknown>> {
  const username = name.toLowerCase().replace(/\W/g, '_')
  return { id, username, global_name: name, discriminator: '0', avatar: null, bot: false }
}

export function botOf({ id, username }: Me): Readonly<Record<string, unknown>> {
  return { id, username, global_name: null, discriminator: '0001', avatar: null, bot: true }
}

export function channelOf({ id, kind, parentId, name }: Channel): Readonly<Record<string, unknown>> {
  const place = kind === 'direct' ? {} : { guild_id: guildId }
  return { id, type: kinds[kind], name, ...place, ...(parentId !== undefined && { parent_id: parentId }) }
}

/** A message, as REST and the gateway give it. https://discord.com/developers/docs/resources/message#message-object */
export function messageOf(post: Post, channel: Channel, me: Me): Readonly<Record<string, unknown>> {
  return {
    id: post.id,
    channel_id: channel.id,
    author: post.from === 'bot' ? botOf(me) : userOf(post.from),
    content: post.content,
    timestamp: new Date(post.at).toISOString(),
    edited_timestamp: post.editedAt === undefined ? null : new Date(post.editedAt).toISOString(),
    tts: false,
    mention_everyone: false,
    mentions: [],
    mention_roles: [],
    attachments: post.files.map(({ name, bytes }, index) => ({
      ...{ id: String(index), filename: name, size: bytes.length, url: 'https://cdn.invalid/', proxy_url: '' },
    })),
    embeds: [],
    pinned: false,
    type: post.replyTo === undefined ? 0 : 19,
    flags: post.flags,
    components: post.components,
    ...(post.nonce !== undefined && { nonce: post.nonce }),
    ...(post.replyTo !== undefined && {
      message_reference: { message_id: post.replyTo, channel_id: channel.id, type: 0 },
    }),
  }
}
