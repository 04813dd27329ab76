import type { LocalFile, LocalOutput, LocalRun, ToolState } from '@reply/core/source'
import type { Conversation } from './conversation.ts'
import { reviewedCallOf } from './decode/answer-form.ts'
import {
  fileIn,
  type Interrupt,
  type SnapshotMessage,
  todosIn,
  type WireEvent,
  type WireOutcome,
  type WireUsage,
} from './decode/event.ts'
import { patched } from './decode/patch.ts'

/** How a stream of the agent ended: the outcome that it reported, or `cut` if it reported none. */
export type StreamEnd =
  | WireOutcome
  | { readonly type: 'failed'; readonly message: string; readonly code: string | undefined }
  | { readonly type: 'cut' }

/** A call that a permission is about. */
export interface AskedCall {
  /** Its id in the run's outputs. */
  readonly callID: string
  readonly tool: string
}

/** Writes an agent's events to the run of one prompt, over all streams that the run needs. */
export interface RunReader {
  /** Begins to read a stream. */
  begin(): void
  /** Writes an event. */
  push(event: WireEvent): void
  /**
   * What may follow in the stream: `more` until the agent says that the run has ended, and also after that while a call has no
   * result. Otherwise `end` after an end, and `nothing` after a failure.
   */
  expects(): 'more' | 'end' | 'nothing'
  /** Closes the texts and calls that are still open, and returns how the stream ended. */
  end(): StreamEnd
  /** The run of an interrupt: the sub-agent's that asks, or the prompt's own. */
  runOf(interrupt: Interrupt): LocalRun
  /**
   * Returns the call that a permission is about. Shows one if the agent has shown none, because only what is shown may be
   * allowed. Undefined if it names a call that is not known at all.
   */
  callOf(interrupt: Interrupt): AskedCall | undefined
  /** The call that an interrupt names, if it was shown. */
  knownCall(interrupt: Interrupt): string | undefined
  /** Tells that a person answered for a call, so that a refused one ends as failed. */
  answered(interrupt: Interrupt, isAllowed: boolean): void
}

/** A call of the agent. */
interface Call {
  /** Its id in the run's outputs, because agents may repeat theirs. */
  readonly callID: string
  readonly messageID: string
  name: string
  /** The arguments so far. */
  args: string
  state: ToolState
  /** Whether a person refused it. */
  isRefused: boolean
}

/** The agent itself, or one of its sub-agents. */
interface Lane {
  readonly id: string | undefined
  readonly run: LocalRun
  /** The reply's message that new parts belong to. A new one begins with each step of the model. */
  messageID: string
  steps: number
  /** Whether the next text, thought or call begins a new step. */
  isStepOver: boolean
  /** Whether the step has a part. One without has no message. */
  hasParts: boolean
  /** The texts and thoughts with their places, by kind and the agent's id. */
  readonly texts: Map<string, LaneText>
  /** The keys of the open text and of the open thought. */
  readonly open: Map<'text' | 'reasoning', string>
  /** The agent's id of the call that grows. */
  openCall: string | undefined
  /** Whether that call came as a chunk, which has no end of its own. */
  isChunk: boolean
  /** Ids of messages that are not the agent's. */
  readonly foreign: Set<string>
}

interface LaneText {
  readonly kind: 'text' | 'reasoning'
  readonly id: string
  readonly messageID: string
  text: string
}

/** What a run is read for. */
export interface RunReaderOptions {
  readonly run: LocalRun
  readonly conversation: Conversation
  /** The message and the text of the prompt, by which a snapshot is read. */
  readonly prompt: { readonly id: string; readonly text: string }
  /** Called with the agent's state, to send it back with the next run. */
  readonly onState: (change: Extract<WireEvent, { readonly type: 'state' | 'state-patch' }>) => void
  /** Called with the type of an event that no version of the protocol has. */
  readonly onUnknown: (name: string) => void
}

