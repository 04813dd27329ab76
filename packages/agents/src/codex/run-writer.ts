import type { LocalAnswer, LocalAsk, LocalRun } from '@reply/core/source'
import type { CodexEvent } from './decode/notification.ts'
import type { CodexRequest } from './decode/request.ts'

interface Running {
  readonly event: Extract<CodexEvent, { type: 'tool' }>
  readonly output: string
}

/**
 * How much of a running command's output is shown, in UTF-16 units. Limited because each delta writes all of it again.
 */
const mostOutput = 4000

/** Returns a function that writes the events of Codex to the run of their thread. */
export function createRunWriter(now: () => number) {
  /** The running calls of each run, with their output so far. */
  const runs = new WeakMap<LocalRun, Map<string, Running>>()
  return (run: LocalRun, event: CodexEvent, raw: unknown): void => {
    const running = runs.get(run) ?? new Map<string, Running>()
    runs.set(run, running)
    switch (event.type) {
      case 'delta':
        return run.write({ type: event.kind, delta: event.delta, raw })
      case 'seal':
        return run.write({ type: 'seal', raw })
      case 'tool': {
        if (event.state.status === 'running') running.set(event.callID, { event, output: '' })
        else running.delete(event.callID)
        // Links a sub-agent's call to its session.
        const metadata = event.tool === 'task' && event.task && { metadata: { sessionId: event.task.agentIDs[0] } }
        return run.write({
          type: 'tool',
          callID: event.callID,
          tool: event.tool,
          state: { ...event.state, ...metadata },
          raw,
        })
      }
      case 'output': {
        const known = running.get(event.callID)
        if (!known) return
        const output = (known.output + event.delta).slice(-mostOutput)
        running.set(event.callID, { ...known, output })
        const { tool, state } = known.event
        return run.write({ type: 'tool', callID: event.callID, tool, state: { ...state, metadata: { output } }, raw })
      }
      case 'todos':
        return run.write({ type: 'todos', todos: event.todos })
      case 'usage': {
        // Codex doesn't report prices.
        run.write({ type: 'usage', tokens: event.tokens, cost: 0 })
        if (event.contextLimit !== undefined) run.write({ type: 'context-limit', contextLimit: event.contextLimit })
        return
      }
      case 'retry':
        return run.write({ type: 'retry', message: event.message, nextAt: now() })
      case 'compaction':
        return run.write({ type: 'compaction', state: 'done', auto: true })
      case 'turn':
        return
      case 'ask-gone':
        return run.closeAsk(event.requestID)
      case 'end':
        return run.end(event.ending)
      default:
        return event satisfies never
    }
  }
}

/** Converts a request of Codex to an ask. `send` answers the request. */
export function toAsk(requestID: string, asked: CodexRequest, send: (result: object) => Promise<void>): LocalAsk {
  const { callID } = asked
  if (asked.type === 'question') {
    const questions = asked.questions.map(({ id: _, ...rest }) => ({ ...rest, multiple: false, custom: true }))
    const reply = async (answer: LocalAnswer): Promise<void> => {
      const given = answer.type === 'answered' ? answer.answers : []
      const answers = asked.questions.map(({ id }, at) => [id, { answers: given[at] ?? [] }] as const)
      await send({ answers: Object.fromEntries(answers) })
    }
    return { type: 'question', requestID, callID, questions, reply }
  }
  const { permission, reason, more, always } = asked
  const patterns = always ? [always.pattern] : []
  return {
    type: 'permission',
    requestID,
    callID,
    permission,
    patterns,
    always: patterns,
    title: reason === '' ? permission : reason,
    metadata: more,
    reply: async (answer) => await send({ decision: decisionOf(answer, always?.decision) }),
  }
}

/** `decline` lets the turn continue without the call. `cancel` ends the turn. */
function decisionOf(answer: LocalAnswer, always: unknown): unknown {
  if (answer.type === 'canceled') return 'cancel'
  if (answer.type === 'always') return always ?? 'accept'
  return answer.type === 'once' ? 'accept' : 'decline'
}
