import type { Fields } from '../fields.ts'
import type { Channel, DiscordUser, Post } from './channel.ts'

/** The bot, as the gateway names it. */
export interface Me {
  readonly id: string
  readonly username: string
}

/** The single server that contains all channels except direct messages. */
export const guildId = '900000000000000001'

/** https://docs.discord.com/developers/resources/channel#channel-object-channel-types */
const kinds: Readonly<Record<Channel['kind'], number>> = { text: 0, direct: 1, group: 3, thread: 11 }

/** https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-object-interaction-context-types */
const contexts: Readonly<Record<Channel['kind'], number>> = { text: 0, direct: 1, group: 2, thread: 0 }

/**
 * Whether a channel is outside of a server, as direct messages are, so that nothing names the server or a member of
 * it.
 */
export function isOutsideServer({ kind }: Channel): boolean {
  return kind === 'direct' || kind === 'group'
}

/**
 * An account as REST names it, without whether it is a webhook.
 * https://discord.com/developers/docs/resources/user#user-object
 */
export function userObject({ id, name = 'Person', isBot = false }: DiscordUser): Fields {
  const username = name.toLowerCase().replace(/\W/g, '_')
  return { id, username, global_name: name, discriminator: '0', avatar: null, bot: isBot }
}

/** The bot's own user object. */
export function botObject({ id, username }: Me): Fields {
  return { id, username, global_name: null, discriminator: '0001', avatar: null, bot: true }
}

/**
 * Returns a channel as REST returns it, with its server's id unless it is outside of one.
 * https://docs.discord.com/developers/resources/channel#channel-object
 */
export function channelObject(channel: Channel): Fields {
  const { id, kind, parentId, name } = channel
  const place = isOutsideServer(channel) ? {} : { guild_id: guildId }
  return { id, type: kinds[kind], name, ...place, ...(parentId !== undefined && { parent_id: parentId }) }
}

/** The number of the kind of place that an interaction came from. */
export function interactionContext({ kind }: Channel): number {
  return contexts[kind]
}

/**
 * Returns the fields that a message has only over the gateway: the channel's type, and within a server its id and the
 * author's membership, which a webhook lacks. `channel_type` is in discord-api-types' GatewayMessageEventExtraFields,
 * the others in https://docs.discord.com/developers/events/gateway-events#message-create
 */
export function gatewayFieldsOf(channel: Channel, author: DiscordUser): Fields {
  const channel_type = kinds[channel.kind]
  if (isOutsideServer(channel)) return { channel_type }
  return { channel_type, guild_id: guildId, ...(!author.isWebhook && { member: { nick: null, roles: [] } }) }
}

/**
 * Returns the message without `replyTo`. Discord's `referenced_message` doesn't say which message that one replies to.
 */
function withoutReplyTo({ replyTo: _, ...post }: Post): Post {
  return post
}

/**
 * A message as REST and the gateway return it, with the message that it replies to, or null if that one is deleted. The
 * addresses of its files begin with `cdn`. https://discord.com/developers/docs/resources/message#message-object
 */
export function messageObject(post: Post, channel: Channel, me: Me, cdn = 'https://cdn.invalid'): Fields {
  const replied = post.replyTo === undefined ? undefined : channel.posts.get(post.replyTo)
  return {
    id: post.id,
    channel_id: channel.id,
    author: post.from === 'bot' ? botObject(me) : userObject(post.from),
    content: post.content,
    timestamp: new Date(post.at).toISOString(),
    edited_timestamp: post.editedAt === undefined ? null : new Date(post.editedAt).toISOString(),
    tts: false,
    mention_everyone: false,
    mentions: post.content.includes(`<@${me.id}>`) ? [botObject(me)] : [],
    mention_roles: [],
    attachments: post.files.map(({ name, bytes, mime = 'text/plain', voiceSeconds }, index) => ({
      id: String(index),
      filename: name,
      size: bytes.length,
      content_type: mime,
      ...(voiceSeconds !== undefined && { duration_secs: voiceSeconds, waveform: 'AA==' }),
      url: `${cdn}/attachments/${channel.id}/${post.id}/${index}/${encodeURIComponent(name)}`,
      proxy_url: '',
    })),
    embeds: (post.embeds ?? []).map(({ source }) => ({ type: 'rich', ...source })),
    pinned: false,
    type: post.replyTo === undefined ? 0 : 19,
    flags: post.flags,
    components: post.components,
    ...(post.nonce !== undefined && { nonce: post.nonce }),
    ...(post.from !== 'bot' && post.from.isWebhook && { webhook_id: post.from.id }),
    // https://docs.discord.com/developers/resources/message#message-reference-types
    ...(post.forwarded && {
      message_reference: { message_id: post.forwarded.id, channel_id: post.forwarded.channelId, type: 1 },
      message_snapshots: [{ message: post.forwarded.snapshot }],
    }),
    ...(post.replyTo !== undefined && {
      message_reference: { message_id: post.replyTo, channel_id: channel.id, type: 0 },
      referenced_message: replied ? messageObject(withoutReplyTo(replied), channel, me) : null,
    }),
  }
}
