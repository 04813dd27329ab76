import type { LocalAnswer, LocalAsk, LocalEnding, LocalRun } from '@reply/core/source'
import type { Checklist } from './checklist.ts'
import type { ClaudeEvent, ClaudeUsage, Input } from './decode/line.ts'
import { questionsIn, todoChangeIn, toolInput, toolName } from './decode/tools.ts'

/** Writes the events of Claude Code to one session's runs. Events between two runs are dropped. */
export interface ClaudeRunWriter {
  begin(run: LocalRun): void
  write(event: ClaudeEvent, raw: unknown): void
  /** The current run. Undefined between runs. */
  run(): LocalRun | undefined
}

interface Call {
  readonly run: LocalRun
  /** Claude Code's name of the tool. */
  readonly name: string
  readonly tool: string
  readonly input: Input
  readonly startedAt: number
}

/** `respond` answers a request from Claude Code. */
export function createRunWriter(
  checklist: Checklist,
  now: () => number,
  respond: (requestID: string, response: object) => Promise<void>,
): ClaudeRunWriter {
  let root: LocalRun | undefined
  let step: { readonly messageID: string; readonly usage: ClaudeUsage; readonly output: number } | undefined
  let cost = 0
  const calls = new Map<string, Call>()
  /** The running sub-agents, by the call that started them. */
  const children = new Map<string, LocalRun>()
  const callOf = new Map<string, string>()
  return { begin, write, run: () => (root?.isOpen() ? root : undefined) }

  function begin(run: LocalRun): void {
    root = run
    step = undefined
    calls.clear()
    children.clear()
    callOf.clear()
  }

  function write(event: ClaudeEvent, raw: unknown): void {
    const run = root
    // Only a run can ask people.
    if (event.type === 'ask' && !run?.isOpen()) return void refuse(event.requestID)
    if (!run) return
    switch (event.type) {
      case 'init':
      case 'response':
      case 'unknown-request':
        return
      case 'message':
        step = { messageID: event.messageID, usage: event.usage, output: 0 }
        return run.write({ type: 'message', messageID: event.messageID, model: modelOf(event.model) })
      case 'delta':
        return run.write({ type: event.kind, delta: event.delta, raw })
      case 'writing':
        return call(run, { callID: event.callID, tool: event.tool }, raw)
      case 'step':
        if (step) step = { ...step, output: event.output }
        return spend(run, 0)
      case 'text':
        return text(run, event, raw)
      case 'call':
        return call(runOf(event.parent) ?? run, event, raw)
      case 'result':
        return result(event, raw)
      case 'agent':
        return agent(run, event, raw)
      case 'ask': {
        const asking = runOf(event.agentID === undefined ? undefined : callOf.get(event.agentID)) ?? run
        // Claude Code sends a sub-agent's call after its request.
        call(asking, event, raw)
        return asking.ask(toAsk(event, (decision) => respond(event.requestID, decision)))
      }
      case 'ask-gone':
        for (const each of [run, ...children.values()]) each.closeAsk(event.requestID)
        return
      case 'retry':
        return run.write({
          type: 'retry',
          attempt: event.attempt,
          message: event.message,
          nextAt: now() + event.afterMs,
        })
      case 'compaction':
        return run.write({ type: 'compaction', state: event.state, auto: true })
      case 'end':
        spend(run, event.totalCost - cost)
        cost = event.totalCost
        if (event.contextLimit !== undefined) run.write({ type: 'context-limit', contextLimit: event.contextLimit })
        return run.end(endingOf(event))
      default:
        return event satisfies never
    }
  }

  function refuse(requestID: string): void {
    respond(requestID, { behavior: 'deny', message: 'No run is active, so no person can be asked.' }).catch(() => {})
  }

  function runOf(parent: string | undefined): LocalRun | undefined {
    return parent === undefined ? undefined : children.get(parent)
  }

  /**
   * Writes the texts of sub-agents, which are not streamed. The session's own texts were streamed already, and Claude
   * Code's own messages become the run's error.
   */
  function text(run: LocalRun, event: Extract<ClaudeEvent, { type: 'text' }>, raw: unknown): void {
    if (event.parent !== undefined)
      runOf(event.parent)?.write({ type: event.kind, delta: event.text, raw }, { type: 'seal' })
    else if (!event.isOwn) run.write({ type: 'seal', raw })
  }

  function call(
    run: LocalRun,
    { callID, tool, input }: { readonly callID: string; readonly tool: string; readonly input?: Input },
    raw: unknown,
  ): void {
    const known = calls.get(callID)
    if (known && input === undefined) return
    const startedAt = known?.startedAt ?? now()
    const shown = input === undefined ? {} : toolInput(tool, input)
    calls.set(callID, { run, name: tool, tool: toolName(tool), input: shown, startedAt })
    const status = input === undefined ? ('pending' as const) : ('running' as const)
    const begun = status === 'running' ? { startedAt } : {}
    run.write({
      type: 'tool',
      callID,
      tool: toolName(tool),
      state: { status, input: shown, ...begun, ...link(callID) },
      raw,
    })
  }

  /** Links a sub-agent's call to its session. */
  function link(callID: string) {
    const child = children.get(callID)
    return child ? { metadata: { sessionId: child.sessionID } } : {}
  }

  function result(event: Extract<ClaudeEvent, { type: 'result' }>, raw: unknown): void {
    const { callID, isError, text: output, value } = event
    const known = calls.get(callID)
    if (!known) return
    const { run, name, tool, input, startedAt } = known
    children.get(callID)?.end({ type: 'completed' })
    const fields = { input, startedAt, endedAt: now(), ...link(callID) }
    const state = isError
      ? { status: 'error' as const, error: output, ...fields }
      : { status: 'completed' as const, output, ...fields }
    run.write({ type: 'tool', callID, tool, state, raw })
    children.delete(callID)
    const change = isError ? undefined : todoChangeIn({ tool: name, input, text: output, value })
    if (change?.type === 'own') run.write({ type: 'todos', todos: change.todos })
    else if (change) {
      const isRead = change.type === 'all' ? true : undefined
      root?.write({ type: 'todos', todos: checklist.apply(change), isRead })
    }
  }

  function agent(run: LocalRun, event: Extract<ClaudeEvent, { type: 'agent' }>, raw: unknown): void {
    const known = calls.get(event.callID)
    if (!known) return
    const child = (known.run ?? run).child({ title: event.title, text: event.text })
    children.set(event.callID, child)
    callOf.set(event.agentID, event.callID)
    const { tool, input, startedAt } = known
    known.run.write({
      type: 'tool',
      callID: event.callID,
      tool,
      state: { status: 'running', input, startedAt, ...link(event.callID) },
      raw,
    })
  }

  function spend(run: LocalRun, spent: number): void {
    if (!step) return
    const { usage, output, messageID } = step
    run.write({
      type: 'usage',
      messageID,
      stepID: messageID,
      tokens: { ...usage, output, reasoning: 0 },
      cost: Math.max(0, spent),
    })
  }
}

