import type { LocalEnding, LocalRun } from '@reply/core/source'
import { type ClaudeResponse, formAsk, toAsk } from './ask.ts'
import type { Checklist } from './checklist.ts'
import type { ClaudeEvent, ClaudeUsage, Input } from './decode/event.ts'
import { editMetadata, todoChangeIn, toolInput, toolName } from './decode/tools.ts'

/**
 * Writes the events of one Claude Code process to the runs of its session. Claude Code works in turns. Most answer a
 * prompt. After a task in the background has ended, it also begins turns by itself, even if a prompt is on its way.
 */
export interface ClaudeSessionWriter {
  /**
   * Stores that a prompt of this run is about to be sent under this uuid. The run ends with the turn that answers it.
   * Call it before you send the prompt.
   */
  expectTurn(run: LocalRun, uuid: string): void
  /**
   * Writes an event to the run that it belongs to. Begins and ends runs, and answers requests that no person can. Drops
   * output that belongs to no run. `raw` is the event's line.
   */
  write(event: ClaudeEvent, raw: unknown): void
  /** Returns the id of the task that runs in a sub-agent's run. Undefined for other runs. */
  taskOf(run: LocalRun): string | undefined
  /** Whether a turn runs, a prompt waits, or a task works in the background. */
  isBusy(): boolean
  /** Fails the turn's run, the waiting ones and those of sub-agents with this message, because the process has ended. */
  failAll(message: string): void
}

interface Call {
  readonly run: LocalRun
  /** Claude Code's name of the tool. */
  readonly name: string
  readonly tool: string
  /** The arguments, as Claude Code sends them. */
  readonly arguments: Input
  readonly isEnded: boolean
  /** Whether Claude Code has asked to run it with these arguments. */
  readonly isAsked: boolean
  readonly startedAt: number
}

interface Task {
  readonly title: string
  readonly isBackground: boolean
  /** The sub-agent's run. Absent for commands. */
  readonly run: LocalRun | undefined
}

interface Prompt {
  readonly uuid: string
  readonly run: LocalRun
}

interface Turn {
  readonly run: LocalRun
  /** The prompt that it is expected to answer. Absent for a turn that Claude Code began by itself. */
  readonly prompt: Prompt | undefined
  /** Whether Claude Code said that it answers the prompt. */
  readonly isConfirmed: boolean
}

/**
 * Creates the writer of one Claude Code process, which has begun no turn. It writes the process's events to the runs of
 * its session and sub-agents, and ends them. `checklist` has the session's tasks, and `now` is the time in ms.
 * `respond` answers a request from Claude Code, and `wake` begins a run of the session without a prompt.
 */
