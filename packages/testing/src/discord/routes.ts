import { type Fields, fieldsOf } from '../fields.ts'
import { listOf, type NamedFile, numberIn, textIn } from '../platform/payload.ts'
import type { Channel, DiscordEmbed } from './channel.ts'
import { requireText, validRows } from './component.ts'
import { type DiscordBucket, limits } from './limits.ts'
import { invalidForm, refusals, tooLong } from './refusal.ts'
import { addPost, channelIn, type DiscordState, postIn } from './state.ts'
import { botObject, channelObject, messageObject } from './wire.ts'

/** The kind of a call. */
export type DiscordCallName = DiscordBucket | 'callback' | 'me' | 'channel' | 'messages'

/** A parsed call. */
export interface Call {
  readonly state: DiscordState
  readonly fields: Fields
  readonly files: readonly NamedFile[]
  readonly query: URLSearchParams
  readonly method: string
  readonly channelId: string
  readonly messageId: string
  /** The end of the path, if that is an emoji or an interaction's token. */
  readonly emojiOrToken: string
}

interface Route {
  readonly name: DiscordCallName
  readonly method: string
  /** Groups: `channel`, `message`, `last`. */
  readonly path: RegExp
  readonly bucket?: DiscordBucket
  /** The token is part of the path. */
  readonly isOpen?: true
  /** Throws a `Refusal`. Undefined: 204. */
  run(call: Call): unknown
}

const channel = '/channels/(?<channel>\\d{17,19})'
const message = `${channel}/messages/(?<message>\\d{17,19})`
const exactly = (path: string): RegExp => new RegExp(`^${path}$`)

const routes: readonly Route[] = [
  { name: 'post', method: 'POST', path: exactly(`${channel}/messages`), bucket: 'post', run: postMessage },
  { name: 'channel', method: 'GET', path: exactly(channel), run: readChannel },
  { name: 'messages', method: 'GET', path: exactly(`${channel}/messages`), run: readMessages },
  { name: 'edit', method: 'PATCH', path: exactly(message), bucket: 'edit', run: editMessage },
  { name: 'remove', method: 'DELETE', path: exactly(message), bucket: 'remove', run: deleteMessage },
  { name: 'typing', method: 'POST', path: exactly(`${channel}/typing`), bucket: 'typing', run: showTyping },
  { name: 'thread', method: 'POST', path: exactly(`${message}/threads`), bucket: 'thread', run: startThread },
  ...['PUT', 'DELETE'].map((method) => ({
    name: 'react' as const,
    method,
    bucket: 'react' as const,
    run: changeReaction,
    path: exactly(`${message}/reactions/(?<last>[^/]+)/@me`),
  })),
  {
    name: 'callback',
    method: 'POST',
    isOpen: true,
    run: answerInteraction,
    path: exactly('/interactions/\\d{17,19}/(?<last>[^/]+)/callback'),
  },
  {
    name: 'followUp',
    method: 'POST',
    isOpen: true,
    bucket: 'followUp',
    run: followUp,
    path: exactly('/webhooks/\\d{17,19}/(?<last>[^/]+)'),
  },
  // https://discord.com/developers/docs/resources/user#get-current-user
  { name: 'me', method: 'GET', path: exactly('/users/@me'), run: ({ state }) => botObject(state.me) },
]

/** A route, and what its path names. A name that the path doesn't have is empty. */
export type RouteMatch = Pick<Call, 'channelId' | 'messageId' | 'emojiOrToken'> & { readonly route: Route }

/** Returns the route of a call, and what its path names. Undefined if there is no such route. */
export function matchRoute(method: string, path: string): RouteMatch | undefined {
  for (const route of routes) {
    const found = route.method === method ? route.path.exec(path) : null
    if (!found) continue
    const { channel: channelId = '', message: messageId = '', last: emojiOrToken = '' } = found.groups ?? {}
    return { route, channelId, messageId, emojiOrToken }
  }
  return undefined
}

/** The flags that Discord keeps when a message is posted: no embeds, no sound. */
const keptFlags = (1 << 2) | (1 << 12)

/**
 * Posts the bot's message and returns it as REST does. It unarchives a thread and counts its mentions. If its nonce is
 * enforced and known, posts nothing and returns the earlier message. Throws a `Refusal` for an empty message, for
 * anything too long or too large, and where the bot can't write.
 */
