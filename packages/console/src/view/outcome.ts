import { type Reply, type ReplyFailure, totalUsage } from '@reply/core'
import { amount, contextPercent, counted, dollars, duration, type Ending, endingOf, stopTexts } from '@reply/core/show'
import { texts } from '@reply/sink'
import { cleanLine } from '../format/sanitize.ts'
import { type Line, line, span, wrap } from '../format/styled-line.ts'
import { SYMBOLS } from '../format/symbols.ts'

/** Returns the rows for the end of a reply: the outcome, the usage, and a cure. Empty until it has settled. */
export function outcomeLines(reply: Reply, width: number): readonly Line[] {
  const ending = endingOf(reply)
  if (ending === undefined) return []
  const [mark, tone] = marks[ending.type]
  const isPartial = ending.type === 'completed' && ending.isCutOff
  const first: Line = [
    mark,
    span(endingText(ending, reply.error), isPartial ? 'yellow' : tone),
    ...line(runFacts(reply), 'dim'),
  ]
  const notes = endingNotes(ending, reply.error)
  return [...wrap(first, width, [], line('  ')), ...notes.flatMap((note) => wrap(line(note), width, line('  ')))]
}

const marks: Readonly<Record<Ending['type'], readonly [Line[number], 'green' | 'yellow' | 'red']>> = {
  completed: [SYMBOLS.done, 'green'],
  stopped: [SYMBOLS.interrupted, 'yellow'],
  aborted: [SYMBOLS.interrupted, 'yellow'],
  failed: [SYMBOLS.failed, 'red'],
  'timed-out': [SYMBOLS.failed, 'red'],
  lost: [SYMBOLS.failed, 'red'],
}

/** Returns how the reply ended, with the reason or the time if there is one. */
function endingText(ending: Ending, error: ReplyFailure | undefined): string {
  switch (ending.type) {
    case 'completed':
      return ending.isCutOff ? "completed, cut off at the model's output limit" : 'completed'
    case 'stopped':
      return `stopped: ${stopTexts[ending.why]}`
    case 'failed':
      return `failed: ${failureText(ending, error)}`
    case 'timed-out':
      return `timed out${ending.afterMs === undefined ? '' : ` after ${duration(ending.afterMs)}`}`
    case 'aborted':
    case 'lost':
      return ending.type
    default:
      return ending satisfies never
  }
}

/** Returns why a reply failed, in one line. Names the session if the server doesn't know it. */
export function failureText({ reason }: Extract<Ending, { type: 'failed' }>, error: ReplyFailure | undefined): string {
  const unknown = unknownSessionOf(error)
  if (unknown !== undefined) return `no session ${unknown} on this server`
  return reason === undefined ? 'no reason given' : cleanLine(reason)
}

/** Returns what to do next, or what is missing, one row each. Empty for an abort, and where there is nothing to say. */
function endingNotes(ending: Ending, error: ReplyFailure | undefined): readonly string[] {
  switch (ending.type) {
    case 'completed':
      // Without this note, people would wait for more.
      return ending.noText ? [texts.noText(ending.noText)] : []
    case 'stopped':
      return ['Send another prompt to continue.']
    case 'failed':
      if (unknownSessionOf(error) !== undefined) return [sessionsCure]
      return ending.cure ? [texts.cures[ending.cure]] : []
    case 'timed-out':
      return ['The run was aborted after too long without progress.']
    case 'lost':
      return [[texts.lost[ending.why], ending.hasText && texts.arrived].filter(Boolean).join(' ')]
    case 'aborted':
      return []
    default:
      return ending satisfies never
  }
}

export const sessionsCure = 'Run `opencode session list` in the project to see its sessions.'

/** Returns the session's id in a server's message that it doesn't know the session. Undefined for other messages. */
export function unknownSessionIn(message: string): string | undefined {
  return /Session not found: (ses_\w+|\S+)/.exec(cleanLine(message))?.[1]
}

/** Returns the session's id if a reply failed because the server doesn't know its session. Undefined for other failures. */
function unknownSessionOf(error: ReplyFailure | undefined): string | undefined {
  return error?.name === 'gone' ? unknownSessionIn(error.message) : undefined
}

/**
 * Returns the duration unless the run timed out, the steps from two on, tokens, cost and context, each after a ` · `.
 * Leaves out what is unknown or 0.
 */
function runFacts(reply: Reply): string {
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
