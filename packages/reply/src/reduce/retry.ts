import type { Change } from '../change.ts'
import type { Part } from '../part.ts'
import type { Reply } from '../reply.ts'
import { indexOf, messageAt, withMessageAt } from './part.ts'
import { partAt, withOpenChanged } from './parts.ts'

/**
 * A second step start within one message is a retry: servers from 1.17 on write the text again in new parts and leave
 * the old ones open forever, so these are abandoned. (Servers up to 1.14 continue the same part and send no second step
 * start.)
 */
export function abandonOpen(reply: Reply, incoming: Part, changes: Change[]): Reply {
  if (incoming.type !== 'step-start') return reply
  const at = messageAt(reply.messages, incoming.messageID)
  const message = reply.messages[at]
  if (!message || partAt(message, incoming.id) !== -1) return reply
  const changed = withOpenChanged(message, (part, place): Part => {
    if (part.type !== 'text' && part.type !== 'reasoning') return part
    const abandoned: Part = { ...part, status: 'abandoned' }
    changes.push({
      type: 'partRemoved',
      part: abandoned,
      index: indexOf(reply.messages, at, place),
      reason: 'abandoned',
    })
    return abandoned
  })
  return changed === message ? reply : withMessageAt(reply, at, changed)
}
