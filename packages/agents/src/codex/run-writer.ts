import { isDeepStrictEqual } from 'node:util'
import type { LocalRun } from '@reply/core/source'
import type { CodexCall } from './decode/item.ts'
import type { CodexEvent, CodexText } from './decode/notification.ts'

/** An event that is shown in the run of its turn. `turns.ts` handles the beginning and the end of turns. */
export type CodexOutput = Exclude<CodexEvent, { readonly type: 'turn' | 'prompt' | 'end' }>

/** Writes the events of turns to their runs. */
export interface RunWriter {
  /**
   * Writes an event to a run. A whole text is only written if it was not streamed, or if another one was. The output of a
   * command is its last 4,000 characters, and dropped if the command does not run.
   */
  write(run: LocalRun, event: CodexOutput, raw: unknown): void
  /**
   * Completes the calls of a run's running commands, with a note that they go on in the background. Ends those of `noteUnseen` as
   * failed. Forgets its other running calls. Call it before you end a run whose turn was completed. Returns the ids of the
   * commands' calls.
   */
  leaveCommands(run: LocalRun): readonly string[]
  /**
   * Notes that the answer to the request of a running call was not seen. Codex's history has no calls that were rejected, and
   * up to 0.150.0 none of commands.
   */
  noteUnseen(run: LocalRun, callID: string): void
  /**
   * Returns the events of a run's history that were not written to it, or not whole. Up to 0.150.0, Codex's history has other ids
   * of texts. The events that this returns have those of the stream.
   */
  missed(run: LocalRun, events: readonly CodexEvent[]): readonly CodexEvent[]
  /** Whether a text was written to the run, also under the other id that Codex's history has for it up to 0.150.0. */
  hasText(run: LocalRun, text: CodexText): boolean
  /** Whether a call of the run was written and has not ended. */
  isRunning(run: LocalRun, callID: string): boolean
  /** Returns the running call of an MCP server that began last. Undefined if the server has none in this run. */
  lastCallOf(run: LocalRun, server: string): CodexCall | undefined
  /**
   * Returns the oldest running call of an MCP server's tool with these arguments. Without a tool, of any tool.
   * Undefined if there is none, or if calls of several tools match.
   */
  callWith(run: LocalRun, server: string, tool: string | undefined, args: unknown): CodexCall | undefined
}

interface Running {
  readonly call: CodexCall
  /** The end of its output so far. */
  readonly output: string
  /** Whether it asked and the answer was not seen. */
  readonly isUnseen?: boolean
}

/** What was written to a run. */
interface Written {
  /** The running calls, by id, oldest first. */
  readonly running: Map<string, Running>
  /** The texts so far, by the id of the part, oldest first. */
  readonly texts: Map<string, WrittenText>
  /** The ids of the calls that have ended. */
  readonly ended: Set<string>
}

interface WrittenText {
  readonly kind: 'text' | 'reasoning'
  readonly text: string
  /** Whether it was written to its end. */
  readonly isWhole: boolean
}

/**
 * How much of a running command's output is shown, in UTF-16 units. Limited because each delta writes all of it again.
 */
const mostOutput = 4000

/** Why a call has no result whose request was answered while the connection was lost. */
const unseenAnswer = 'The result is not known, because its request was answered while the connection was lost.'

/** Returns the end of an output that is shown. Without half a character at its beginning. */
function endOf(output: string): string {
  return output.length > mostOutput ? output.slice(-mostOutput).replace(/^[\uDC00-\uDFFF]/, '') : output
}

/**
 * Creates the writer of Codex's events to runs, for all runs of a source. It keeps what it wrote to each, because later
 * events only have the changes. `now` is the time in ms since the epoch.
 */
