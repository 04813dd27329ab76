import type { Message, Reply, ToolPart } from '@reply/core'
import { isUnfinished } from '@reply/core/internal'

/** A call of a tool with its message. */
export interface Call {
  readonly message: Message
  readonly part: ToolPart
}

/** Finds the newest call of the reply itself with this id, preferring one that has not ended. Providers repeat the ids of calls. */
export function callOf(
  { messages }: Reply,
  { callID, messageID }: { readonly callID?: string | undefined; readonly messageID?: string | undefined },
): Call | undefined {
  if (callID === undefined) return undefined
  let ended: Call | undefined
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index]
    if (!message || (messageID !== undefined && message.id !== messageID)) continue
    for (const part of message.parts.toReversed()) {
      if (part.type !== 'tool' || part.callID !== callID || part.status === 'abandoned') continue
      if (isUnfinished(part)) return { message, part }
      ended ??= { message, part }
    }
  }
  return ended
}