function postMessage({ state, fields, files, channelId }: Call): unknown {
  const channel = channelIn(state, channelId)
  const content = validContent(fields)
  const rows = validRows(listOf(fields.components))
  const embeds = validEmbeds(listOf(fields.embeds))
  const nonce = validNonce(fields)
  if (content === '' && files.length === 0 && embeds.length === 0) throw refusals.empty()
  for (const [index, { bytes }] of files.entries()) {
    if (index >= limits.files) throw tooLong('attachments', limits.files)
    if (bytes.length > limits.file) throw invalidForm('files', 'FILE_TOO_LARGE', 'The file is too large.')
  }
  const replyTo = repliedIn(fields, channel)
  // https://discord.com/developers/docs/resources/message#create-message: returns the message with that nonce again.
  const earlier = nonce !== undefined && fields.enforce_nonce === true ? state.postedWithNonce(nonce) : undefined
  if (earlier) return messageObject(earlier.post, earlier.channel, state.me)
  const posted = addPost(state, channel, {
    from: 'bot',
    content,
    rows,
    files,
    components: listOf(fields.components),
    flags: (numberIn(fields, 'flags') ?? 0) & keptFlags,
    ...(embeds.length > 0 && { embeds }),
    ...(nonce !== undefined && { nonce }),
    ...(replyTo !== undefined && { replyTo }),
  })
  channel.mentions = [...channel.mentions, ...mentionsIn(content, fields.allowed_mentions)]
  channel.isArchived = false
  return messageObject(posted, channel, state.me)
}

/**
 * Edits the bot's message and returns it as REST does. Keeps the fields that the call leaves out. Given components
 * replace all existing ones. Throws a `Refusal` for another author's message, in an archived thread, if nothing would
 * be left, for too many edits of old messages, and for anything too long.
 */
function editMessage({ state, fields, channelId, messageId }: Call): unknown {
  const channel = channelIn(state, channelId)
  const post = postIn(channel, messageId)
  if (post.from !== 'bot') throw refusals.anotherAuthor()
  if (channel.isArchived) throw refusals.archived()
  const content = fields.content === undefined ? post.content : validContent(fields)
  const embeds = fields.embeds === undefined ? post.embeds : validEmbeds(listOf(fields.embeds))
  if (content === '' && post.files.length === 0 && !embeds?.length) throw refusals.empty()
  const components = fields.components === undefined ? post.components : listOf(fields.components)
  const rows = validRows(components)
  const isOld = state.clock.now() - post.at > limits.editMs
  if (isOld && state.buckets.take(`late edits in ${channelId}`, limits.lateEdits).isEmpty) throw refusals.tooManyLate()
  const edited = {
    ...post,
    content,
    components,
    rows,
    ...(embeds && { embeds }),
    editedAt: state.clock.now(),
    editedTimes: post.editedTimes + 1,
  }
  channel.posts.set(post.id, edited)
  state.changed(channel)
  return messageObject(edited, channel, state.me)
}

/** Deletes the bot's message. Throws a `Refusal` for another author's, and in an archived thread. */
function deleteMessage({ state, channelId, messageId }: Call): undefined {
  const channel = channelIn(state, channelId)
  const { id, from } = postIn(channel, messageId)
  if (from !== 'bot') throw refusals.missingPermissions()
  if (channel.isArchived) throw refusals.archived()
  channel.posts.delete(id)
  state.changed(channel)
}

/** Shows the typing indicator for 10 s, or until the bot posts. */
function showTyping({ state, channelId }: Call): undefined {
  const channel = channelIn(state, channelId)
  channel.typingUntil = state.clock.now() + limits.typingMs
  state.changed(channel)
}

/**
 * Adds the bot's emoji, or removes it. Its others and those of people stay. Throws a `Refusal` for anything but one
 * emoji.
 */
function changeReaction({ state, channelId, messageId, emojiOrToken, method }: Call): undefined {
  const channel = channelIn(state, channelId)
  const post = postIn(channel, messageId)
  const emoji = decodeURIComponent(emojiOrToken)
  if (!/^\p{Emoji_Presentation}$|^\p{Extended_Pictographic}\ufe0f?$/u.test(emoji)) throw refusals.unknownEmoji()
  const others = post.reactions.filter((each) => each.from !== 'bot' || each.emoji !== emoji)
  const own = method === 'PUT' ? [{ from: 'bot' as const, emoji }] : []
  channel.posts.set(post.id, { ...post, reactions: [...others, ...own] })
  state.changed(channel)
}