export function createRunWriter(now: () => number): RunWriter {
  const runs = new WeakMap<LocalRun, Written>()
  return {
    write,
    leaveCommands,
    noteUnseen: (run, callID) => {
      const { running } = writtenTo(run)
      const known = running.get(callID)
      if (known) running.set(callID, { ...known, isUnseen: true })
    },
    missed,
    hasText: (run, { text }) => [...writtenTo(run).texts.values()].some((known) => known.text === text),
    isRunning: (run, callID) => writtenTo(run).running.has(callID),
    lastCallOf,
    callWith,
  }

  /** Returns what was written to the run. Nothing at first. */
  function writtenTo(run: LocalRun): Written {
    const written = runs.get(run) ?? { running: new Map(), texts: new Map(), ended: new Set() }
    runs.set(run, written)
    return written
  }

  function write(run: LocalRun, event: CodexOutput, raw: unknown): void {
    const { running, texts, ended } = writtenTo(run)
    switch (event.type) {
      case 'delta': {
        const { kind, partID, delta } = event
        texts.set(partID, { kind, text: (texts.get(partID)?.text ?? '') + delta, isWhole: false })
        return run.write({ type: kind, partID, delta, raw })
      }
      case 'message': {
        const { kind, partID, text } = event
        const streamed = texts.get(partID)?.text
        texts.set(partID, { kind, text, isWhole: true })
        if (streamed === undefined && text !== '') run.write({ type: kind, partID, delta: text, raw })
        // A connection that began in the middle of a text missed its beginning.
        else if (kind === 'text' && streamed !== undefined && streamed !== text)
          run.write({ type: kind, partID, replace: text, raw })
        return run.write({ type: 'seal', raw })
      }
      case 'call': {
        const { callID, tool, state, task } = event
        if (state.status === 'running') running.set(callID, { call: event, output: '' })
        else {
          running.delete(callID)
          ended.add(callID)
        }
        // Links a sub-agent's call to its session.
        const [sessionId] = task?.agentIDs ?? []
        const link = tool === 'task' && sessionId !== undefined && { metadata: { sessionId, background: true } }
        run.write({ type: 'tool', callID, tool, state: { ...state, ...link }, files: event.files, raw })
        return
      }
      case 'output': {
        const known = running.get(event.callID)
        if (!known) return
        const output = endOf(known.output + event.delta)
        // It runs, so it was allowed.
        running.set(event.callID, { ...known, output, isUnseen: false })
        const { callID, tool, state } = known.call
        return run.write({ type: 'tool', callID, tool, state: { ...state, metadata: { output } }, raw })
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
      default:
        return event satisfies never
    }
  }

  function missed(run: LocalRun, events: readonly CodexEvent[]): readonly CodexEvent[] {
    const { running, texts, ended } = writtenTo(run)
    const known = [...texts].map(([partID, text]) => ({ partID, ...text }))
    const seen = { text: 0, reasoning: 0 }
    return events.flatMap((event): readonly CodexEvent[] => {
      switch (event.type) {
        case 'message': {
          const nth = seen[event.kind]++
          const partID = texts.has(event.partID)
            ? event.partID
            : (known.filter(({ kind }) => kind === event.kind)[nth]?.partID ?? event.partID)
          return texts.get(partID)?.isWhole ? [] : [{ ...event, partID }]
        }
        case 'call':
          return ended.has(event.callID) || (event.state.status === 'running' && running.has(event.callID))
            ? []
            : [event]
        // It has no id by which it could be told from one that was shown.
        case 'compaction':
          return []
        default:
          return [event]
      }
    })
  }

  /** Returns the running calls of an MCP server, oldest first. */
  function callsOf(run: LocalRun, server: string): readonly CodexCall[] {
    return [...writtenTo(run).running.values()].flatMap(({ call }) => (call.mcp?.server === server ? [call] : []))
  }

  function lastCallOf(run: LocalRun, server: string): CodexCall | undefined {
    return callsOf(run, server).at(-1)
  }

  function callWith(run: LocalRun, server: string, tool: string | undefined, args: unknown): CodexCall | undefined {
    const found = callsOf(run, server).filter(
      ({ mcp }) => (tool ?? mcp?.tool) === mcp?.tool && isDeepStrictEqual(mcp?.arguments, args),
    )
    return new Set(found.map((call) => call.tool)).size === 1 ? found[0] : undefined
  }

  function leaveCommands(run: LocalRun): readonly string[] {
    const { running } = writtenTo(run)
    const unseen = [...running.values()].filter(({ isUnseen }) => isUnseen)
    for (const { call } of unseen) {
      const { callID, tool, state } = call
      run.write({
        type: 'tool',
        callID,
        tool,
        state: { ...state, status: 'error', error: unseenAnswer, endedAt: now() },
      })
    }
    const left = [...running.values()].filter(({ call, isUnseen }) => call.tool === 'bash' && !isUnseen)
    for (const { call, output } of left) {
      const { callID, tool, state } = call
      const note = 'The command goes on in the background.'
      const shown = output === '' ? note : `${output.trimEnd()}\n${note}`
      run.write({ type: 'tool', callID, tool, state: { ...state, status: 'completed', output: shown, endedAt: now() } })
    }
    running.clear()
    return left.map(({ call }) => call.callID)
  }
}
