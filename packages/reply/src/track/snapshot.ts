import type { MessageHead, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import type { MessageRole } from './state.ts'

type Read = SnapshotEvent['messages'][number]

/**
 * Where the session's last run begins among its messages: at the last user message that no unfinished step leads up to.
 * A message that the server itself put in, as after a compaction, goes on with the run. -1 without messages.
 */
export function runStart(messages: readonly Read[]): number {
  let start = messages.findLastIndex((message) => message.head.role === 'user')
  while (start > 0) {
    const asked = messages[start]
    const before = messages[start - 1]
    if (!asked || !before || (isOver(before.head) && !isInserted(asked.parts))) return start
    start = messages.findLastIndex((message, index) => index < start && message.head.role === 'user')
  }
  return start
}

function isOver(head: MessageHead): boolean {
  if (head.role === 'user' || head.summary) return false
  return head.error !== undefined || (head.completedAt !== undefined && head.finish !== 'tool-calls')
}

function isInserted(parts: readonly Part[]): boolean {
  return (
    parts.length > 0 &&
    parts.every((part) => part.type === 'compaction' || (part.type === 'text' && part.synthetic === true))
  )
}

export function roleOf(head: MessageHead): MessageRole['role'] {
  return head.summary ? 'summary' : head.role
}
