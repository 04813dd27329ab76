import type * as z from 'zod/mini'
import type { CompactionPart } from '../../../part.ts'
import type { SummaryStep } from '../../../reply.ts'
import type { SessionMemory, Spent } from './memory.ts'
import { toTokens } from './part.ts'
import type { eventSchemas } from './schema.ts'

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

/** Notes the session's new total: only the difference to the last one tells what a call cost. */
export function noteSpent(
  session: SessionMemory,
  { cost, tokens }: z.infer<(typeof eventSchemas)['session.usage.updated']>,
): void {
  const spent = { cost, tokens: toTokens(tokens) }
  if (session.summary && session.spent) session.summary.call = minus(spent, session.spent)
  session.spent = spent
}

/** The call that wrote the summary: the total before the compaction's end is with it. Undefined if it is unknown. */
export function endCompaction(session: SessionMemory): SummaryStep | undefined {
  const { messageID, call } = session.summary ?? {}
  session.summary = undefined
  return messageID === undefined || call === undefined ? undefined : { messageID, ...call }
}

function minus({ cost, tokens }: Spent, before: Spent): Spent {
  return {
    // A difference of two sums has digits that no price has: a millionth of a cent is exact enough.
    cost: Math.round((cost - before.cost) * 1e8) / 1e8,
    tokens: {
      input: tokens.input - before.tokens.input,
      output: tokens.output - before.tokens.output,
      reasoning: tokens.reasoning - before.tokens.reasoning,
      cacheRead: tokens.cacheRead - before.tokens.cacheRead,
      cacheWrite: tokens.cacheWrite - before.tokens.cacheWrite,
    },
  }
}