/** Creates the reader of one prompt's run, with nothing read yet. */
export function createRunReader(options: RunReaderOptions): RunReader {
  const { conversation, prompt } = options
  /** The calls of the agent and of its sub-agents, by the agent's ids. */
  const calls = new Map<string, { readonly lane: Lane; readonly call: Call }>()
  const root = createLane(undefined, options.run)
  const lanes = new Map<string, Lane>()
  /** The contents of activities, by their ids. */
  const activities = new Map<string, unknown>()
  let made = 0
  let ending: StreamEnd = { type: 'cut' }
  /** An interrupt that came as a custom event. Counts if the run ends without an outcome. */
  let custom: Interrupt | undefined
  return {
    begin: () => {
      ending = { type: 'cut' }
      custom = undefined
    },
    push,
    expects: () => {
      if (ending.type === 'failed') return 'nothing'
      if (ending.type === 'cut') return 'more'
      // TanStack AI runs a tool after the end of the model's call, and then goes on.
      const isWaiting = ending.type === 'success' && [...calls.values()].some(({ call }) => !isDone(call.state))
      return isWaiting ? 'more' : 'end'
    },
    end: () => {
      for (const lane of [root, ...lanes.values()]) closeCall(lane)
      return ending
    },
    runOf: ({ subagentID }) => laneOf(subagentID).run,
    callOf,
    knownCall: ({ toolCallID }) => (toolCallID === undefined ? undefined : calls.get(toolCallID)?.call.callID),
    answered,
  }

  function createLane(id: string | undefined, run: LocalRun): Lane {
    return {
      id,
      run,
      messageID: `${run.promptID}-1`,
      steps: 1,
      isStepOver: false,
      hasParts: false,
      texts: new Map(),
      open: new Map(),
      openCall: undefined,
      isChunk: false,
      foreign: new Set(),
    }
  }

  /** The lane of a sub-agent, which begins if it was not announced. Without an id, that of the agent itself. */
  function laneOf(id: string | undefined): Lane {
    if (id === undefined) return root
    return lanes.get(id) ?? beginLane(id, root, undefined, undefined)
  }

  function beginLane(id: string, parent: Lane, title: string | undefined, name: string | undefined): Lane {
    const sessionID = `${options.run.sessionID}.${id}`
    const lane = createLane(id, parent.run.child({ sessionID, title: title ?? name }))
    if (name !== undefined) lane.run.write({ type: 'message', messageID: lane.messageID, agent: name })
    lanes.set(id, lane)
    return lane
  }

  function push(event: WireEvent): void {
    const { raw } = event
    switch (event.type) {
      case 'run-started':
        // Some agents report one run for each call of the model.
        ending = { type: 'cut' }
        return
      case 'step': {
        const lane = laneOf(event.subagentID)
        lane.isStepOver = true
        return
      }
      case 'text':
        return writeText(laneOf(event.subagentID), event)
      case 'text-end':
        return endText(laneOf(event.subagentID), event)
      case 'call':
        return writeCall(laneOf(event.subagentID), event)
      case 'call-end':
        return endCall(laneOf(event.subagentID), event.id)
      case 'result':
        return writeResult(laneOf(event.subagentID), event)
      case 'subagent':
        return beginSubagent(event)
      case 'subagent-end':
        return endSubagent(event)
      case 'activity':
        return writeActivity(laneOf(event.subagentID), event.id, event.content)
      case 'activity-patch': {
        const next = patched(activities.get(event.id), event.patch)
        return next ? writeActivity(laneOf(event.subagentID), event.id, next.value) : undefined
      }
      case 'snapshot':
        return applySnapshot(event.messages)
      case 'state':
      case 'state-patch':
        return options.onState(event)
      case 'finished':
        writeUsage(event.usage, raw)
        ending =
          custom && event.outcome.type === 'success' ? { type: 'interrupt', interrupts: [custom] } : event.outcome
        return
      case 'failed':
        writeUsage(event.usage, raw)
        ending = { type: 'failed', message: event.message, code: event.code }
        return
      case 'custom-interrupt':
        custom ??= event.interrupt
        return
      case 'other':
        return
      case 'unknown':
        return options.onUnknown(event.name)
      default:
        return event satisfies never
    }
  }

  /** Begins the next step of the model if the last one is over. Its parts belong to a message of their own. */
  function enterStep(lane: Lane): void {
    const isNext = lane.isStepOver && lane.hasParts
    lane.isStepOver = false
    lane.hasParts = true
    if (!isNext) return
    lane.steps += 1
    lane.messageID = `${lane.run.promptID}-${lane.steps}`
    lane.open.clear()
  }

  function writeText(lane: Lane, event: Extract<WireEvent, { readonly type: 'text' }>): void {
    const { kind, role, delta, begins, raw } = event
    closeChunk(lane)
    const open = lane.open.get(kind)
    const id = event.id ?? (begins ? undefined : open && lane.texts.get(open)?.id) ?? nextID(kind)
    if (role !== undefined && role !== 'assistant' && kind === 'text') lane.foreign.add(id)
    if (lane.foreign.has(id)) return
    const key = `${kind}:${id}`
    if (!lane.texts.has(key)) {
      enterStep(lane)
      // A part without words would be an empty message in a chat, so it begins with its first word.
      lane.texts.set(key, { kind, id, messageID: lane.messageID, text: '' })
    }
    lane.open.set(kind, key)
    const text = lane.texts.get(key)
    if (!text || delta === '') return
    text.text += delta
    lane.run.write({ type: kind, delta, partID: key, messageID: text.messageID, raw })
    if (kind === 'text' && lane === root) conversation.say(id, delta)
  }

  function endText(lane: Lane, { kind, id }: Extract<WireEvent, { readonly type: 'text-end' }>): void {
    const open = lane.open.get(kind)
    if (open === undefined || (id !== undefined && open !== `${kind}:${id}`)) return
    lane.open.delete(kind)
    const text = lane.texts.get(open)
    if (text?.messageID === lane.messageID && text.text !== '' && lane.open.size === 0) lane.run.write({ type: 'seal' })
  }

  function writeCall(lane: Lane, event: Extract<WireEvent, { readonly type: 'call' }>): void {
    const { name, parentID, delta, isChunk, raw } = event
    const id = event.id ?? lane.openCall ?? nextID('call')
    if (lane.openCall !== id) closeCall(lane)
    const known = calls.get(id)?.call
    // Some providers repeat the ids of calls.
    const isNew = known === undefined || (name !== undefined && isDone(known.state))
    if (isNew) beginCall(lane, id, name ?? 'tool', raw, parentID)
    // The agent tells a call again that it was interrupted in, perhaps with other words.
    else if (name !== undefined && !isChunk) {
      known.name = name
      known.args = ''
      if (lane === root && known.callID === id) conversation.call(id, name, parentID)
    }
    lane.openCall = id
    lane.isChunk = isChunk
    const call = calls.get(id)?.call
    if (!call || delta === '') return
    call.args += delta
    if (lane === root && call.callID === id) conversation.args(id, delta)
  }

  function beginCall(lane: Lane, id: string, name: string, raw: unknown, parentID?: string, isAgents = true): Call {
    enterStep(lane)
    const isRepeated = calls.has(id)
    const call: Call = {
      callID: isRepeated ? `${id}#${++made}` : id,
      messageID: lane.messageID,
      name,
      args: '',
      state: { status: 'pending', input: {} },
      isRefused: false,
    }
    calls.set(id, { lane, call })
    if (lane === root && isAgents && !isRepeated) conversation.call(id, name, parentID)
    writeState(lane, call, call.state, raw)
    return call
  }

  /** Ends a call's arguments, so that its input is known. */
  function endCall(lane: Lane, id: string | undefined): void {
    const ended = id ?? lane.openCall
    if (ended === undefined) return
    if (lane.openCall === ended) lane.openCall = undefined
    const found = calls.get(ended)
    if (!found || isDone(found.call.state)) return
    const { call } = found
    const { metadata } = call.state
    writeState(found.lane, call, { status: 'running', input: inputOf(call.args), ...(metadata && { metadata }) })
  }

  function closeCall(lane: Lane): void {
    if (lane.openCall !== undefined) endCall(lane, lane.openCall)
  }

  /** Ends a call that came in chunks, because another kind of event follows. */
  function closeChunk(lane: Lane): void {
    if (lane.isChunk) closeCall(lane)
  }

  function writeResult(lane: Lane, event: Extract<WireEvent, { readonly type: 'result' }>): void {
    const { text, messageID, raw } = event
    const id = event.id ?? lane.openCall ?? nextID('call')
    if (lane.openCall === id) lane.openCall = undefined
    const found = calls.get(id) ?? { lane, call: beginCall(lane, id, 'tool', raw) }
    finishCall(found.lane, found.call, event, raw)
    if (found.lane === root) conversation.result(id, messageID, text)
  }

  function finishCall(
    lane: Lane,
    call: Call,
    { text, files, error, isInterrupted }: Pick<SnapshotMessage, 'text' | 'files' | 'error' | 'isInterrupted'>,
    raw: unknown,
  ): void {
    if (isDone(call.state) || isInterrupted) return
    const { metadata } = call.state
    const fields = { input: inputOf(call.args), ...(metadata && { metadata }) }
    const failure = error ?? (call.isRefused ? text || 'A person refused it.' : undefined)
    const state: ToolState =
      failure === undefined
        ? { status: 'completed', output: text, ...fields }
        : { status: 'error', error: failure, ...fields }
    writeState(lane, call, state, raw, files)
    lane.isStepOver = true
  }

  function writeState(lane: Lane, call: Call, state: ToolState, raw?: unknown, files?: readonly LocalFile[]): void {
    call.state = state
    const { callID, messageID, name: tool } = call
    lane.run.write({ type: 'tool', callID, tool, state, messageID, raw, files })
  }

  function beginSubagent(event: Extract<WireEvent, { readonly type: 'subagent' }>): void {
    const { id, name, description, callID, parentID } = event
    // After an answer, the agent tells again which sub-agents go on.
    if (lanes.has(id)) return
    const parent = parentID === id ? root : laneOf(parentID)
    const lane = beginLane(id, parent, description, name)
    const found = callID === undefined ? undefined : calls.get(callID)
    // A chat shows a sub-agent below the call that began it, if that is one of the known tools for it.
    if (found && /^(task|subagent)$/.test(found.call.name)) {
      const { call } = found
      closeCall(found.lane)
      writeState(found.lane, call, {
        ...call.state,
        metadata: { ...call.state.metadata, sessionId: lane.run.sessionID },
      })
    }
  }

  function endSubagent({ id, how }: Extract<WireEvent, { readonly type: 'subagent-end' }>): void {
    const lane = lanes.get(id)
    if (!lane || how === 'suspended') return
    closeCall(lane)
    if (how === 'success') return lane.run.end({ type: 'completed' })
    const { message, code = 'SubagentError' } = how
    if (/^(aborted|cancell?ed)$/i.test(code)) return lane.run.end({ type: 'aborted' })
    lane.run.end({ type: code === 'lost' ? 'lost' : 'failed', error: { name: code, message, raw: undefined } })
  }

  /** Writes the checklist or the file of an activity. Any other has no place in a reply. */
  function writeActivity(lane: Lane, id: string, content: unknown): void {
    const isKnown = activities.has(id)
    activities.set(id, content)
    const todos = todosIn(content)
    if (todos) return lane.run.write({ type: 'todos', todos })
    const file = fileIn(content)
    if (!file || isKnown) return
    enterStep(lane)
    lane.run.write({ type: 'file', messageID: lane.messageID, ...file })
  }

  /** Writes the tokens of a run. The agent tells no cost. */
  function writeUsage(usage: readonly WireUsage[], raw: unknown): void {
    if (usage.length === 0) return
    const tokens = usage.reduce((sum, each) => ({
      input: sum.input + each.input,
      output: sum.output + each.output,
      reasoning: sum.reasoning + each.reasoning,
      cacheRead: sum.cacheRead + each.cacheRead,
      cacheWrite: sum.cacheWrite + each.cacheWrite,
    }))
    root.run.write({ type: 'usage', tokens, cost: 0, messageID: root.messageID, raw })
  }

  /**
   * Replaces everything since the prompt. A snapshot that doesn't have the prompt by its id is older, or has other ids: it then
   * takes nothing back.
   */
  function applySnapshot(messages: readonly SnapshotMessage[]): void {
    const byID = messages.findLastIndex(({ id }) => id === prompt.id)
    const at =
      byID === -1
        ? messages.findLastIndex(({ role, text }) => role === 'user' && text.trim() === prompt.text.trim())
        : byID
    if (at === -1) return
    const said = messages.slice(at + 1)
    if (byID !== -1 || said.length > 0)
      conversation.replace(messages.filter(({ subagentID }) => subagentID === undefined))
    for (const lane of [root, ...lanes.values()]) {
      const own = said.filter(({ subagentID }) => subagentID === lane.id)
      if (own.length > 0 || (lane === root && byID !== -1)) applyToLane(lane, own)
    }
  }

  function applyToLane(lane: Lane, messages: readonly SnapshotMessage[]): void {
    closeCall(lane)
    const keys = new Set(
      messages.flatMap(({ role, id }) => (role === 'reasoning' ? [`reasoning:${id}`] : [`text:${id}`])),
    )
    // Many agents leave thoughts out of snapshots.
    const hasThoughts = messages.some(({ role }) => role === 'reasoning')
    const gone = [...lane.texts].filter(([key, { kind }]) => !keys.has(key) && (kind === 'text' || hasThoughts))
    const renamed = new Map<string, string>()
    for (const { role, id, text } of messages) {
      const key = `text:${id}`
      const same = gone.findIndex(([, each]) => role === 'assistant' && each.kind === 'text' && each.text === text)
      // The same text under another id stays where it is.
      if (text !== '' && !lane.texts.has(key) && same !== -1) renamed.set(key, gone.splice(same, 1)[0]?.[0] ?? key)
    }
    for (const [key, { kind, messageID }] of gone) {
      lane.run.write({ type: kind, replace: '', partID: key, messageID })
      lane.texts.delete(key)
    }
    for (const message of messages) applyMessage(lane, message, renamed)
  }

  /** Writes the part of a snapshot's message that was not shown yet. */
  function applyMessage(lane: Lane, message: SnapshotMessage, renamed: ReadonlyMap<string, string>): void {
    const { id, role, text, toolCallID, raw } = message
    if (role === 'tool' && toolCallID !== undefined) {
      const found = calls.get(toolCallID) ?? { lane, call: beginCall(lane, toolCallID, 'tool', raw) }
      return finishCall(found.lane, found.call, message, raw)
    }
    if (role !== 'assistant' && role !== 'reasoning') return
    const kind = role === 'assistant' ? 'text' : 'reasoning'
    const key = `${kind}:${id}`
    if (!renamed.has(key)) replaceText(lane, kind, id, text, raw)
    for (const { id: callID, name, args } of message.calls) {
      const call = calls.get(callID)?.call ?? beginCall(lane, callID, name, raw, id)
      if (isDone(call.state) || (call.state.status === 'running' && call.args === args)) continue
      call.args = args
      endCall(lane, callID)
    }
  }

  function replaceText(lane: Lane, kind: 'text' | 'reasoning', id: string, text: string, raw: unknown): void {
    const key = `${kind}:${id}`
    const known = lane.texts.get(key)
    if (known?.text === text || (text === '' && !known)) return
    if (!known) enterStep(lane)
    const messageID = known?.messageID ?? lane.messageID
    lane.texts.set(key, { kind, id, messageID, text })
    const piece = { type: kind, partID: key, messageID, raw } as const
    const grown = known && text.startsWith(known.text) ? text.slice(known.text.length) : undefined
    const output: LocalOutput =
      known && grown === undefined ? { ...piece, replace: text } : { ...piece, delta: grown ?? text }
    lane.run.write(output)
  }

  function callOf(interrupt: Interrupt): AskedCall | undefined {
    const { toolCallID, subagentID, metadata, reason, message } = interrupt
    const found = toolCallID === undefined ? undefined : calls.get(toolCallID)
    if (found && !isDone(found.call.state)) {
      if (found.call.state.status === 'pending') endCall(found.lane, toolCallID)
      return { callID: found.call.callID, tool: found.call.name }
    }
    const lane = laneOf(subagentID)
    const named = { ...metadata, ...fieldsIn(metadata.mastra) }
    const known = named.args ?? (found && inputOf(found.call.args))
    const { toolName, input = known } = reviewedCallOf(interrupt) ?? named
    const isAgents = toolCallID !== undefined
    if (isAgents && input === undefined) return undefined
    const name =
      typeof toolName === 'string' && toolName !== '' ? toolName : (found?.call.name ?? (reason || 'approval'))
    const id = toolCallID ?? `interrupt:${interrupt.id}`
    const call = beginCall(lane, id, name, interrupt, undefined, isAgents)
    call.args = JSON.stringify(input ?? { ...(message !== undefined && { message }), ...metadata })
    if (lane === root && isAgents && call.callID === id) conversation.args(id, call.args)
    writeState(lane, call, { status: 'running', input: inputOf(call.args) }, interrupt)
    return { callID: call.callID, tool: name }
  }

  function answered({ id, toolCallID }: Interrupt, isAllowed: boolean): void {
    const shown = calls.get(`interrupt:${id}`)
    if (shown) {
      shown.call.isRefused = !isAllowed
      finishCall(shown.lane, shown.call, { text: '', files: [], error: undefined, isInterrupted: false }, undefined)
    }
    const found = toolCallID === undefined ? undefined : calls.get(toolCallID)
    if (found) found.call.isRefused = !isAllowed
  }

  function nextID(kind: string): string {
    made += 1
    return `${kind}-${made}`
  }
}

function isDone({ status }: ToolState): boolean {
  return status === 'completed' || status === 'error'
}

/** Reads the arguments of a call. Those that are not a JSON object are kept as they are, under `arguments`. */
function inputOf(args: string): ToolState['input'] {
  if (args.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(args)
    return isFields(value) ? value : { arguments: value }
  } catch {
    return { arguments: args }
  }
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function fieldsIn(value: unknown): Readonly<Record<string, unknown>> {
  return isFields(value) ? value : {}
}
