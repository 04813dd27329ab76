import { fieldsOf } from '../../recorded/frames.ts'
import type { Channel } from '../channel.ts'
import { rowsOf } from '../component.ts'
import { embedsOf } from '../embed.ts'
import { limits } from '../limits.ts'
import { rungBy } from '../mention.ts'
import { listIn, numberIn, type Payload, textIn } from '../payload.ts'
import { invalidForm, refusals, tooLong } from '../refusal.ts'
import { channelIn, postIn, putPost } from '../state.ts'
import { messageOf } from '../wire.ts'
import type { Call } from './all.ts'

/** The flags that Discord keeps when a message is posted: no embeds, no sound. */
const keptFlags = (1 << 2) | (1 << 12)

export function post({ state, payload, channelId }: Call): unknown {
  const channel = channelIn(state, channelId)
  const content = contentIn(payload)
  const rows = rowsOf(listIn(payload.fields, 'components'))
  const embeds = embedsOf(listIn(payload.fields, 'embeds'))
  const nonce = nonceIn(payload)
  if (content === '' && payload.files.length === 0 && embeds.length === 0) throw refusals.empty()
  for (const [index, { bytes }] of payload.files.entries()) {
    if (index >= limits.files) throw tooLong('attachments', limits.files)
    if (bytes.length > limits.file) throw invalidForm('files', 'FILE_TOO_LARGE', 'The file is too large.')
  }
  const replyTo = repliedIn(payload, channel)
  // https://discord.com/developers/docs/resources/message#create-message: returns the message with that nonce again.
  const known = nonce !== undefined && payload.fields.enforce_nonce === true ? state.posted(nonce) : undefined
  if (known) return messageOf(known.post, known.channel, state.me)
  const put = putPost(state, channel, {
    ...{ from: 'bot', content, rows, files: payload.files },
    components: listIn(payload.fields, 'components'),
    flags: (numberIn(payload, 'flags') ?? 0) & keptFlags,
    ...(embeds.length > 0 && { embeds }),
    ...(nonce !== undefined && { nonce }),
    ...(replyTo !== undefined && { replyTo }),
  })
  channel.rung = [...channel.rung, ...rungBy(content, payload.fields.allowed_mentions)]
  channel.isArchived = false
  return messageOf(put, channel, state.me)
}

/** Keeps fields that are absent; given components replace all existing ones. */
export function edit({ state, payload, channelId, messageId }: Call): unknown {
  const channel = channelIn(state, channelId)
  const post = postIn(channel, messageId)
  if (post.from !== 'bot') throw refusals.anotherAuthor()
  if (channel.isArchived) throw refusals.archived()
  const content = payload.fields.content === undefined ? post.content : contentIn(payload)
  const embeds = payload.fields.embeds === undefined ? post.embeds : embedsOf(listIn(payload.fields, 'embeds'))
  if (content === '' && post.files.length === 0 && !embeds?.length) throw refusals.empty()
  const components = payload.fields.components === undefined ? post.components : listIn(payload.fields, 'components')
  const rows = rowsOf(components)
  const isOld = state.clock.now() - post.at > limits.editMs
  if (isOld && state.buckets.take(`late edits in ${channelId}`, limits.lateEdits).isEmpty) throw refusals.tooManyLate()
  const edited = {
    ...{ ...post, content, components, rows, ...(embeds && { embeds }) },
    editedAt: state.clock.now(),
    editedTimes: post.editedTimes + 1,
  }
  channel.posts.set(post.id, edited)
  state.changed(channel)
  return messageOf(edited, channel, state.me)
}

export function remove({ state, channelId, messageId }: Call): undefined {
  const channel = channelIn(state, channelId)
  const { id, from } = postIn(channel, messageId)
  if (from !== 'bot') throw refusals.missingPermissions()
  if (channel.isArchived) throw refusals.archived()
  channel.posts.delete(id)
  state.changed(channel)
}

export function typing({ state, channelId }: Call): undefined {
  const channel = channelIn(state, channelId)
  channel.typingUntil = state.clock.now() + limits.typingMs
  state.changed(channel)
}

export function react({ state, channelId, messageId, rest, method }: Call): undefined {
  const channel = channelIn(state, channelId)
  const post = postIn(channel, messageId)
  const emoji = decodeURIComponent(rest)
  if (!/^\p{Emoji_Presentation}$|^\p{Extended_Pictographic}\ufe0f?$/u.test(emoji)) throw refusals.unknownEmoji()
  const others = post.reactions.filter((each) => each.from !== 'bot' || each.emoji !== emoji)
  const own = method === 'PUT' ? [{ from: 'bot' as const, emoji }] : []
  channel.posts.set(post.id, { ...post, reactions: [...others, ...own] })
  state.changed(channel)
}

function contentIn(payload: Payload): string {
  const content = (textIn(payload, 'content') ?? '').trim()
  if (content.length > limits.content) throw tooLong('content', limits.content)
  return content
}

function nonceIn({ fields: { nonce } }: Payload): string | undefined {
  if (nonce === undefined) return undefined
  const text = String(nonce)
  if (text.length > limits.nonce) throw tooLong('nonce', limits.nonce)
  return text
}

/** Undefined if the reference is optional and its message doesn't exist. */
function repliedIn({ fields }: Payload, channel: Channel): string | undefined {
  if (fields.message_reference === undefined) return undefined
  const { message_id: id, fail_if_not_exists: mustExist } = fieldsOf(fields.message_reference)
  if (typeof id === 'string' && channel.posts.has(id)) return id
  if (mustExist === false) return undefined
  throw invalidForm('message_reference', 'MESSAGE_REFERENCE_UNKNOWN_MESSAGE', 'Unknown message')
}

/** A thread has the id of its starter message, which is how Discord finds it. */
export function thread({ state, payload, channelId, messageId }: Call): unknown {
  const parent = channelIn(state, channelId)
  if (parent.kind !== 'text') throw refusals.wrongChannel()
  const { id } = postIn(parent, messageId)
  const name = textIn(payload, 'name') ?? ''
  if (name === '' || name.length > limits.threadName)
    throw invalidForm('name', 'BASE_TYPE_BAD_LENGTH', 'Must be between 1 and 100 in length.')
  if (state.threadOf(id)) throw refusals.hasThread()
  const made = state.add({ id, kind: 'thread', parentId: parent.id, name })
  state.changed(parent)
  return { id: made.id, type: 11, name, parent_id: parent.id }
}