export function createSessionWriter(
  checklist: Checklist,
  now: () => number,
  respond: (requestID: string, response: ClaudeResponse) => Promise<void>,
  wake: (reason: string) => LocalRun,
): ClaudeSessionWriter {
  /** The prompts whose turn has not begun, oldest first. */
  let waiting: readonly Prompt[] = []
  let turn: Turn | undefined
  /** The uuid of the prompt whose turn Claude Code has announced. */
  let announcedUUID: string | undefined
  /** Why Claude Code may begin a turn by itself. Undefined if it has no reason that we know of. */
  let wakeReason: string | undefined
  let step: { readonly messageID: string; readonly usage: ClaudeUsage; readonly output: number } | undefined
  let lastTotalCost = 0
  const calls = new Map<string, Call>()
  /** The permissions that are asked for and not decided, by the call. */
  const openAsks = new Map<string, { readonly requestID: string; readonly run: LocalRun }>()
  const tasks = new Map<string, Task>()
  /** Sub-agents, by the call that started them. */
  const children = new Map<string, { readonly run: LocalRun; readonly isBackground: boolean }>()
  /** Tasks in the background that have ended, and whose summary is still to come. */
  const unreported = new Set<string>()
  return {
    expectTurn,
    write,
    taskOf: (run) => [...tasks].find(([, task]) => task.run === run)?.[0],
    isBusy: () => turn !== undefined || waiting.length > 0 || tasks.size > 0,
    failAll,
  }

  /** Adds the prompt behind those that wait for their turn. */
  function expectTurn(run: LocalRun, uuid: string): void {
    waiting = [...waiting, { uuid, run }]
  }

  /** Passes an event to the function for its type. */
  function write(event: ClaudeEvent, raw: unknown): void {
    switch (event.type) {
      case 'response':
      case 'unknown-request':
        return
      case 'turn':
        return beginTurn()
      case 'prompt':
        return confirmPrompt(event.uuid)
      case 'idle':
        wakeReason = undefined
        return
      case 'task':
        return startTask(event, raw)
      case 'task-ended':
        return endTask(event)
      case 'ask':
        return showAsk(event, raw)
      case 'form':
        return showForm(event)
      case 'ask-gone':
        closeAsk(event.requestID)
        for (const run of [turn?.run, ...[...children.values()].map((child) => child.run)])
          run?.closeAsk(event.requestID)
        return
      case 'call':
      case 'result':
      case 'text':
        if (event.parent === undefined) return writeToTurn(event, raw)
        return writeToChild(event.parent, event, raw)
      default:
        return writeToTurn(event, raw)
    }
  }

  /**
   * Begins a turn in the run of the announced prompt, else of the oldest that waits, else in a new run without a
   * prompt. Does nothing during a turn.
   *
   * A turn that begins while a prompt waits may still be Claude Code's own. Its output is then shown in the prompt's
   * run too, before the answer, and only the result tells them apart.
   */
  function beginTurn(): void {
    // A turn may start again, for example after its history was compacted.
    if (turn?.run.isOpen()) return
    const prompt = waiting.find(({ uuid }) => uuid === announcedUUID) ?? waiting[0]
    const isConfirmed = prompt !== undefined && prompt.uuid === announcedUUID
    announcedUUID = undefined
    waiting = waiting.filter((other) => other !== prompt)
    turn = { run: prompt?.run ?? wake(wakeReason ?? 'Claude Code goes on by itself.'), prompt, isConfirmed }
  }

  /**
   * Stores that the turn, or the next one if there is none, answers this prompt. If the turn runs for another prompt
   * and this one waits, ends the turn's run and goes on in this one's.
   */
  function confirmPrompt(uuid: string): void {
    if (!turn) announcedUUID = uuid
    else if (turn.prompt?.uuid === uuid) turn = { ...turn, isConfirmed: true }
    const prompt = waiting.find((other) => other.uuid === uuid)
    if (!turn || !prompt) return
    // Claude Code took the prompt into the turn that it was in.
    waiting = waiting.filter((other) => other !== prompt)
    endRun(turn.run, { type: 'completed', finish: 'tool-calls' })
    turn = { run: prompt.run, prompt, isConfirmed: true }
  }

  /** Writes an event to the turn's run. Begins the turn if a prompt waits, and drops the event if there is none. */
  function writeToTurn(event: ClaudeEvent, raw: unknown): void {
    if (event.type === 'end') return endTurn(event)
    if (!turn && waiting.length > 0) beginTurn()
    if (turn) writeOutput(turn.run, event, raw)
  }

  /**
   * Ends the turn, writes its usage, and ends its run. The run goes on if the turn was Claude Code's own and a prompt was
   * expected: that waits again. Does nothing if there is no turn and no prompt.
   */
  function endTurn(event: Extract<ClaudeEvent, { readonly type: 'end' }>): void {
    if (!turn && waiting.length > 0) beginTurn()
    const ended = turn
    turn = undefined
    if (!ended) return
    const { run, prompt, isConfirmed } = ended
    writeUsage(run, event.cost ?? event.totalCost - lastTotalCost)
    lastTotalCost = event.totalCost
    if (event.contextLimit !== undefined) run.write({ type: 'context-limit', contextLimit: event.contextLimit })
    // The turn was Claude Code's own. The prompt's follows.
    if (prompt && event.isWake && !isConfirmed) waiting = [prompt, ...waiting]
    else endRun(run, endingOf(event))
  }

  /** Ends a run, and forgets its calls, sub-agents and tasks. Sub-agents in the background keep theirs. */
  function endRun(run: LocalRun, ending: LocalEnding): void {
    run.end(ending)
    step = undefined
    for (const [callID, child] of children) if (!child.run.isOpen()) children.delete(callID)
    for (const [callID, call] of calls) if (!call.run.isOpen() && !children.has(callID)) calls.delete(callID)
    for (const [taskID, task] of tasks) if (!task.isBackground && !task.run?.isOpen()) tasks.delete(taskID)
  }

  /** Writes what one of Claude Code's events says to the run. Ignores events that are no output. */
  function writeOutput(run: LocalRun, event: ClaudeEvent, raw: unknown): void {
    switch (event.type) {
      case 'message':
        step = { messageID: event.messageID, usage: event.usage, output: 0 }
        return run.write({ type: 'message', messageID: event.messageID, model: modelOf(event.model) })
      case 'delta':
        return run.write({ type: event.kind, delta: event.delta, raw })
      case 'writing':
        return writeCall(run, { callID: event.callID, tool: event.tool }, raw)
      case 'step':
        if (step) step = { ...step, output: event.output }
        return writeUsage(run, 0)
      case 'text':
        // The text was streamed already. Claude Code's own messages become the run's error.
        return event.isOwn ? undefined : run.write({ type: 'seal', raw })
      case 'call':
        return writeCall(run, event, raw)
      case 'result':
        return writeResult(event, raw)
      case 'retry': {
        const { attempt, message } = event
        return run.write({ type: 'retry', attempt, message, nextAt: now() + event.afterMs })
      }
      case 'notice': {
        // A line of its own, outside the answer.
        const state = { status: 'completed', input: {}, title: event.text, output: event.text } as const
        return run.write({ type: 'tool', callID: event.id, tool: 'notice', state, raw })
      }
      case 'compaction':
        return run.write({ type: 'compaction', state: event.state, auto: true })
    }
  }

  /**
   * Writes the output of the sub-agent that this call started. It isn't streamed. A call of an unknown sub-agent is
   * written to the turn, and its texts are dropped.
   */
  function writeToChild(
    parent: string,
    event: Extract<ClaudeEvent, { readonly type: 'call' | 'result' | 'text' }>,
    raw: unknown,
  ): void {
    const run = children.get(parent)?.run
    if (event.type === 'text') run?.write({ type: event.kind, delta: event.text, raw }, { type: 'seal' })
    else if (event.type === 'result') writeResult(event, raw)
    else if (run) writeCall(run, event, raw)
    else writeToTurn(event, raw)
  }

  /**
   * Shows an ask and its call in the run of its sub-agent, or else of the turn. Denies the request if that run has
   * ended or there is none. Denies an earlier request for the same call, because only the newest input is shown.
   */
  function showAsk(event: Extract<ClaudeEvent, { readonly type: 'ask' }>, raw: unknown): void {
    const child = event.agentID === undefined ? undefined : tasks.get(event.agentID)?.run
    const askingRun = child ?? turn?.run
    if (!askingRun?.isOpen()) return denyRequest(event.requestID, 'No run is active, so no person can be asked.')
    const open = openAsks.get(event.callID)
    if (open && open.requestID !== event.requestID) {
      open.run.closeAsk(open.requestID)
      denyRequest(open.requestID, 'Another request for the same call has replaced this one.')
    }
    const known = calls.get(event.callID)?.arguments
    // From 2.1.318 on, the request to leave plan mode repeats no input, and the plan is in the call alone.
    const input = known && Object.keys(event.input).length === 0 ? known : event.input
    // Claude Code may send a sub-agent's call after its request.
    writeCall(askingRun, { ...event, input }, raw, true)
    openAsks.set(event.callID, { requestID: event.requestID, run: askingRun })
    const decide = async (decision: ClaudeResponse): Promise<void> => {
      await respond(event.requestID, decision)
      closeAsk(event.requestID)
    }
    askingRun.ask(toAsk(event, input, decide))
  }

  /** Forgets that this permission is open. */
  function closeAsk(requestID: string): void {
    for (const [callID, open] of openAsks) if (open.requestID === requestID) openAsks.delete(callID)
  }

  /** Shows a form in the run of the server's newest open call, or else of the turn. Cancels it if no run is open. */
  function showForm(event: Extract<ClaudeEvent, { readonly type: 'form' }>): void {
    // The request names the server, and neither the call nor the sub-agent.
    const prefix = `mcp__${event.server.replace(/[^\w-]/g, '_')}__`
    const [callID, call] = [...calls].findLast(([, { name, isEnded }]) => !isEnded && name.startsWith(prefix)) ?? []
    const askingRun = call?.run.isOpen() ? call.run : turn?.run
    if (askingRun?.isOpen()) askingRun.ask(formAsk(event, callID, (response) => respond(event.requestID, response)))
    else respond(event.requestID, { action: 'cancel' }).catch(() => {})
  }

  /**
   * Denies a permission request without a person's decision: no run is open, or a newer request for the same call replaced
   * it. Ignores that the process may be gone.
   */
  function denyRequest(requestID: string, message: string): void {
    respond(requestID, { behavior: 'deny', message }).catch(() => {})
  }

  /**
   * Writes a call: as pending without an input, and as running with one. Does nothing for a known call without an input. A
   * call that was asked for keeps that input, because it runs with it if it is allowed. A hook may have changed it.
   */
  function writeCall(
    run: LocalRun,
    { callID, tool, input }: { readonly callID: string; readonly tool: string; readonly input?: Input },
    raw: unknown,
    isAsked = false,
  ): void {
    const known = calls.get(callID)
    if (known && (input === undefined || (known.isAsked && !isAsked))) return
    const startedAt = known?.startedAt ?? now()
    calls.set(callID, {
      run,
      name: tool,
      tool: toolName(tool),
      arguments: input ?? {},
      isEnded: false,
      isAsked,
      startedAt,
    })
    const begun = input === undefined ? ({ status: 'pending' } as const) : ({ status: 'running', startedAt } as const)
    const state = { ...begun, input: toolInput(tool, input ?? {}), ...childLink(callID) }
    run.write({ type: 'tool', callID, tool: toolName(tool), state, raw })
  }

  /** Returns the metadata that links a call to its sub-agent. Empty for other calls. */
  function childLink(callID: string) {
    const child = children.get(callID)
    if (!child) return {}
    return { metadata: { sessionId: child.run.sessionID, ...(child.isBackground && { background: true }) } }
  }

  /**
   * Writes the end of a call, its files, and the change that it made to the checklist. Ends its sub-agent too, unless
   * that was only started. Ignores the result of an unknown call.
   */
  function writeResult(event: Extract<ClaudeEvent, { type: 'result' }>, raw: unknown): void {
    const { callID, isError, text: output, files, value, isLaunch } = event
    const known = calls.get(callID)
    if (!known) return
    calls.set(callID, { ...known, isEnded: true })
    const { run, name, tool, startedAt } = known
    const input = toolInput(name, known.arguments)
    const fields = { input, startedAt, endedAt: now(), ...childLink(callID) }
    // A sub-agent whose end was not reported ended with its call.
    if (!isLaunch) children.get(callID)?.run.end(isError ? { type: 'aborted' } : { type: 'completed' })
    const state = isError
      ? { status: 'error' as const, error: output, ...fields }
      : { status: 'completed' as const, output, metadata: editMetadata(value), ...fields }
    run.write({ type: 'tool', callID, tool, state, files, raw })
    const change = isError ? undefined : todoChangeIn({ tool: name, input, text: output, value })
    if (change?.type === 'own') run.write({ type: 'todos', todos: change.todos })
    else if (change) {
      const isRead = change.type === 'all' ? true : undefined
      const root = turn?.run ?? run
      root.write({ type: 'todos', todos: checklist.apply(change), isRead })
    }
  }

  /**
   * Stores a task. For a sub-agent it also begins a child run and links it to its call. A command, and a task of an
   * unknown call, has no run.
   */
  function startTask(event: Extract<ClaudeEvent, { type: 'task' }>, raw: unknown): void {
    const { taskID, callID, kind, title, text } = event
    const known = callID === undefined ? undefined : calls.get(callID)
    const isBackground = event.isBackground ?? (kind === 'command' || known?.arguments.run_in_background === true)
    if (kind === 'command' || callID === undefined || !known) {
      tasks.set(taskID, { title, isBackground, run: undefined })
      return
    }
    // A sub-agent that gets another message works on under the same task.
    const run = known.run.child({ sessionID: subAgentID(taskID), title, text, background: isBackground })
    tasks.set(taskID, { title, isBackground, run })
    children.set(callID, { run, isBackground })
    const { tool, name, startedAt } = known
    const state = {
      status: 'running' as const,
      input: toolInput(name, known.arguments),
      startedAt,
      ...childLink(callID),
    }
    known.run.write({ type: 'tool', callID, tool, state, raw })
  }

  /**
   * Forgets a task, and ends its child run. The summary of one in the background is the reason of Claude Code's next
   * turn. It may come in a second report.
   */
  function endTask({ taskID, outcome, summary }: Extract<ClaudeEvent, { type: 'task-ended' }>): void {
    const task = tasks.get(taskID)
    tasks.delete(taskID)
    if (task?.isBackground || unreported.has(taskID)) {
      wakeReason = summary ?? `${task?.title} has ended.`
      if (summary === undefined) unreported.add(taskID)
      else unreported.delete(taskID)
    }
    const message = summary ?? `${task?.title} failed.`
    const error = { name: 'ClaudeError', message, raw: undefined }
    task?.run?.end(outcome === 'failed' ? { type: 'failed', error } : { type: outcome })
  }

  /**
   * Writes the tokens of the current model call, with what the turn cost in US dollars. Does nothing before the first
   * call.
   */
  function writeUsage(run: LocalRun, cost: number): void {
    if (!step) return
    const { usage, output, messageID } = step
    const tokens = { ...usage, output, reasoning: 0 }
    run.write({ type: 'usage', messageID, stepID: messageID, tokens, cost: Math.max(0, cost) })
  }

  /** Forgets the turn, the prompts and the tasks, then fails their runs. */
  function failAll(message: string): void {
    const ending = { type: 'failed', error: { name: 'ExitError', message, raw: undefined } } as const
    const runs = [turn?.run, ...waiting.map(({ run }) => run), ...[...tasks.values()].map(({ run }) => run)]
    waiting = []
    turn = undefined
    tasks.clear()
    for (const run of runs) run?.end(ending)
  }
}

/**
 * Returns how a run ends with its turn: aborted, failed, or completed, with the finish `length` if the answer was cut
 * off.
 */
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

/** Returns the id of a sub-agent's session. Its transcript has the same name. */
const subAgentID = (taskID: string): string => `agent-${taskID}`

/** Returns Claude Code's name of a model as replies name it. */
const modelOf = (modelID: string) => ({ providerID: 'anthropic', modelID })
