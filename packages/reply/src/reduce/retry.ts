import type { Change } from '../change.ts'
import type { Part } from '../part.ts'
import type { Reply } from '../reply.ts'
import { indexOf, messageAt } from './part.ts'
import { replaceAt, withMessages, withParts } from './shape.ts'

/**
 * A step that begins anew within one message is a retry: servers from 1.17 write the text again in new parts and leave
 * the old ones open for ever. Those are taken back. (Servers up to 1.14 go on in the same part and start no second step.)
 */
export function abandonOpen(reply: Reply, incoming: Part, changes: Change[]): Reply {
  if (incoming.type !== 'step-start') return reply
  const at = messageAt(reply.messages, incoming.messageID)
  const message = reply.messages[at]
  if (!message || message.parts.some((part) => part.id === incoming.id)) return reply
  if (!message.parts.some((part) => isStranded(part))) return reply
  const parts = message.parts.map((part, place): Part => {
    if (!isStranded(part)) return part
    const abandoned: Part = { ...part, status: 'abandoned' }
    changes.push({
      type: 'partRemoved',
      part: abandoned,
      index: indexOf(reply.messages, at, place),
      reason: 'abandoned',
    })
    return abandoned
  })
  return withMessages(reply, replaceAt(reply.messages, at, withParts(message, parts)))
}

function isStranded(part: Part): boolean {
  return part.status === 'open' && (part.type === 'text' || part.type === 'reasoning')
}
