import { type LookedUp, type LookUpOptions, PortError } from '@reply/sink/channel'
import type { SlackFields } from '../api.ts'
import type { Call } from '../call.ts'
import { refOf } from '../place.ts'

export interface LookUpPlace {
  readonly call: Call
  readonly channelId: string
  /** The `ts` of the thread's first message, for posts in a thread. */
  readonly threadTs: string | undefined
  /** Outside of threads, a post that replies to a message is in the thread of that. */
  readonly startsThreads: boolean
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

/**
 * Reads the newest messages back. Without the scope to read (`channels:history` and the like), and for files and streams,
 * which have no metadata, it only finds out whether Slack answers.
 */
export async function lookUp(options: LookUpOptions, place: LookUpPlace): Promise<LookedUp> {
  const { threadTs, startsThreads } = place
  const found = await lookIn(threadTs, options, place)
  const started = threadTs === undefined && startsThreads ? options.replyTo?.id : undefined
  if (found.type === 'there' || started === undefined) return found
  const below = await lookIn(started, options, place)
  return below.type === 'absent' ? found : below
}

async function lookIn(
  threadTs: string | undefined,
  { key, kind, since, signal }: LookUpOptions,
  { call, channelId: channel }: LookUpPlace,
): Promise<LookedUp> {
  const oldest = String((since - skewMs) / 1000)
  const fields = { channel, oldest, limit: most, include_all_metadata: true }
  const about = { verb: 'look-up', signal }
  try {
    const { messages, has_more } = await (threadTs === undefined
      ? call('conversations.history', fields, about)
      : call('conversations.replies', { ...fields, ts: threadTs }, about))
    if (kind !== 'message' || !Array.isArray(messages)) return { type: 'unknown' }
    const ts = messages.map(fieldsIn).find((message) => keyIn(message) === key)?.ts
    if (typeof ts === 'string') return { type: 'there', ref: refOf(ts) }
    return { type: has_more === true ? 'unknown' : 'absent' }
  } catch (error) {
    if (!(error instanceof PortError) || error.type !== 'refused') throw error
    return { type: 'unknown' }
  }
}

function keyIn({ metadata }: SlackFields): unknown {
  const { event_type, event_payload } = fieldsIn(metadata)
  return event_type === eventType ? fieldsIn(event_payload).key : undefined
}

function fieldsIn(value: unknown): SlackFields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
