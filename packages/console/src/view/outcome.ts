import { type LostReason, partsOf, type Reply, textOf, toolsOf, totalUsage } from '@reply/core'
import { amount, contextPercent, counted, dollars, duration } from '@reply/sink/internal'
import { type Line, line, span, wrap } from '../format/styled-line.ts'
import { SYMBOLS } from '../format/symbols.ts'
import { cureOf, errorText } from './failure.ts'

/** How the reply ended: what happened, what to do about it, what it used. Empty until it settled. */
export function outcomeLines(reply: Reply, width: number): readonly Line[] {
  if (reply.outcome === undefined) return []
  const said = sayOutcome(reply)
  const first: Line = [said.mark, span(said.text, said.tone), ...line(factsOf(reply), 'dim')]
  const notes = [said.cure, silenceOf(reply)].filter((note) => note !== undefined)
  return [...wrap(first, width, [], line('  ')), ...notes.flatMap((note) => wrap(line(note), width, line('  ')))]
}

const LOST: Readonly<Record<LostReason, Pick<Said, 'text' | 'cure'>>> = {
  'session-removed': { text: 'lost: the session was deleted', cure: 'What arrived is above.' },
  closed: {
    text: 'lost: the connection was closed',
    cure: 'The server may still be working: open the session in OpenCode.',
  },
  unreachable: {
    text: 'lost: the server cannot be reached',
    cure: 'What arrived is above. The server may still be working: open the session in OpenCode.',
  },
  'not-stopped': {
    text: 'lost: the reply could not be stopped',
    cure: 'The server may still be working: try again, or stop the server.',
  },
  'end-not-seen': {
    text: 'lost: the end of the reply was not seen',
    cure: 'What arrived is above. Open the session in OpenCode to see whether the server finished it.',
  },
}

interface Said {
  readonly mark: Line[number]
  readonly tone: 'green' | 'yellow' | 'red'
  readonly text: string
  readonly cure?: string | undefined
}

function sayOutcome(reply: Reply): Said {
  const { outcome, startedAt, settledAt } = reply
  switch (outcome) {
    case undefined:
    case 'completed':
      return reply.finish === 'length'
        ? { mark: SYMBOLS.done, tone: 'yellow', text: "completed, cut off at the model's output limit" }
        : { mark: SYMBOLS.done, tone: 'green', text: 'completed' }
    case 'stopped':
      return {
        mark: SYMBOLS.interrupted,
        tone: 'yellow',
        text: `stopped: ${whyStopped(reply)}`,
        cure: 'Send another prompt to continue.',
      }
    case 'aborted':
      return { mark: SYMBOLS.interrupted, tone: 'yellow', text: 'aborted' }
    case 'failed':
      return { mark: SYMBOLS.failed, tone: 'red', text: `failed: ${errorText(reply.error)}`, cure: cureOf(reply.error) }
    case 'timed-out': {
      const after =
        startedAt === undefined || settledAt === undefined ? '' : ` after ${duration(settledAt - startedAt)}`
      return {
        mark: SYMBOLS.failed,
        tone: 'red',
        text: `timed out${after}: aborted after too long without progress`,
      }
    }
    case 'lost':
      return {
        mark: SYMBOLS.failed,
        tone: 'red',
        ...LOST[reply.lostReason ?? 'end-not-seen'],
      }
  }
  outcome satisfies never
}

function whyStopped(reply: Reply): string {
  const refused = reply.asks.findLast((ask) => ask.status === 'rejected')
  if (refused) return `the ${refused.type} was rejected`
  return 'the last step called tools, and no step followed'
}

/** An answer without text is valid, but it is mentioned, so that people don't wait for more. */
function silenceOf(reply: Reply): string | undefined {
  if (reply.outcome !== 'completed' && reply.outcome !== 'stopped') return undefined
  if (textOf(reply) !== '') return undefined
  const calls = toolsOf(reply).length
  if (calls > 0) return `No text: only tools ran (${counted(calls, 'call')}).`
  if (reply.compaction) return 'No text: only the context was compacted.'
  if (reply.children.length > 0) return 'No text: only sub-agents ran.'
  return partsOf(reply).some((part) => part.type === 'reasoning')
    ? 'No text: the model only reasoned.'
    : 'No text: the model produced no output.'
}

function factsOf(reply: Reply): string {
  const { startedAt, settledAt } = reply
  const usage = totalUsage(reply)
  const tokens = usage.input + usage.output + usage.reasoning + usage.cacheRead + usage.cacheWrite
  const context = contextPercent(reply)
  const facts = [
    // A recording without times begins at 0.
    startedAt && settledAt && reply.outcome !== 'timed-out' ? duration(settledAt - startedAt) : undefined,
    reply.messages.length > 1 ? counted(reply.messages.length, 'step') : undefined,
    tokens > 0 ? `${amount(tokens)} tokens` : undefined,
    usage.cost > 0 ? dollars(usage.cost) : undefined,
    context === undefined ? undefined : `context ${context}%`,
  ]
  return facts
    .filter((fact) => fact !== undefined)
    .map((fact) => ` · ${fact}`)
    .join('')
}
