import type { Chat, MessageRef } from '@reply/sink'

/**
 * The `Chat` of a channel or thread, as inbounds and sinks use it. Direct messages have ids that begin with D.
 * https://docs.slack.dev/reference/objects/conversation-object
 */
export function chatOf(channel: string, thread: string | undefined): Chat {
  const kind = channel.startsWith('D') ? 'private' : 'shared'
  return { id: channel, kind, ...(thread !== undefined && { thread }) }
}

/** Whether an id is that of a message, and not, for example, that of a slash command. */
export function isTs(id: string): boolean {
  return /^\d+\.\d+$/.test(id)
}

/**
 * A `ts` is the message's Unix time in seconds, with a counter after the point. `postedAt` is absent for other ids,
 * such as file ids.
 */
export function refOf(ts: string): MessageRef {
  return { id: ts, ...(isTs(ts) && { postedAt: Math.floor(Number(ts) * 1000) }) }
}
