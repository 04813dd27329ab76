import type { Chat, MessageRef } from '@reply/sink'

/** A channel or thread as inbound and sinks name it. Ids of direct messages begin with D. https://docs.slack.dev/reference/objects/conversation-object */
export function chatOf(channel: string, thread: string | undefined): Chat {
  const kind = channel.startsWith('D') ? 'private' : 'shared'
  return { id: channel, kind, ...(thread !== undefined && { thread }) }
}

/** A `ts` is the Unix time of the message in seconds, with a counter behind the point. Absent for other ids, such as those of files. */
export function refOf(ts: string): MessageRef {
  return { id: ts, ...(/^\d+\.\d+$/.test(ts) && { postedAt: Math.floor(Number(ts) * 1000) }) }
}
