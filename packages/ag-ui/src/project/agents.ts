import {
  type Ask,
  type Child,
  isShownText,
  type Message,
  ownTodosOf,
  type Part,
  promptOf,
  type Reply,
  type ReplyFile,
  type Todo,
  type ToolPart,
} from '@reply/core'
import { isLoadable, partChunks } from '@reply/core/internal'
import { fileFacts, toolFacts } from '@reply/core/show'
import type { AgUiEvent, AgUiMessage, AgUiPatch } from '../event.ts'
import { failureText } from './failure.ts'
import { resultIdOf } from './messages.ts'

/** The messages of a reply and of its sub-agents, as one client has them. */
export interface Agents {
  /**
   * Says the difference to this state. `ownPrompts` are messages of the client that are prompts of the reply, by the ids of the
   * prompts: they are only said with `isWhole`. Returns whether events could say all of it: if not, call `restart`.
   */
  project(reply: Reply, ownPrompts: () => ReadonlyMap<string, AgUiMessage>, isWhole: boolean): boolean
  /** Forgets what the client has, but not what is open in the run. Close the texts first. */
  restart(): void
  /** Ends the open texts and thoughts. They are opened again when they grow. */
  closeTexts(): void
  /** Ends all that is open in the run: texts, steps, and sub-agents as suspended, with the ids that `waitsFor` gives. */
  close(waitsFor: (subagentRunId: string) => readonly string[]): void
  /** The call that an ask is about, and the sub-agent that asks. */
  placeOf(ask: Ask): { readonly toolCallId: string | undefined; readonly subagentRunId: string | undefined }
}

/** A text or thought that the client has. */
interface SentText {
  readonly type: 'text' | 'reasoning'
  text: string
  isOpen: boolean
}

/** A tool call that the client has. */
interface SentCall {
  readonly type: 'call'
  readonly tool: string
  readonly args: string
  result: string | undefined
}

/** The position of a part: the index of its message, then its own. */
type Place = readonly [message: number, part: number]

/** The run of the agent itself, or of a sub-agent. */
interface Agent {
  readonly subagentRunId: string | undefined
  /** The last state. Undefined before the first. */
  reply: Reply | undefined
  messages: readonly Message[]
  /** The last part that is shown. Another one that becomes shown has to come after it. */
  last: Place
  /** Ids of the parts of calls, by call id. */
  readonly calls: Map<string, string>
  /** How many prompts were looked at. */
  prompts: number
  todos: readonly Todo[] | undefined
  sentTodos: readonly Todo[] | undefined
  readonly children: Agent[]
  /** How many steps were begun in this run. */
  steps: number
  step: string | undefined
  state: 'new' | 'running' | 'over'
}

/**
 * Creates the projection of messages. `emit` gets each event. */
