import type { LocalRun } from '@reply/core/source'
import type { CodexSaid } from './decode.ts'

/** Writes what Codex says to the run of its thread. Returns the part of a command's output that is known so far. */
export function createTeller(now: () => number) {
  /** What the commands of each run wrote so far, and their calls. */
  const runs = new WeakMap<LocalRun, Map<string, Running>>()
  return (run: LocalRun, said: CodexSaid, raw: unknown): void => {
    const running = runs.get(run) ?? new Map<string, Running>()
    runs.set(run, running)
    switch (said.type) {
      case 'delta':
        return run.write({ type: said.kind, delta: said.delta, raw })
      case 'seal':
        return run.write({ type: 'seal', raw })
      case 'tool': {
        if (said.state.status === 'running') running.set(said.callID, { said, output: '' })
        else running.delete(said.callID)
        // A sub-agent's call names its session.
        const metadata = said.tool === 'task' && said.task && { metadata: { sessionId: said.task.agentIDs[0] } }
        return run.write({
          type: 'tool',
          callID: said.callID,
          tool: said.tool,
          state: { ...said.state, ...metadata },
          raw,
        })
      }
      case 'output': {
        const known = running.get(said.callID)
        if (!known) return
        const output = (known.output + said.delta).slice(-mostOutput)
        running.set(said.callID, { ...known, output })
        const { tool, state } = known.said
        return run.write({ type: 'tool', callID: said.callID, tool, state: { ...state, metadata: { output } }, raw })
      }
      case 'todos':
        return run.write({ type: 'todos', todos: said.todos })
      case 'usage': {
        // Codex does not say what a model costs.
        run.write({ type: 'usage', tokens: said.tokens, cost: 0 })
        if (said.contextLimit !== undefined) run.write({ type: 'context-limit', contextLimit: said.contextLimit })
        return
      }
      case 'retry':
        return run.write({ type: 'retry', message: said.message, nextAt: now() })
      case 'compaction':
        return run.write({ type: 'compaction', state: 'done', auto: true })
      case 'turn':
        return
      case 'ask-gone':
        return run.closeAsk(said.requestID)
      case 'end':
        return run.end(said.ending)
      default:
        return said satisfies never
    }
  }
}

interface Running {
  readonly said: Extract<CodexSaid, { type: 'tool' }>
  readonly output: string
}

/** How much of a running command's output is shown, in UTF-16 units: each piece of it repeats the rest. */
const mostOutput = 4000
