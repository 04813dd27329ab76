import type { LocalHistory, LocalRun } from '@reply/core/source'
import type { Checklist } from '../checklist.ts'
import type { ClaudeEvent, Input } from '../decode/event.ts'
import { editMetadata, todoChangeIn, toolInput, toolName } from '../decode/tools.ts'
import type { TranscriptLine } from '../decode/transcript-line.ts'

/** The transcript of a sub-agent. */
export interface PastSubAgent {
  /** The id of its session, as `createSessionWriter` chooses it. */
  readonly sessionID: string
  readonly title: string
  readonly lines: readonly TranscriptLine[]
}

/** Writes the lines of a session's transcript to its history. */
export interface PastWriter {
  /**
   * Begins a run if the line is a prompt, and otherwise writes it to the current run. Ignores what comes before a
   * prompt.
   */
  write(line: TranscriptLine): void
  /** Ends the last run. Without a final answer it counts as aborted, because its process has ended. */
  end(): void
}

type Call = Extract<ClaudeEvent, { readonly type: 'call' }>
type Result = Extract<ClaudeEvent, { readonly type: 'result' }>

/**
 * Creates the writer of an earlier session's runs, from the lines of its transcript. `subAgents` are the session's
 * sub-agents, by the call that started each. Tasks are added to the checklist.
 */
export function createPastWriter(
  history: LocalHistory,
  checklist: Checklist,
  subAgents: ReadonlyMap<string, PastSubAgent>,
): PastWriter {
  let run: LocalRun | undefined
  /** The newest line of the run that is from the model. */
  let lastAnswer: TranscriptLine | undefined
  let isInterrupted = false
  const calls = new Map<string, Call>()
  /** The runs of the sub-agents, by the call that started each. */
  const children = new Map<string, LocalRun>()
  return { write, end }

  /** Begins a run with a prompt's line, after it has ended the one before. Writes any other line to the current run. */
  function write(line: TranscriptLine): void {
    if (line.prompt) {
      end()
      run = history.run({ parts: line.prompt.parts, messageID: line.prompt.id, at: line.at })
      return
    }
    if (line.isInterruption) isInterrupted = true
    if (!run) return
    // A result after the last answer of the model means that the run was cut off before the next answer.
    if (line.message || line.events.some(({ type }) => type === 'result')) lastAnswer = line
    writeLine(run, line)
  }

  /** Ends the current run as its last line from the model says, or as aborted if a person stopped it. */
  function end(): void {
    if (run) endRun(run, isInterrupted ? undefined : lastAnswer)
    run = undefined
    lastAnswer = undefined
    isInterrupted = false
  }

  /** Writes the line's texts, calls, results and tokens. An error's text is left for the end of the run. */
  function writeLine(to: LocalRun, { message, tokens, events, error, raw }: TranscriptLine): void {
    if (error !== undefined) return
    for (const event of events) {
      if (event.type === 'text')
        to.write({ type: event.kind, delta: event.text, messageID: message?.id, raw }, { type: 'seal' })
      else if (event.type === 'compaction') to.write({ type: 'compaction', state: event.state, auto: true })
      else if (event.type === 'call') writeCall(to, event, message?.id, raw)
      else if (event.type === 'result') writeResult(to, event, raw)
    }
    if (message && tokens) to.write({ type: 'usage', messageID: message.id, stepID: message.id, tokens, cost: 0 })
  }

  /** Writes a running call and, if it started a sub-agent, the sub-agent's whole run. */
  function writeCall(to: LocalRun, call: Call, messageID: string | undefined, raw: unknown): void {
    const { callID, tool } = call
    calls.set(callID, call)
    const subAgent = subAgents.get(callID)
    const child =
      subAgent && to.child({ sessionID: subAgent.sessionID, title: subAgent.title, text: promptOfCall(call.input) })
    const state = { status: 'running' as const, input: toolInput(tool, call.input), ...linkTo(child) }
    to.write({ type: 'tool', callID, tool: toolName(tool), state, messageID, raw })
    if (!subAgent || !child) return
    children.set(callID, child)
    for (const line of subAgent.lines) writeLine(child, line)
    endRun(
      child,
      subAgent.lines.findLast((line) => line.message),
    )
  }

  /** Ends the call, and adds its changes to the checklist. Ignores the result of an unknown call. */
  function writeResult(to: LocalRun, { callID, isError, text, files, value }: Result, raw: unknown): void {
    const call = calls.get(callID)
    if (!call) return
    const { tool } = call
    const fields = { input: toolInput(tool, call.input), ...linkTo(children.get(callID)) }
    const state = isError
      ? { status: 'error' as const, error: text, ...fields }
      : { status: 'completed' as const, output: text, metadata: editMetadata(value), ...fields }
    to.write({ type: 'tool', callID, tool: toolName(tool), state, files, raw })
    const change = isError ? undefined : todoChangeIn({ tool, input: fields.input, text, value })
    if (change?.type === 'own') to.write({ type: 'todos', todos: change.todos })
    else if (change)
      to.write({ type: 'todos', todos: checklist.apply(change), isRead: change.type === 'all' ? true : undefined })
  }
}

/** Ends the run as its last line says. Without one, or after a call, it counts as aborted. */
function endRun(run: LocalRun, last: TranscriptLine | undefined): void {
  const { stopReason, error } = last ?? {}
  if (error !== undefined) run.end({ type: 'failed', error: { name: 'ClaudeError', message: error, raw: last?.raw } })
  else if (stopReason === 'max_tokens') run.end({ type: 'completed', finish: 'length' })
  else run.end(stopReason === undefined || stopReason === 'tool_use' ? { type: 'aborted' } : { type: 'completed' })
}

/** Returns the metadata that links a call to its sub-agent's session. Undefined for other calls. */
function linkTo(child: LocalRun | undefined) {
  return child && { metadata: { sessionId: child.sessionID } }
}

/** Returns the prompt in the input of a call that starts a sub-agent. Undefined if it isn't a text. */
function promptOfCall({ prompt }: Input): string | undefined {
  return typeof prompt === 'string' ? prompt : undefined
}
