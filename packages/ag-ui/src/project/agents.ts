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
import { inputJson, isLoadable, partChunks } from '@reply/core/internal'
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

/** The position of a part: the index of its message, then its own. */
type Place = readonly [message: number, part: number]

/** The run of the agent itself, or of a sub-agent. */
interface Agent {
  readonly subagentRunId: string | undefined
  /** The last state that the client was sent. Undefined before the first. */
  reply: Reply | undefined
  /** The last part that is shown. Another one that becomes shown has to come after it. */
  last: Place
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
 * Creates the projection of messages. `emit` gets each event. What the client has follows from the last state, which all readers of
 * a reply share, so a reader costs little more than a pointer to it.
 */
export function createAgents(emit: (event: AgUiEvent) => void): Agents {
  let root = createAgent(undefined)
  /** Open texts and thoughts, by id, with their agents. */
  const open = new Map<string, { readonly agent: Agent; readonly type: TextLike['type'] }>()
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
    root = restarted(root)
  }

  function projectAgent(agent: Agent, reply: Reply): void {
    if (agent.reply === reply) return
    const before = agent.reply?.messages ?? []
    const { messages, children } = reply
    agent.reply = reply
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
    if (before === undefined || hasSameParts(before, message)) projectParts(agent, before, message, index)
    else projectMovedParts(agent, before, message, index)
    if (message.completedAt !== undefined) finishStep(agent, message, index)
  }

  /** Emits the new parts of a message whose known parts have not moved. */
  function projectParts(agent: Agent, before: Message | undefined, message: Message, index: number): void {
    const chunksBefore = before === undefined ? [] : partChunks(before)
    let offset = 0
    for (const [at, chunk] of partChunks(message).entries()) {
      const chunkBefore = chunksBefore[at]
      if (chunk !== chunkBefore)
        for (let inChunk = 0; inChunk < chunk.length; inChunk++) {
          const part = chunk[inChunk]
          const partBefore = chunkBefore?.[inChunk]
          if (part !== undefined && part !== partBefore) projectPart(agent, partBefore, part, [index, offset + inChunk])
        }
      offset += chunk.length
    }
  }

  /** The same for a message that got parts between others, or lost some. */
  function projectMovedParts(agent: Agent, before: Message, message: Message, index: number): void {
    const known = new Map(before.parts.map((part) => [part.id, part]))
    const shown = new Set(before.parts.filter(isShownPart).map(({ id }) => id))
    const found = message.parts.flatMap(({ id }) => (shown.has(id) ? [id] : []))
    if ([...shown].some((id, at) => id !== found[at])) isOutdated = true
    for (const [at, part] of message.parts.entries()) {
      const partBefore = known.get(part.id)
      if (part !== partBefore) projectPart(agent, partBefore, part, [index, at])
    }
  }