export function createAgents(emit: (event: AgUiEvent) => void): Agents {
  /** What the client has, by the id of the part. */
  let sent = new Map<string, SentText | SentCall>()
  /** Ids of other messages that the client has: results, files and prompts. */
  let others = new Set<string>()
  let root = createAgent(undefined)
  /** Open texts, with their agents. */
  const open = new Map<string, Agent>()
  /** Whether something that the client has is no longer true, or is elsewhere. */
  let isOutdated = false
  let findOwnPrompts: () => ReadonlyMap<string, AgUiMessage> = () => new Map()
  let saysOwnPrompts = false
  return { project, restart, closeTexts, close, placeOf }

  function project(reply: Reply, ownPrompts: typeof findOwnPrompts, isWhole: boolean): boolean {
    isOutdated = false
    findOwnPrompts = ownPrompts
    saysOwnPrompts = isWhole
    projectAgent(root, reply)
    return !isOutdated
  }

  function restart(): void {
    sent = new Map()
    others = new Set()
    root = restarted(root)
  }

  function projectAgent(agent: Agent, reply: Reply): void {
    if (agent.reply === reply) return
    const { messages: before } = agent
    const { messages, children } = reply
    agent.reply = reply
    agent.messages = messages
    if (before !== messages) {
      for (let index = 0; index < messages.length; index++) {
        const message = messages[index]
        const known = before[index]
        if (message === undefined || message === known) continue
        if (known !== undefined && known.id !== message.id) isOutdated = true
        projectMessage(agent, known, message, index)
      }
      if (before.length > messages.length) isOutdated = true
    }
    projectPrompts(agent, reply, reply.promptIDs.length)
    for (let index = 0; index < children.length; index++) projectChild(agent, children, index)
    if (reply.todos !== agent.todos || reply.phase === 'settled') projectTodos(agent, reply)
    if (reply.phase === 'settled') {
      closeTextsOf(agent)
      finishStep(agent)
    }
  }

  function projectMessage(agent: Agent, before: Message | undefined, message: Message, index: number): void {
    const { reply } = agent
    if (before === undefined && reply) {
      const answered = reply.promptIDs.indexOf(message.parentID ?? '')
      projectPrompts(agent, reply, Math.max(1, answered + 1))
    }
    startStep(agent, index)
    const chunksBefore = before === undefined ? [] : partChunks(before)
    let offset = 0
    let isMoved = false
    for (const [at, chunk] of partChunks(message).entries()) {
      const chunkBefore = chunksBefore[at]
      if (chunk !== chunkBefore)
        for (let inChunk = 0; inChunk < chunk.length; inChunk++) {
          const part = chunk[inChunk]
          const partBefore = chunkBefore?.[inChunk]
          if (part === undefined || part === partBefore) continue
          if (partBefore !== undefined && partBefore.id !== part.id) isMoved = true
          projectPart(agent, part, [index, offset + inChunk])
        }
      offset += chunk.length
    }
    const count = chunksBefore.reduce((sum, chunk) => sum + chunk.length, 0)
    if (before !== undefined && (isMoved || count > offset) && !hasSameOrder(before, message)) isOutdated = true
    if (message.completedAt !== undefined) finishStep(agent, message, index)
  }

  /** Whether the parts of `before` that the client has are in the message, in the same order. */
  function hasSameOrder(before: Message, message: Message): boolean {
    const shown = before.parts.filter(({ id }) => sent.has(id) || others.has(id)).map(({ id }) => id)
    const wanted = new Set(shown)
    const found = message.parts.filter(({ id }) => wanted.has(id)).map(({ id }) => id)
    return found.length === shown.length && found.every((id, at) => id === shown[at])
  }

  function projectPart(agent: Agent, part: Part, place: Place): void {
    switch (part.type) {
      case 'text':
        return projectText(agent, part, isShownText(part), place)
      case 'reasoning':
        return projectText(agent, part, part.status !== 'abandoned' && part.text.trim() !== '', place)
      case 'tool':
        return projectCall(agent, part, place)
      case 'file':
        return projectFile(agent, part, part.id, part.status !== 'abandoned', place)
      default:
        return
    }
  }

  /** Says what a text has gained. White space at an open end waits, because the server may trim it. */
  function projectText(
    agent: Agent,
    part: Extract<Part, { type: 'text' | 'reasoning' }>,
    isShown: boolean,
    place: Place,
  ): void {
    const known = sent.get(part.id)
    if (!isShown) {
      if (known) isOutdated = true
      return
    }
    const isOpen = part.status === 'open'
    const text = isOpen ? part.text.trimEnd() : part.text
    if (known && (known.type !== part.type || !text.startsWith(known.text))) {
      isOutdated = true
      return
    }
    if (!known) note(agent, place)
    const shown: SentText = known?.type === part.type ? known : { type: part.type, text: '', isOpen: false }
    sent.set(part.id, shown)
    const delta = text.slice(shown.text.length)
    if (delta !== '') {
      if (!shown.isOpen) openText(agent, part.id, shown)
      shown.text = text
      const type = part.type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
      emit({ type, messageId: part.id, delta, ...of(agent) })
    }
    if (!isOpen && shown.isOpen) closeText(agent, part.id, shown)
  }

  function openText(agent: Agent, messageId: string, text: SentText): void {
    text.isOpen = true
    open.set(messageId, agent)
    if (text.type === 'text') emit({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...of(agent) })
    else {
      emit({ type: 'REASONING_START', messageId, ...of(agent) })
      emit({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...of(agent) })
    }
  }

  function closeText(agent: Agent, messageId: string, text: SentText): void {
    text.isOpen = false
    open.delete(messageId)
    if (text.type === 'text') emit({ type: 'TEXT_MESSAGE_END', messageId, ...of(agent) })
    else {
      emit({ type: 'REASONING_MESSAGE_END', messageId, ...of(agent) })
      emit({ type: 'REASONING_END', messageId, ...of(agent) })
    }
  }

  function closeTextsOf(only?: Agent): void {
    for (const [id, agent] of open) {
      const text = sent.get(id)
      if ((only === undefined || agent === only) && text && text.type !== 'call') closeText(agent, id, text)
    }
  }

  function closeTexts(): void {
    closeTextsOf()
  }

  /** Says a call once its input is known, then what its sub-agent does, and then its result. */
  function projectCall(agent: Agent, part: ToolPart, place: Place): void {
    const known = sent.get(part.id)
    if (part.status === 'abandoned') {
      if (known) isOutdated = true
      return
    }
    const { state, tool } = part
    const isOver = part.status === 'sealed' || state.status === 'completed' || state.status === 'error'
    if (state.status === 'pending' && !isOver && !known) return
    const args = JSON.stringify(state.input)
    if (known && (known.type !== 'call' || known.tool !== tool || known.args !== args)) {
      isOutdated = true
      return
    }
    const toolCallId = part.id
    const call: SentCall = known?.type === 'call' ? known : { type: 'call', tool, args, result: undefined }
    if (!known) {
      note(agent, place)
      sent.set(toolCallId, call)
      agent.calls.set(part.callID, toolCallId)
      emit({ type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, ...of(agent) })
      emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta: args, ...of(agent) })
      emit({ type: 'TOOL_CALL_END', toolCallId, ...of(agent) })
    }
    const children = agent.reply?.children ?? []
    for (const index of childrenOf(children, part.callID)) projectChild(agent, children, index)
    for (const file of state.attachments ?? []) projectFile(agent, file, `${toolCallId}.${file.id}`, true, place)
    if (isOver) projectResult(agent, part, call)
  }

  /** Says the result of a call that has ended. One that the end of the run interrupted has an empty one. */
  function projectResult(agent: Agent, part: ToolPart, call: SentCall): void {
    const { state } = part
    const result = state.output ?? state.error ?? ''
    if (call.result === result) return
    if (call.result !== undefined) {
      isOutdated = true
      return
    }
    call.result = result
    const end = agent.reply && toolFacts(part, agent.reply).end?.type
    emit({
      type: 'TOOL_CALL_RESULT',
      messageId: resultIdOf(part.id),
      toolCallId: part.id,
      role: 'tool',
      content: result,
      metadata: { reply: { status: end ?? 'completed', ...(state.title !== undefined && { title: state.title }) } },
      ...of(agent),
    })
  }

  function projectFile(agent: Agent, file: ReplyFile, messageId: string, isShown: boolean, place: Place): void {
    const isKnown = others.has(messageId)
    if (isKnown !== isShown && isKnown) isOutdated = true
    if (isKnown || !isShown) return
    note(agent, place)
    others.add(messageId)
    const { name, size, caption } = fileFacts(file)
    const content = {
      id: file.id,
      name,
      mime: file.mime,
      ...(size !== undefined && { size }),
      ...(caption !== undefined && { caption }),
      ...(isLoadable(file.url) && { url: file.url }),
    }
    emit({ type: 'ACTIVITY_SNAPSHOT', messageId, activityType: 'reply.file', content, ...of(agent) })
  }

  /** Remembers that a part is shown. It is out of place if a later one is shown already. */
  function note(agent: Agent, place: Place): void {
    const [message, part] = place
    const [lastMessage, lastPart] = agent.last
    if (message < lastMessage || (message === lastMessage && part < lastPart)) isOutdated = true
    else agent.last = place
  }

  /** Says prompts up to the one before `end` that the client doesn't have. Sub-agents are prompted by their calls. */
  function projectPrompts(agent: Agent, reply: Reply, end: number): void {
    if (agent !== root) return
    for (; agent.prompts < Math.min(end, reply.promptIDs.length); agent.prompts++) {
      const promptID = reply.promptIDs[agent.prompts]
      const prompt = promptID === undefined ? undefined : promptOf(reply, promptID)
      if (promptID === undefined || prompt === undefined) return
      const own = findOwnPrompts().get(promptID)
      if (own && !saysOwnPrompts) continue
      const messageId = own?.id ?? promptID
      emit({ type: 'TEXT_MESSAGE_START', messageId, role: 'user' })
      emit({
        type: 'TEXT_MESSAGE_CONTENT',
        messageId,
        delta: prompt.text.trim() === '' ? prompt.files.join(', ') : prompt.text,
      })
      emit({ type: 'TEXT_MESSAGE_END', messageId })
    }
  }

  /** Says the checklist if the run wrote it: all of it once, then what has changed. */
  function projectTodos(agent: Agent, reply: Reply): void {
    agent.todos = reply.todos
    const todos = ownTodosOf(reply)
    const { sentTodos } = agent
    if (todos === sentTodos || (sentTodos === undefined && todos.length === 0)) return
    agent.sentTodos = todos
    const messageId = `${reply.messages[0]?.id ?? reply.promptIDs[0] ?? reply.sessionID}.todos`
    const fields = { messageId, activityType: 'reply.todos', ...of(agent) } as const
    if (sentTodos === undefined) {
      emit({ type: 'ACTIVITY_SNAPSHOT', ...fields, content: { todos } })
      return
    }
    const patch = patchOf(sentTodos, todos)
    if (patch.length > 0) emit({ type: 'ACTIVITY_DELTA', ...fields, patch })
  }

  /** Says what a sub-agent does, once there is anything to say. */
  function projectChild(parent: Agent, children: readonly Child[], index: number): void {
    const child = children[index]
    if (child === undefined) return
    const agent = parent.children[index] ?? createAgent(childIdOf(children, index))
    parent.children[index] = agent
    if (agent.reply === child.reply) return
    if (agent.state === 'new') {
      const parentToolCallId = parent.calls.get(child.callID ?? '')
      const hasContent = child.reply.messages.length > 0 || child.reply.asks.length > 0
      if (parentToolCallId === undefined && !hasContent && child.reply.phase !== 'settled') return
      announce(agent, parent, child, parentToolCallId)
    }
    projectAgent(agent, child.reply)
    if (child.reply.phase === 'settled' && agent.state === 'running') endChild(agent, child.reply)
  }

  function announce(
    agent: Agent,
    parent: Agent,
    { agent: name, title }: Child,
    parentToolCallId: string | undefined,
  ): void {
    const { subagentRunId } = agent
    if (subagentRunId === undefined) return
    agent.state = 'running'
    emit({
      type: 'SUBAGENT_STARTED',
      subagentRunId,
      name: name ?? 'sub-agent',
      ...(title !== undefined && { description: title }),
      ...(parent.subagentRunId !== undefined && { parentSubagentRunId: parent.subagentRunId }),
      ...(parentToolCallId !== undefined && { parentToolCallId }),
    })
  }

  function endChild(agent: Agent, reply: Reply): void {
    const { subagentRunId } = agent
    if (subagentRunId === undefined) return
    agent.state = 'over'
    const { outcome } = reply
    if (outcome === undefined || outcome === 'completed' || outcome === 'stopped')
      emit({ type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'success' } })
    else emit({ type: 'SUBAGENT_ERROR', subagentRunId, message: failureText(reply), code: outcome })
  }

  /** Begins the step of a new message, and ends the one before it. */
  function startStep(agent: Agent, index: number): void {
    if (index < agent.steps) return
    finishStep(agent)
    agent.steps = index + 1
    agent.step = `step ${index + 1}`
    emit({ type: 'STEP_STARTED', stepName: agent.step, ...of(agent) })
  }

  /** Ends the open step. With a message, only its own, and says what it cost. */
  function finishStep(agent: Agent, message?: Message, index?: number): void {
    const { step } = agent
    if (step === undefined || (index !== undefined && step !== `step ${index + 1}`)) return
    agent.step = undefined
    const facts = message && {
      messageID: message.id,
      finish: message.finish,
      tokens: message.tokens,
      cost: message.cost,
    }
    emit({ type: 'STEP_FINISHED', stepName: step, ...(facts && { metadata: { reply: facts } }), ...of(agent) })
  }

  function close(waitsFor: (subagentRunId: string) => readonly string[]): void {
    closeTexts()
    closeAgent(root)

    /** Sub-agents end before the agent that started them. */
    function closeAgent(agent: Agent): void {
      for (const child of agent.children.toReversed()) closeAgent(child)
      finishStep(agent)
      if (agent.subagentRunId === undefined || agent.state !== 'running') return
      agent.state = 'over'
      const interruptIds = waitsFor(agent.subagentRunId)
      const outcome = { type: 'suspended', ...(interruptIds.length > 0 && { interruptIds }) } as const
      emit({ type: 'SUBAGENT_FINISHED', subagentRunId: agent.subagentRunId, outcome })
    }
  }

  function placeOf({ sessionID, callID }: Ask): ReturnType<Agents['placeOf']> {
    const agent = findAgent(root, sessionID)
    return { toolCallId: agent?.calls.get(callID ?? ''), subagentRunId: agent?.subagentRunId }
  }

  /** The newest run of a session. */
  function findAgent(agent: Agent, sessionID: string): Agent | undefined {
    const inside = agent.children.findLast((child) => findAgent(child, sessionID))
    if (inside) return findAgent(inside, sessionID)
    return agent.reply?.sessionID === sessionID ? agent : undefined
  }
}

