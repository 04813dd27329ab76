import type { CompactionPart } from '../../../part.ts'
import type { SessionMemory } from './memory.ts'

/** The next compaction of a run, as a part of the prompt that it works on: the wire has no id for it. */
export function beginCompaction(session: SessionMemory): CompactionPart | undefined {
  session.compactions += 1
  return compactionOf(session)
}

/** The newest compaction of the run. Undefined if there was none, or the prompt is unknown. */
export function compactionOf({ promptID: messageID, compactions }: SessionMemory): CompactionPart | undefined {
  if (messageID === undefined || compactions === 0) return undefined
  const id = `${messageID}.compaction.${compactions - 1}`
  return { id, messageID, status: 'sealed', raw: undefined, type: 'compaction', auto: true }
}
