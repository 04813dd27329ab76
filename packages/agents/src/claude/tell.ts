import type { LocalEnding, LocalRun } from '@reply/core/source'
import { toAsk } from './ask.ts'
import type { Checklist } from './checklist.ts'
import { todoChangeIn } from './decode/todos.ts'
import type { ClaudeSaid, ClaudeUsage, Input } from './said.ts'
import { toolInput, toolName } from './tools.ts'

/** Tells one session's runs what Claude Code says. Lines between two runs belong to none. */
export interface ClaudeTeller {
  begin(run: LocalRun): void
  tell(said: ClaudeSaid, raw: unknown): void
  /** The run at work, if there is one. */
  run(): LocalRun | undefined
}

interface TellerOptions {
  readonly now: () => number
  readonly checklist: Checklist
  /** Answers a request of Claude Code. */
  readonly respond: (requestID: string, response: object) => Promise<void>
}

interface Call {
  readonly run: LocalRun
  /** What Claude Code calls the tool. */
  readonly name: string
  readonly tool: string
  readonly input: Input
  readonly startedAt: number
}

export function createTeller({ now, checklist, respond }: TellerOptions): ClaudeTeller {
  let root: LocalRun | undefined
  let step: { readonly messageID: string; readonly usage: ClaudeUsage; readonly output: number } | undefined
  let cost = 0
  const calls = new Map<string, Call>()
  /** The sub-agents at work by the call that started them. */
  const children = new Map<string, LocalRun>()
  const callOf = new Map<string, string>()
  return { begin, tell, run: () => (root?.isOpen() ? root : undefined) }

  function begin(run: LocalRun): void {
    root = run
    step = undefined
    calls.clear()
    children.clear()
    callOf.clear()
  }

  function tell(said: ClaudeSaid, raw: unknown): void {
    const run = root
    // Only a run has people who can be asked.
    if (said.type === 'ask' && !run?.isOpen()) return void refuse(said.requestID)
    if (!run) return
    switch (said.type) {
      case 'init':
      case 'response':
      case 'unknown-request':
        return
      case 'message':
        step = { messageID: said.messageID, usage: said.usage, output: 0 }
        return run.write({ type: 'message', messageID: said.messageID, model: modelOf(said.model) })
      case 'delta':
        return run.write({ type: said.kind, delta: said.delta, raw })
      case 'writing':
        return call(run, { callID: said.callID, tool: said.tool }, raw)
      case 'step':
        if (step) step = { ...step, output: said.output }
        return spend(run, 0)
      case 'text':
        return text(run, said, raw)
      case 'call':
        return call(runOf(said.parent) ?? run, said, raw)
      case 'result':
        return result(said, raw)
      case 'agent':
        return agent(run, said, raw)
      case 'ask': {
        const asking = runOf(said.agentID === undefined ? undefined : callOf.get(said.agentID)) ?? run
        // A sub-agent's call is written after its request.
        call(asking, said, raw)
        return asking.ask(toAsk(said, (decision) => respond(said.requestID, decision)))
      }
      case 'ask-gone':
        for (const each of [run, ...children.values()]) each.closeAsk(said.requestID)
        return
      case 'retry':
        return run.write({ type: 'retry', attempt: said.attempt, message: said.message, nextAt: now() + said.afterMs })
      case 'compaction':
        return run.write({ type: 'compaction', state: said.state, auto: true })
      case 'end':
        spend(run, said.totalCost - cost)
        cost = said.totalCost
        if (said.contextLimit !== undefined) run.write({ type: 'context-limit', contextLimit: said.contextLimit })
        return run.end(endingOf(said))
      default:
        return said satisfies never
    }
  }

  function refuse(requestID: string): void {
    respond(requestID, { behavior: 'deny', message: 'There is no run whose people could be asked.' }).catch(() => {})
  }

  function runOf(parent: string | undefined): LocalRun | undefined {
    return parent === undefined ? undefined : children.get(parent)
  }

  /** Only sub-agents' texts come whole: the session's own were streamed, and Claude Code's words are its error. */
  function text(run: LocalRun, said: Extract<ClaudeSaid, { type: 'text' }>, raw: unknown): void {
    if (said.parent !== undefined)
      runOf(said.parent)?.write({ type: said.kind, delta: said.text, raw }, { type: 'seal' })
    else if (!said.isOwn) run.write({ type: 'seal', raw })
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

  /** A sub-agent's call names its session. */
  function link(callID: string) {
    const child = children.get(callID)
    return child ? { metadata: { sessionId: child.sessionID } } : {}
  }

  function result(said: Extract<ClaudeSaid, { type: 'result' }>, raw: unknown): void {
    const { callID, isError, text: output, value } = said
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

  function agent(run: LocalRun, said: Extract<ClaudeSaid, { type: 'agent' }>, raw: unknown): void {
    const known = calls.get(said.callID)
    if (!known) return
    const child = (known.run ?? run).child({ title: said.title, text: said.text })
    children.set(said.callID, child)
    callOf.set(said.agentID, said.callID)
    const { tool, input, startedAt } = known
    known.run.write({
      type: 'tool',
      callID: said.callID,
      tool,
      state: { status: 'running', input, startedAt, ...link(said.callID) },
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

const modelOf = (modelID: string) => ({ providerID: 'anthropic', modelID })

function endingOf({
  isError,
  isAborted,
  text,
  statusCode,
  stopReason,
}: Extract<ClaudeSaid, { type: 'end' }>): LocalEnding {
  if (isAborted) return { type: 'aborted' }
  if (isError) return { type: 'failed', error: { name: 'ClaudeError', message: text, statusCode, raw: undefined } }
  return { type: 'completed', finish: stopReason === 'max_tokens' ? 'length' : 'stop' }
}