function endingOf({
  isError,
  isAborted,
  text,
  statusCode,
  stopReason,
}: Extract<ClaudeEvent, { type: 'end' }>): LocalEnding {
  if (isAborted) return { type: 'aborted' }
  if (isError) return { type: 'failed', error: { name: 'ClaudeError', message: text, statusCode, raw: undefined } }
  return { type: 'completed', finish: stopReason === 'max_tokens' ? 'length' : 'stop' }
}

const modelOf = (modelID: string) => ({ providerID: 'anthropic', modelID })

/** The answer to Claude Code: `PermissionResult` of its SDK. */
type Decision =
  | { readonly behavior: 'allow'; readonly updatedInput: Input; readonly updatedPermissions?: readonly Input[] }
  | { readonly behavior: 'deny'; readonly message: string; readonly interrupt?: true }

type Asked = Extract<ClaudeEvent, { readonly type: 'ask' }>

/** Converts a permission request to an ask. The tool AskUserQuestion sends its questions this way, too. */
function toAsk(asked: Asked, send: (decision: Decision) => Promise<void>): LocalAsk {
  const { requestID, callID, tool, input, rules } = asked
  const questions = tool === 'AskUserQuestion' ? questionsIn(input) : []
  if (questions.length > 0) {
    const shown = questions.map(({ question, header, options, multiSelect }) => {
      return { question, header, options, multiple: multiSelect, custom: true }
    })
    const reply = async (answer: LocalAnswer): Promise<void> => {
      if (answer.type !== 'answered') return await send(refusal(answer, 'The person did not answer.'))
      // The tool takes one text for each question, keyed by the question's text.
      const answers = questions.map(({ question }, at) => [question, (answer.answers[at] ?? []).join(', ')] as const)
      await send({ behavior: 'allow', updatedInput: { ...input, answers: Object.fromEntries(answers) } })
    }
    return { type: 'question', requestID, callID, questions: shown, reply }
  }
  const always = rules.map(({ content }) => content)
  return {
    type: 'permission',
    requestID,
    callID,
    permission: toolName(tool),
    patterns: always,
    always,
    title: toolName(tool),
    metadata: {},
    reply: async (answer) => {
      if (answer.type === 'rejected' || answer.type === 'canceled')
        return await send(refusal(answer, 'The person does not allow this.'))
      // For this session only. A permission given in a chat must not change the project's settings.
      const allowed = rules.map(({ suggestion }) => ({ ...suggestion, destination: 'session' }))
      const permanent = answer.type === 'always' ? { updatedPermissions: allowed } : {}
      await send({ behavior: 'allow', updatedInput: input, ...permanent })
    },
  }
}

function refusal(answer: LocalAnswer, otherwise: string): Decision {
  if (answer.type === 'canceled') return { behavior: 'deny', message: 'The run was stopped.', interrupt: true }
  return { behavior: 'deny', message: (answer.type === 'rejected' && answer.message) || otherwise }
}