/** Returns the text, trimmed. Empty if absent. Throws a `Refusal` if it is too long. */
function validContent(fields: Fields): string {
  const content = (textIn(fields, 'content') ?? '').trim()
  if (content.length > limits.content) throw tooLong('content', limits.content)
  return content
}

/** Returns the nonce as text. Undefined if absent. Throws a `Refusal` if it is too long. */
function validNonce({ nonce }: Fields): string | undefined {
  if (nonce === undefined) return undefined
  const text = String(nonce)
  if (text.length > limits.nonce) throw tooLong('nonce', limits.nonce)
  return text
}

/**
 * Returns the id of the message that a call replies to. Undefined if the call isn't a reply, or if the reference is
 * optional and its message doesn't exist. Throws a `Refusal` if it doesn't exist otherwise.
 */
function repliedIn(fields: Fields, channel: Channel): string | undefined {
  if (fields.message_reference === undefined) return undefined
  const { message_id: id, fail_if_not_exists: mustExist } = fieldsOf(fields.message_reference)
  if (typeof id === 'string' && channel.posts.has(id)) return id
  if (mustExist === false) return undefined
  throw invalidForm('message_reference', 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', 'Unknown message')
}

/**
 * Begins a thread at a message and returns it. It has the message's id, which is how Discord finds it. Throws a
 * `Refusal` outside of text channels, for a missing or too long name, and if the message has a thread.
 */
function startThread({ state, fields, channelId, messageId }: Call): unknown {
  const parent = channelIn(state, channelId)
  if (parent.kind !== 'text') throw refusals.wrongChannel()
  const { id } = postIn(parent, messageId)
  const name = textIn(fields, 'name') ?? ''
  if (name === '' || name.length > limits.threadName)
    throw invalidForm('name', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 100 in length.')
  if (state.threadOf(id)) throw refusals.hasThread()
  const made = state.add({ id, kind: 'thread', parentId: parent.id, name })
  state.changed(parent)
  return { id: made.id, type: 11, name, parent_id: parent.id }
}

/**
 * Takes the first answer to an interaction. Throws a `Refusal` for an unknown token, and as `OpenInteraction.answer`.
 * https://discord.com/developers/docs/interactions/receiving-and-responding
 */
function answerInteraction({ state, fields, emojiOrToken: token }: Call): undefined {
  const interaction = state.interactions.byToken(token)
  if (!interaction) throw refusals.unknownInteraction()
  interaction.answer(fields)
}

/**
 * Takes a further answer to an interaction, and returns the id of its message. Throws a `Refusal` for an unknown token,
 * for a text that is too long, and as `OpenInteraction.followUp`.
 */
function followUp({ state, fields, emojiOrToken: token }: Call): unknown {
  const interaction = state.interactions.byToken(token)
  if (!interaction) throw refusals.unknownWebhook()
  if ((textIn(fields, 'content') ?? '').length > limits.content) throw tooLong('content', limits.content)
  interaction.followUp(fields)
  return { id: state.nextId() }
}

/**
 * Returns a channel with the id of its last message, or null.
 * https://docs.discord.com/developers/resources/channel#get-channel
 */
function readChannel({ state, channelId }: Call): unknown {
  const channel = channelIn(state, channelId)
  return { ...channelObject(channel), last_message_id: [...channel.posts.keys()].at(-1) ?? null }
}

/**
 * Returns the last messages of a channel, newest first: 50 by default. After an id come those right behind it, not the
 * newest: discord.py pages like that (`_after_strategy` in `discord/abc.py`). The messages lack what only the gateway
 * adds. Throws a `Refusal` for a limit outside of 1 to 100.
 * https://docs.discord.com/developers/resources/message#get-channel-messages
 */
function readMessages({ state, channelId, query }: Call): unknown {
  const channel = channelIn(state, channelId)
  const count = Number(query.get('limit') ?? 50)
  if (!(count >= 1 && count <= 100))
    throw invalidForm('limit', 'NUMBER_TYPE_MAX', 'int value should be between 1 and 100.')
  const after = query.get('after')
  const posts = [...channel.posts.values()]
  const found =
    after === null ? posts.slice(-count) : posts.filter(({ id }) => BigInt(id) > BigInt(after)).slice(0, count)
  return found.toReversed().map((post) => messageObject(post, channel, state.me, state.cdn()))
}

/**
 * Returns the embeds of a message. Throws a `Refusal` for too many, for too much text in all, and for a wrong one.
 * https://discord.com/developers/docs/resources/message#embed-object-embed-limits
 */
function validEmbeds(embeds: readonly unknown[]): readonly DiscordEmbed[] {
  if (embeds.length > limits.embeds) throw tooLong('embeds', limits.embeds)
  const all = embeds.map((each, index) => validEmbed(fieldsOf(each), `embeds.${index}`))
  const length = all.reduce((sum, embed) => sum + embedLength(embed), 0)
  if (length > limits.embedTexts)
    throw invalidForm('embeds', 'MAX_EMBED_SIZE_EXCEEDED', `Embed size exceeds maximum size of ${limits.embedTexts}`)
  return all
}

/**
 * Returns an embed. Throws a `Refusal` for one that shows nothing, for a field without a name or value, and for
 * anything too long.
 */
function validEmbed(source: Fields, path: string): DiscordEmbed {
  const fields = listOf(source.fields).map((each, index) => {
    const field = fieldsOf(each)
    const at = `${path}.fields.${index}`
    const name = requireText(field, 'name', at, limits.fieldName)
    return { name, value: requireText(field, 'value', at, limits.fieldValue) }
  })
  if (fields.length > limits.embedFields) throw tooLong(`${path}.fields`, limits.embedFields)
  const title = optionalText(source.title, `${path}.title`, limits.embedTitle)
  const description = optionalText(source.description, `${path}.description`, limits.embedDescription)
  optionalText(fieldsOf(source.footer).text, `${path}.footer.text`, limits.footer)
  optionalText(fieldsOf(source.author).name, `${path}.author.name`, limits.author)
  const isEmpty = title === '' && description === '' && fields.length === 0
  if (isEmpty && source.image === undefined && source.thumbnail === undefined && source.author === undefined)
    throw invalidForm(`${path}.description`, 'BASE_TYPE_REQUIRED', 'This field is required')
  return { title, description, fields, source }
}

/** The characters of an embed's texts, those of its footer and author included. */
function embedLength({ title, description, fields, source }: DiscordEmbed): number {
  const texts = [title, description, fieldsOf(source.footer).text, fieldsOf(source.author).name]
  const length = texts.reduce<number>((sum, text) => sum + String(text ?? '').length, 0)
  return fields.reduce((sum, { name, value }) => sum + name.length + value.length, length)
}

/** Returns the text. Empty if it is undefined or null. Throws a `Refusal` if it is too long. */
function optionalText(value: unknown, path: string, most: number): string {
  if (value === undefined || value === null) return ''
  const text = String(value)
  if (text.length > most) throw tooLong(path, most)
  return text
}

const written = /@everyone|@here|<@[!&]?(\d+)>/g

/** Mentions in code don't notify. */
const code = /```[\s\S]*?```|(`+)[\s\S]*?[^`]\1(?!`)/g

/**
 * Returns the mentions that a message triggers, as written: `@everyone`, `@here`, or a person's or role's mark. Leaves
 * out those in code, and those that `allowed_mentions` doesn't allow.
 * https://discord.com/developers/docs/resources/message#allowed-mentions-object
 */
function mentionsIn(content: string, allowed: unknown): readonly string[] {
  const found = content.replace(code, '').matchAll(written)
  return [...found].filter(([mark, id]) => isMentionAllowed(mark, id, allowed)).map(([mark]) => mark)
}

/**
 * Whether `allowed_mentions` allows a mention, by its kind or by its id. True if the call has none. `id` is undefined
 * for `@everyone` and `@here`.
 */
function isMentionAllowed(mark: string, id: string | undefined, allowed: unknown): boolean {
  if (allowed === undefined || allowed === null) return true
  const fields = fieldsOf(allowed)
  const parse = listOf(fields.parse)
  if (id === undefined) return parse.includes('everyone')
  const kind = mark.startsWith('<@&') ? 'roles' : 'users'
  return parse.includes(kind) || listOf(fields[kind]).includes(id)
}
