import type { Channel, Post } from '../chat.ts'
import { isOn, type Payload, required, textIn } from '../payload.ts'
import { Refusal } from '../refusal.ts'
import { channelIn, type SlackState } from '../state.ts'
import { isLive } from '../stream.ts'
import type { Result } from './chat.ts'

/** The app as the author of a message. */
export const botID = 'B0BOT'

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

/**
 * `streaming_state` is in `ConversationsRepliesResponse` of `@slack/web-api` and in `ConversationsHistoryResponse`; its
 * values are in `events/message.d.ts` of `@slack/types`. Which one a stream gets that Slack closed itself is not said.
 */
function streamingIn({ stream }: Post, now: number): Result {
  if (!stream) return {}
  if (isLive(stream, now)) return { streaming_state: 'in_progress' }
  return { streaming_state: stream.end === undefined ? 'errored' : 'completed' }
}

function pageOf(posts: readonly Post[], { bot, clock }: SlackState, payload: Payload): Result {
  const oldest = Number(textIn(payload, 'oldest') ?? 0)
  const limit = Number(payload.limit ?? 100)
  const found = posts.filter(({ ts }) => Number(ts) > oldest)
  const withMetadata = isOn(payload, 'include_all_metadata')
  const messages = found.slice(0, limit).map((post) => ({
    ...{ type: 'message', ts: post.ts, text: post.fallback, blocks: post.blocks },
    ...(post.from === 'bot' ? { user: bot, bot_id: botID } : { user: post.from.id }),
    ...streamingIn(post, clock.now()),
    ...(post.threadTs !== undefined && { thread_ts: post.threadTs }),
    ...(withMetadata && post.metadata !== undefined && { metadata: post.metadata }),
  }))
  return { messages, has_more: found.length > limit }
}