  function projectPart(agent: Agent, before: Part | undefined, part: Part, place: Place): void {
    if (before !== undefined && before.type !== part.type && isShownPart(before)) isOutdated = true
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return projectText(agent, before?.type === part.type ? shownText(before) : undefined, part, place)
      case 'tool':
        return projectCall(agent, before?.type === 'tool' && isShownPart(before) ? before : undefined, part, place)
      case 'file':
        return projectFilePart(agent, before !== undefined && isShownPart(before), part, place)
      default:
        return
    }
  }

  /** Emits the text that was added to a part. */
  function projectText(agent: Agent, known: string | undefined, part: TextLike, place: Place): void {
    const text = shownText(part)
    if (text === undefined || !text.startsWith(known ?? '')) {
      if (known !== undefined) isOutdated = true
      return
    }
    if (known === undefined) note(agent, place)
    const delta = text.slice(known?.length ?? 0)
    if (delta !== '') {
      if (!open.has(part.id)) openText(agent, part)
      const type = part.type === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT'
      emit({ type, messageId: part.id, delta, ...of(agent) })
    }
    if (part.status !== 'open' && open.has(part.id)) closeText(part.id)
  }

  function openText(agent: Agent, { id: messageId, type }: TextLike): void {
    open.set(messageId, { agent, type })
    if (type === 'text') emit({ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...of(agent) })
    else {
      emit({ type: 'REASONING_START', messageId, ...of(agent) })
      emit({ type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...of(agent) })
    }
  }

  function closeText(messageId: string): void {
    const opened = open.get(messageId)
    if (!opened) return
    open.delete(messageId)
    const { agent, type } = opened
    if (type === 'text') emit({ type: 'TEXT_MESSAGE_END', messageId, ...of(agent) })
    else {
      emit({ type: 'REASONING_MESSAGE_END', messageId, ...of(agent) })
      emit({ type: 'REASONING_END', messageId, ...of(agent) })
    }
  }

  function closeTextsOf(agent: Agent): void {
    for (const [id, opened] of open) if (opened.agent === agent) closeText(id)
  }

  function closeTexts(): void {
    for (const id of [...open.keys()]) closeText(id)
  }

  /** Emits a call once its input is known, then the events of its sub-agent, and then its result. */
  function projectCall(agent: Agent, before: ToolPart | undefined, part: ToolPart, place: Place): void {
    if (!isShownPart(part)) {
      if (before) isOutdated = true
      return
    }
    const { id: toolCallId, tool, state } = part
    if (before && (before.tool !== tool || !isSameInput(before, part))) {
      isOutdated = true
      return
    }
    if (!before) {
      note(agent, place)
      emit({ type: 'TOOL_CALL_START', toolCallId, toolCallName: tool, ...of(agent) })
      emit({ type: 'TOOL_CALL_ARGS', toolCallId, delta: inputJson(state.input), ...of(agent) })
      emit({ type: 'TOOL_CALL_END', toolCallId, ...of(agent) })
    }
    const children = agent.reply?.children ?? []
    for (const index of childrenOf(children, part.callID)) projectChild(agent, children, index)
    projectAttachments(agent, before, part)
    if (isOver(part)) projectResult(agent, before && isOver(before) ? before : undefined, part)
  }

  /** Says the result of a call that has ended. One that the end of the run interrupted has an empty one. */
  function projectResult(agent: Agent, before: ToolPart | undefined, part: ToolPart): void {
    if (before) {
      if (resultOf(before) !== resultOf(part)) isOutdated = true
      return
    }
    const { title } = part.state
    const end = agent.reply && toolFacts(part, agent.reply).end?.type
    emit({
      type: 'TOOL_CALL_RESULT',
      messageId: resultIdOf(part.id),
      toolCallId: part.id,
      role: 'tool',
      content: resultOf(part),
      metadata: { reply: { status: end ?? 'completed', ...(title !== undefined && { title }) } },
      ...of(agent),
    })
  }

  function projectAttachments(agent: Agent, before: ToolPart | undefined, { id, state }: ToolPart): void {
    const known = new Set(before?.state.attachments?.map((file) => file.id))
    for (const file of state.attachments ?? []) if (!known.delete(file.id)) sayFile(agent, file, `${id}.${file.id}`)
    if (known.size > 0) isOutdated = true
  }

  function projectFilePart(agent: Agent, isKnown: boolean, part: Extract<Part, { type: 'file' }>, place: Place): void {
    if (isKnown && !isShownPart(part)) isOutdated = true
    if (isKnown || !isShownPart(part)) return
    note(agent, place)
    sayFile(agent, part, part.id)
  }

  function sayFile(agent: Agent, file: ReplyFile, messageId: string): void {
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

  /** Emits the checklist if the run wrote it: first as a whole, then its changes. */
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

  /** Emits the events of a sub-agent, once it has any. */
  function projectChild(parent: Agent, children: readonly Child[], index: number): void {
    const child = children[index]
    if (child === undefined) return
    const agent = parent.children[index] ?? createAgent(childIdOf(children, index))
    parent.children[index] = agent
    if (agent.reply === child.reply) return
    if (agent.state === 'new') {
      const parentToolCallId = parent.reply && shownCallOf(parent.reply, child.callID)?.id
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

  /** Ends the open step, with its cost. With a message, only the step of that message. */
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
    return { toolCallId: agent?.reply && shownCallOf(agent.reply, callID)?.id, subagentRunId: agent?.subagentRunId }
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
    last: [-1, -1],
    prompts: 0,
    todos: undefined,
    sentTodos: undefined,
    children: [],
    steps: 0,
    step: undefined,
    state: 'new',
  }
}

/** The agent as if the client had nothing of it. Its steps and its announcement stay, because they belong to the run. */
function restarted({ subagentRunId, steps, step, state, children }: Agent): Agent {
  return { ...createAgent(subagentRunId), steps, step, state, children: children.map(restarted) }
}

type TextLike = Extract<Part, { readonly type: 'text' | 'reasoning' }>

/** What a client is shown of a text. White space at an open end waits, because the server may trim it. Undefined for nothing. */
function shownText(part: TextLike): string | undefined {
  const isShown = part.type === 'text' ? isShownText(part) : part.status !== 'abandoned' && part.text.trim() !== ''
  if (!isShown) return undefined
  return part.status === 'open' ? part.text.trimEnd() : part.text
}

/** Whether a client is shown the part. A call is shown once its input is known. */
function isShownPart(part: Part): boolean {
  if (part.type === 'text' || part.type === 'reasoning') return shownText(part) !== undefined
  if (part.type === 'tool') return part.status !== 'abandoned' && (part.state.status !== 'pending' || isOver(part))
  return part.type === 'file' && part.status !== 'abandoned'
}

/** Whether a call has ended, also by the end of its run. */
function isOver({ status, state }: ToolPart): boolean {
  return status === 'sealed' || state.status === 'completed' || state.status === 'error'
}

function resultOf({ state }: ToolPart): string {
  return state.output ?? state.error ?? ''
}

function isSameInput({ state: before }: ToolPart, { state }: ToolPart): boolean {
  return before.input === state.input || inputJson(before.input) === inputJson(state.input)
}

/** Whether the parts of the message begin with the known ones. */
function hasSameParts(before: Message, message: Message): boolean {
  const chunks = partChunks(message)
  return partChunks(before).every((chunk, at) => {
    const now = chunks[at]
    return now === chunk || (now !== undefined && chunk.every(({ id }, index) => id === now[index]?.id))
  })
}

/** The newest shown call with this id, because providers may repeat them. */
function shownCallOf({ messages }: Reply, callID: string | undefined): ToolPart | undefined {
  if (callID === undefined) return undefined
  for (let index = messages.length - 1; index >= 0; index--) {
    const found = messages[index]?.parts.findLast(
      (part): part is ToolPart => part.type === 'tool' && part.callID === callID && isShownPart(part),
    )
    if (found) return found
  }
  return undefined
}

/** Attributes an event to a sub-agent. */
function of({ subagentRunId }: Agent): { readonly subagentRunId?: string } | undefined {
  return subagentRunId === undefined ? undefined : { subagentRunId }
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
