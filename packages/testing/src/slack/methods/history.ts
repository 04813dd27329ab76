import type { Channel, Post } from '../chat.ts'
import { isOn, type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, type SlackState } from '../state.ts'
import type { Result } from './chat.ts'

/** Newest first, without answers in threads. https://docs.slack.dev/reference/methods/conversations.history */
export function history(state: SlackState, payload: Payload): Result {
  const channel = readable(state, payload)
  const posts = [...channel.posts.values()].filter(({ ts, threadTs }) => threadTs === undefined || threadTs === ts)
  return pageOf(posts.toReversed(), state, payload)
}

/** A thread with its first message, oldest first. https://docs.slack.dev/reference/methods/conversations.replies */
export function replies(state: SlackState, payload: Payload): Result {
  const channel = readable(state, payload)
  const root = required(payload, 'ts')
  if (!channel.posts.has(root)) throw new Refusal('thread_not_found')
  return pageOf(
    [...channel.posts.values()].filter(({ ts, threadTs }) => ts === root || threadTs === root),
    state,
    payload,
  )
}

function readable(state: SlackState, payload: Payload): Channel {
  if (!state.features.history) throw new Refusal('missing_scope')
  return channelIn(state, payload)
}

function pageOf(posts: readonly Post[], { bot }: SlackState, payload: Payload): Result {
  const oldest = Number(textIn(payload, 'oldest') ?? 0)
  const limit = Number(payload.limit ?? 100)
  const found = posts.filter(({ ts }) => Number(ts) > oldest)
  const withMetadata = isOn(payload, 'include_all_metadata')
  const messages = found.slice(0, limit).map(({ ts, from, threadTs, fallback, blocks, metadata }) => ({
    ...{ type: 'message', ts, text: fallback, blocks, user: from === 'bot' ? bot : from.id },
    ...(threadTs !== undefined && { thread_ts: threadTs }),
    ...(withMetadata && metadata !== undefined && { metadata }),
  }))
  return { messages, has_more: found.length > limit }
}
