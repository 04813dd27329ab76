import type { Frame } from './frame.ts'
import type { Memory } from './memory.ts'

/** The session whose stored events before this one are missing. Undefined if there are none, as nearly always. */
export function missedBefore({ type, data, seq }: Frame, memory: Memory): string | undefined {
  const { sessionID } = data
  if (seq === undefined || typeof sessionID !== 'string' || type === 'session.deleted') return undefined
  const session = memory.of(sessionID)
  const { seq: before } = session
  // What a fork copies is counted and not sent.
  session.seq = type === 'session.forked' ? undefined : Math.max(seq, before ?? seq)
  session.heardSeq = session.seq
  const missing = before === undefined ? 0 : seq - before - 1
  return missing > (hasUnsent(type) ? 1 : 0) ? sessionID : undefined
}

/** The usage of a call for a title or a summary is stored and not sent, right before what the call gave. */
function hasUnsent(type: string): boolean {
  return type === 'session.renamed' || type === 'session.compaction.ended' || type === 'session.compaction.failed'
}