function createAgent(subagentRunId: string | undefined): Agent {
  return {
    subagentRunId,
    reply: undefined,
    messages: [],
    last: [-1, -1],
    calls: new Map(),
    prompts: 0,
    todos: undefined,
    sentTodos: undefined,
    children: [],
    steps: 0,
    step: undefined,
    state: 'new',
  }
}

/** The agent without what the client has of it. Its steps and its announcement stay, because they belong to the run. */
function restarted({ subagentRunId, steps, step, state, children }: Agent): Agent {
  return { ...createAgent(subagentRunId), steps, step, state, children: children.map(restarted) }
}

/** Attributes an event to a sub-agent. */
function of({ subagentRunId }: Agent): { readonly subagentRunId?: string } {
  return subagentRunId === undefined ? {} : { subagentRunId }
}

/** The id of a sub-agent's run: its session, with a number if that ran before. */
function childIdOf(children: readonly Child[], index: number): string {
  const sessionID = children[index]?.reply.sessionID ?? ''
  const before = children.slice(0, index).filter(({ reply }) => reply.sessionID === sessionID).length
  return before === 0 ? sessionID : `${sessionID}#${before + 1}`
}

const indexesByCall = new WeakMap<readonly Child[], ReadonlyMap<string, readonly number[]>>()

/** The indexes of the sub-agents that a call started. */
function childrenOf(children: readonly Child[], callID: string): readonly number[] {
  if (children.length === 0) return []
  const known = indexesByCall.get(children)
  if (known) return known.get(callID) ?? []
  const indexes = new Map<string, number[]>()
  for (const [index, child] of children.entries())
    if (child.callID !== undefined) indexes.set(child.callID, [...(indexes.get(child.callID) ?? []), index])
  indexesByCall.set(children, indexes)
  return indexes.get(callID) ?? []
}

/** The patch from one checklist to another. */
function patchOf(before: readonly Todo[], after: readonly Todo[]): readonly AgUiPatch[] {
  const patch: AgUiPatch[] = []
  for (const [index, todo] of after.entries()) {
    const known = before[index]
    if (known === undefined) patch.push({ op: 'add', path: '/todos/-', value: todo })
    else if (JSON.stringify(known) !== JSON.stringify(todo))
      patch.push({ op: 'replace', path: `/todos/${index}`, value: todo })
  }
  for (let index = before.length - 1; index >= after.length; index--)
    patch.push({ op: 'remove', path: `/todos/${index}` })
  return patch
}
