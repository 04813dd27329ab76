import type { Shown } from '../blocks.ts'
import { shownIn } from '../blocks.ts'
import type { Channel } from '../chat.ts'
import { mentionsIn } from '../mention.ts'
import { listIn, type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, ownPost, putPost, replacePost, type SlackState } from '../state.ts'
import { begun, continued, type Stream, stopped } from '../stream.ts'
import { type Result, threadIn } from './chat.ts'
import { stateIn } from './thread.ts'

export function startStream(state: SlackState, payload: Payload): Result {
  mustHave(state)
  const channel = channelIn(state, payload)
  required(payload, 'thread_ts')
  const threadTs = threadIn(channel, payload)
  if (!channel.isDirect) {
    if (textIn(payload, 'recipient_user_id') === undefined) throw new Refusal('missing_recipient_user_id')
    if (textIn(payload, 'recipient_team_id') === undefined) throw new Refusal('missing_recipient_team_id')
  }
  const stream = begun(payload, state.clock.now())
  const post = putPost(state, channel, { from: 'bot', threadTs, ...lookOf(state, stream), blocks: [], stream })
  // A stream creates a session, and the session is working.
  if (threadTs !== undefined) channel.sessions.set(threadTs, 'processing')
  return { channel: channel.id, ts: post.ts }
}

export function appendStream(state: SlackState, payload: Payload): Result {
  const { channel, post, stream } = streamIn(state, payload)
  const next = continued(stream, payload, state.clock.now())
  replacePost(state, channel, { ...post, ...lookOf(state, next), stream: next })
  return { channel: channel.id, ts: post.ts }
}

export function stopStream(state: SlackState, payload: Payload): Result {
  const { channel, post, stream } = streamIn(state, payload)
  const session = stateIn(textIn(payload, 'session_status') ?? 'active')
  const next = stopped(stream, payload, state.clock.now())
  const blocks = listIn(payload, 'blocks', 'invalid_blocks') ?? []
  const { shown, fallback } = lookOf(state, next)
  const rows = blocks.length > 0 ? shownIn(blocks).rows : []
  replacePost(state, channel, { ...post, fallback, shown: { ...shown, rows }, blocks, stream: next })
  if (post.threadTs !== undefined) channel.sessions.set(post.threadTs, session)
  return { channel: channel.id, ts: post.ts }
}

function streamIn(state: SlackState, payload: Payload) {
  mustHave(state)
  const channel: Channel = channelIn(state, payload)
  const post = ownPost(channel, payload, 'message_not_owned_by_app')
  if (!post.stream) throw new Refusal('message_not_in_streaming_state')
  return { channel, post, stream: post.stream }
}

function mustHave({ features }: SlackState): void {
  if (!features.streams) throw new Refusal('feature_not_enabled')
}

function lookOf(
  state: SlackState,
  { text, plan, tasks }: Stream,
): { readonly shown: Shown; readonly fallback: string } {
  const words = [text, plan, ...tasks.flatMap(({ title, details, output }) => [title, details, output])]
  for (const mention of words.flatMap((one) => mentionsIn(one)))
    if (!state.mentions.includes(mention)) state.mentions.push(mention)
  return { shown: { text, mode: 'markdown', rows: [] }, fallback: text }
}
