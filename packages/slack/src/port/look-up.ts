import type { Clock } from '@reply/core'
import { type LookedUp, type LookUpOptions, PortError } from '@reply/sink/channel'
import { wallTime } from '@reply/sink/internal'
import type { SlackFields } from '../api.ts'
import type { Call } from '../call.ts'
import type { Features } from '../features.ts'
import { streamMs } from '../limits.ts'
import { refOf } from '../place.ts'

export interface LookUpPlace {
  readonly call: Call
  readonly channelId: string
  /** The `ts` of the thread's first message, for posts in a thread. */
  readonly threadTs: string | undefined
  /** Outside of threads, a post that replies to a message is in the thread of that. */
  readonly startsThreads: boolean
  readonly features: Features
  readonly clock: Clock
}

/** Names a post's key in its metadata. https://docs.slack.dev/messaging/message-metadata */
const eventType = 'reply_post'

/** Most messages to read: what Slack gives at once. https://docs.slack.dev/reference/methods/conversations.history */
const most = 100

/** How far Slack's clock and ours may differ, in ms. */
const skewMs = 60_000

/** Metadata by which `lookUp` finds a post. People don't see it. */
export function metadataOf(key: string): SlackFields {
  return { event_type: eventType, event_payload: { key } }
}

/** How long after its call a stream may begin, in ms: a call ends after 30 s. */
const openingMs = 30_000

/**
 * Reads the newest messages back. Without the scope to read (`channels:history` and the like), and for files, which have
 * no metadata, it only finds out whether Slack answers.
 */
export async function lookUp(options: LookUpOptions, place: LookUpPlace): Promise<LookedUp> {
  const { threadTs, startsThreads } = place
  const found = await lookIn(threadTs, options, place)
  const started = threadTs === undefined && startsThreads ? options.replyTo?.id : undefined
  if (found.type === 'there' || started === undefined) return found
  const below = await lookIn(started, options, place)
  return below.type === 'absent' ? found : below
}

async function lookIn(threadTs: string | undefined, options: LookUpOptions, place: LookUpPlace): Promise<LookedUp> {
  const { key, kind, since, signal } = options
  const { call, channelId: channel } = place
  const oldest = String((since - skewMs) / 1000)
  const fields = { channel, oldest, limit: most, include_all_metadata: true }
  const about = { verb: 'look-up', signal }
  try {
    const { messages, has_more } = await (threadTs === undefined
      ? call('conversations.history', fields, about)
      : call('conversations.replies', { ...fields, ts: threadTs }, about))
    if (kind === 'file' || !Array.isArray(messages)) return { type: 'unknown' }
    const all = messages.map(fieldsIn)
    if (kind === 'stream') return await streamAmong(has_more === true ? undefined : all, options, place)
    const ts = all.find((message) => keyIn(message) === key)?.ts
    if (typeof ts === 'string') return { type: 'there', ref: refOf(ts) }
    return { type: has_more === true ? 'unknown' : 'absent' }
  } catch (error) {
    if (!(error instanceof PortError) || error.type !== 'refused') throw error
    return { type: 'unknown' }
  }
}

/**
 * `chat.startStream` takes no metadata, but Slack says of each message who streams it: `user` and `streaming_state`, as
 * `ConversationsRepliesResponse` of `@slack/web-api` names them; the states are in `events/message.d.ts` of
 * `@slack/types`. The one stream of this app that began then, is open, and belongs to no other reply is the one looked
 * for. `messages`: undefined if there are more than Slack gives at once.
 */
async function streamAmong(
  messages: readonly SlackFields[] | undefined,
  { since, signal }: LookUpOptions,
  { call, features, clock }: LookUpPlace,
): Promise<LookedUp> {
  if (!messages) return { type: 'unknown' }
  const me = features.me ?? (await call('auth.test', {}, { verb: 'look-up', signal })).user_id
  if (typeof me !== 'string') return { type: 'unknown' }
  features.me = me
  const found = messages.flatMap(({ user, streaming_state, ts }) => {
    const isOpen = user === me && streaming_state === 'in_progress' && typeof ts === 'string'
    const isThen = Number(ts) * 1000 < since + openingMs + skewMs
    return isOpen && isThen && !features.streamed.has(ts) ? [ts] : []
  })
  const [ts] = found
  if (ts !== undefined && found.length === 1) {
    features.streamed.set(ts, true)
    return { type: 'there', ref: refOf(ts) }
  }
  // Slack may have closed an older one by itself.
  return { type: found.length === 0 && wallTime(clock) < since + streamMs ? 'absent' : 'unknown' }
}

function keyIn({ metadata }: SlackFields): unknown {
  const { event_type, event_payload } = fieldsIn(metadata)
  return event_type === eventType ? fieldsIn(event_payload).key : undefined
}

function fieldsIn(value: unknown): SlackFields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
