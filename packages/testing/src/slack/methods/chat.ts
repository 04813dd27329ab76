import { fieldsOf } from '../../recorded/frames.ts'
import { type Shown, shownIn } from '../blocks.ts'
import type { Channel } from '../chat.ts'
import { limits } from '../limits.ts'
import { mentionsIn, mentionsInBlocks, mentionsInMrkdwn } from '../mention.ts'
import { isOn, listIn, type Payload, parsed, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, ownPost, putPost, replacePost, type SlackState } from '../state.ts'
import { isLive } from '../stream.ts'

/** The fields of a response besides `ok`. */
export type Result = Readonly<Record<string, unknown>>

export function postMessage(state: SlackState, payload: Payload): Result {
  const channel = channelIn(state, payload)
  const threadTs = threadIn(channel, payload)
  const written = writtenIn(state, payload, limits.text)
  const metadata = metadataIn(payload)
  const post = putPost(state, channel, { from: 'bot', threadTs, ...written, ...(metadata && { metadata }) })
  return { channel: channel.id, ts: post.ts, message: { ts: post.ts, thread_ts: threadTs } }
}

export function postEphemeral(state: SlackState, payload: Payload): Result {
  const channel = channelIn(state, payload)
  const { shown } = writtenIn(state, payload, limits.text)
  const user = required(payload, 'user')
  state.whispers.push({ user, channel: channel.id, threadTs: textIn(payload, 'thread_ts'), text: shown.text })
  state.changed(channel)
  return { message_ts: state.nextTs() }
}

export function update(state: SlackState, payload: Payload): Result {
  const channel = channelIn(state, payload)
  const post = ownPost(channel, payload)
  if (post.stream && isLive(post.stream, state.clock.now())) throw new Refusal('streaming_state_conflict')
  const written = writtenIn(state, payload, limits.updateText)
  // Removes the stream and its tasks.
  const { stream: _, ...rest } = post
  replacePost(state, channel, { ...rest, ...written, editedTimes: post.editedTimes + 1 })
  return { channel: channel.id, ts: post.ts, text: written.fallback }
}

export function remove(state: SlackState, payload: Payload): Result {
  const channel = channelIn(state, payload)
  const post = ownPost(channel, payload, 'cant_delete_message')
  channel.posts.delete(post.ts)
  state.changed(channel)
  return { channel: channel.id, ts: post.ts }
}

/**
 * An event's type and its payload, both required. Undefined if absent.
 * https://docs.slack.dev/messaging/message-metadata
 */
function metadataIn({ metadata }: Payload): object | undefined {
  if (metadata === undefined || metadata === '') return undefined
  const { event_type: type, event_payload: content } = fieldsOf(
    typeof metadata === 'string' ? parsed(metadata) : metadata,
  )
  const isValid = typeof type === 'string' && type !== '' && typeof content === 'object' && content !== null
  if (!isValid) throw new Refusal('invalid_metadata_format')
  return { event_type: type, event_payload: content }
}

/** A thread is named by its first message, which must exist. */
export function threadIn({ posts }: Channel, payload: Payload): string | undefined {
  const threadTs = textIn(payload, 'thread_ts')
  if (threadTs === undefined) return undefined
  const root = posts.get(threadTs)
  if (!root) throw new Refusal('thread_not_found')
  return root.threadTs ?? threadTs
}

interface Written {
  readonly fallback: string
  readonly shown: Shown
  readonly blocks: readonly unknown[]
}

function writtenIn(state: SlackState, payload: Payload, most: number): Written {
  const fallback = textIn(payload, 'text') ?? ''
  const markdown = textIn(payload, 'markdown_text')
  const blocks = listIn(payload, 'blocks', 'invalid_blocks_format') ?? []
  if (markdown !== undefined && (fallback !== '' || blocks.length > 0)) throw new Refusal('markdown_text_conflict')
  if (fallback.length > most) throw new Refusal('msg_too_long')
  if ((markdown?.length ?? 0) > limits.markdown) throw new Refusal('msg_too_long')
  if (fallback === '' && markdown === undefined && blocks.length === 0) throw new Refusal('no_text')
  const linksNames = isOn(payload, 'link_names') || textIn(payload, 'parse') === 'full'
  state.mentions.push(...mentionsInMrkdwn(fallback, linksNames), ...mentionsIn(markdown ?? '', linksNames))
  state.mentions.push(...mentionsInBlocks(blocks))
  if (blocks.length > 0) return { fallback, shown: shownIn(blocks), blocks }
  if (markdown !== undefined) return { fallback, shown: { text: markdown, mode: 'markdown', rows: [] }, blocks }
  return { fallback, shown: { text: unescaped(fallback), mode: 'plain', rows: [] }, blocks }
}

/** Three characters are escaped in `text`. */
function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}
