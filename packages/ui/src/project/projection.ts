import {
  type Ask,
  isShownText,
  isTodoTool,
  type Message,
  type Part,
  type Reply,
  type ReplyFile,
  type ToolPart,
} from '@reply/core'
import { isAskDue, isUnfinished, partChunks } from '@reply/core/internal'
import type { UIChunk, UIChunk7, UIPartInfo } from '../chunk.ts'
import { agentData, changedAgents, isSameAgent } from './agents.ts'
import { askData, askIndexOf, isAsked } from './asks.ts'
import { type Call, callOf } from './calls.ts'
import { fileChunk } from './file.ts'
import { type Have, readHave } from './inbound.ts'
import { finishMetadata, finishReasonOf, promptsOf } from './metadata.ts'
import { type ToolView, toolChunks, toolView } from './tool.ts'

/** A message as a page has it: `UIMessage` of the AI SDK, of any type. */
export interface UIMessageLike {
  /** Its id. */
  readonly id: string
  /** Its parts. */
  readonly parts: readonly unknown[]
}

/** Options of a projection. */
export interface UIProjectionOptions {
  /**
   * Whether the message ends where the agent waits for a person. Default true: `useChat` sends no answer while a stream is
   * open. The answer begins the next stream, which goes on with the same message if you pass it as `have`.
   */
  readonly stopAtAsks?: boolean | undefined
  /**
   * The message that the reader has: the last one of a POST. It gets only what it lacks. A message with another id counts
   * as nothing. Default: nothing.
   */
  readonly have?: UIMessageLike | undefined
}

/** Brings one reader up to date with a reply, step by step. */
export interface UIProjection<Chunk = UIChunk> {
  /**
   * Returns the chunks that lead the reader from the last reply that you passed to this one. Empty if it has all of it, and
   * while the agent hasn't taken the prompt yet. Pass the newest reply, and leave out as many in between as you like.
   *
   * The message stops at a permission once the call that it is about is known. With the time `now`, in ms since the epoch, it waits no
   * longer than 3 s for that. So call it again every few seconds while the reply waits.
   */
  next(reply: Reply, now?: number): readonly Chunk[]
  /** Whether the message is complete, or stopped at an ask. `next` then returns nothing more. */
  readonly ended: boolean
}

/** A text or thought that the reader can still be sent more of. */
interface OpenText {
  readonly kind: 'text' | 'reasoning'
  /** Its id in the stream. */
  readonly id: string
}

/** A part of a message that changed, beside the same part as the reader was last sent it. */
interface Edit {
  readonly part: Part
  readonly before: Part | undefined
  /** Its position in the message. */
  readonly index: number
}

/** Where a part goes. */
interface Place {
  readonly reply: Reply
  /** Whether its step is the current one. */
  readonly isInStep: boolean
  /** Whether the reader has nothing of it any more. */
  readonly isAnew: boolean
}

/** How many texts of a step stay open. A retry takes back the newest ones, and only an open one can be marked by itself. */
const maxOpenTexts = 8

const noMessages: readonly Message[] = []
const noAsks: readonly Ask[] = []

/**
 * Creates the projection of one reply for one reader: it compares each reply with the one before and returns the chunks of
 * a UI message stream in between. It keeps the last reply, and the texts of the step that is open.
 */
export function createUIProjection(options?: UIProjectionOptions & { readonly version?: 6 | undefined }): UIProjection
/** The same for version 7, which has more chunks. */
export function createUIProjection(
  options: UIProjectionOptions & { readonly version?: 6 | 7 | undefined },
): UIProjection<UIChunk7>
export function createUIProjection(
  options: UIProjectionOptions & { readonly version?: 6 | 7 | undefined } = {},
): UIProjection<UIChunk7> {
  const { version = 6, stopAtAsks = true } = options
  let hasStarted = false
  let hasEnded = false
  /** What the reader was sent. */
  let last: Reply | undefined
  /** What the reader had before. Counts until the first reply was compared with it. */
  let have = readHave(options.have)
  /** Id of the message whose step is open in the stream. */
  let step: string | undefined
  /** Whether the current step also has something of other messages, so that it can't be taken back whole. */
  let isMixedStep = false
  /** The texts that are open in the stream, by the ids of their parts. */
  const openTexts = new Map<string, OpenText>()
  /** How many ids a text took in the stream, if it took several or was taken back. */
  const textIDs = new Map<string, number>()
  /** The prompts that the reader was told to have joined, and those told in the current step. */
  const toldPrompts = new Set<string>()
  let toldInStep: string[] = []
  let hasTodoTool = false
  let areTodosSent = false
  /** Whether the reader lost the data parts of its current step. */
  let isDataLost = false
  /** The call ids of the tool parts that are new to the reader. An ask may have come before its part. */
  const newCalls = new Set<string>()
  /** The tool parts at which the reader can answer. */
  const askedAt = new Set<string>()
  let out: UIChunk7[] = []
  return {
    next,
    get ended() {
      return hasEnded
    },
  }

  function next(reply: Reply, now?: number): readonly UIChunk7[] {
    if (hasEnded) return []
    out = []
    if (!hasStarted && !start(reply)) return []
    if (reply !== last) tell(reply)
    if (reply.phase === 'settled' || (stopAtAsks && isWaiting(reply, now))) end(reply)
    const chunks = out
    out = []
    return chunks
  }

  /** Sends the difference between the last state and this one. */
  function tell(reply: Reply): void {
    tellMetadata(reply)
    syncMessages(reply)
    tellPrompts(reply, undefined)
    syncAsks(reply)
    syncAgents(reply)
    syncTodos(reply)
    syncRetry(reply)
    have = undefined
    isDataLost = false
    newCalls.clear()
    last = reply
  }

  /** Starts the message once its id is known, which is the same for every reader. A reply that ended without a prompt has none. */
  function start(reply: Reply): boolean {
    const messageId = messageIDOf(reply)
    if (messageId === undefined && reply.phase !== 'settled') return false
    if (have && have.id !== messageId) have = undefined
    for (const [id, { ids, text }] of have?.texts ?? []) if (ids > 1 || text === '') textIDs.set(id, ids)
    out.push({
      type: 'start',
      ...(messageId !== undefined && { messageId }),
      messageMetadata: { sessionID: reply.sessionID },
    })
    hasStarted = true
    return true
  }

  /** Ends the texts, the step and the message. */
  function end(reply: Reply): void {
    closeTexts()
    if (step !== undefined) out.push({ type: 'finish-step' })
    if (reply.outcome === 'aborted') out.push({ type: 'abort' })
    out.push({ type: 'finish', finishReason: finishReasonOf(reply), messageMetadata: finishMetadata(reply) })
    hasEnded = true
    last = undefined
    openTexts.clear()
    textIDs.clear()
    toldPrompts.clear()
    askedAt.clear()
  }

  function closeTexts(): void {
    for (const { kind, id } of openTexts.values()) out.push({ type: endOf(kind), id })
    openTexts.clear()
  }

  /** Brings the reader's messages up to date. Those that are the same object take no time. */
  function syncMessages(reply: Reply): void {
    const before = last?.messages ?? noMessages
    const { messages } = reply
    if (messages === before) return
    if (have) findStep(have, messages)
    const lastBefore = before.at(-1)
    const mayLack = lastBefore !== undefined && messages[before.length - 1]?.id !== lastBefore.id
    if (mayLack) takeBackMissing(before, messages)
    let byID: ReadonlyMap<string, Message> | undefined
    // This runs for each change over all messages, so it does nothing else.
    let index = 0
    while (index < messages.length && messages[index] === before[index]) index += 1
    for (; index < messages.length; index += 1) {
      const message = messages[index]
      let old = before[index]
      if (!message || old === message) continue
      // An inserted message moves those behind it.
      if (old ? old.id !== message.id : byID) {
        byID ??= new Map(before.map((one) => [one.id, one]))
        old = byID.get(message.id)
      }
      if (old !== message) syncMessage(message, old, reply)
    }
    if (byID && !mayLack) takeBackMissing(before, messages)
    if (have) takeBackUnknown(messages)
  }

  /** Finds the message whose step is the last one that the reader has. */
  function findStep({ lastStep }: Have, messages: readonly Message[]): void {
    const own = messages.findLast(({ parts }) => parts.some(({ id }) => lastStep.has(id)))
    step = own?.id
    isMixedStep = lastStep.size > (own?.parts.filter(({ id }) => lastStep.has(id)).length ?? 0)
  }

  /** Tells the reader which prompts joined the reply. */
  function tellMetadata(reply: Reply): void {
    const { promptIDs, joinedPrompts } = reply
    if (!joinedPrompts || (joinedPrompts === last?.joinedPrompts && promptIDs === last.promptIDs)) return
    out.push({ type: 'message-metadata', messageMetadata: { prompts: promptsOf(reply) } })
  }

  /** Shows the prompts that joined the reply and that the reader lacks, in version 7: the one with this id, or all of them. */
  function tellPrompts(reply: Reply, promptID: string | undefined): void {
    if (version !== 7 || !reply.joinedPrompts || toldPrompts.size >= reply.promptIDs.length - 1) return
    for (const { id, text } of promptsOf(reply)) {
      if (toldPrompts.has(id) || (promptID !== undefined && promptID !== id)) continue
      toldPrompts.add(id)
      toldInStep.push(id)
      if (!have?.others.has(id)) out.push({ type: 'steering-message', id, parts: [{ type: 'text', text }] })
    }
  }

  /** Takes back all parts of the messages that were removed. */
  function takeBackMissing(before: readonly Message[], messages: readonly Message[]): void {
    const present = new Set(messages.map(({ id }) => id))
    for (const message of before) {
      if (present.has(message.id)) continue
      if (message.id === step && version === 7 && !isMixedStep) resetStep()
      else for (const part of message.parts) if (isVisible(part)) takeBack(part.id, isUnfinished(part))
    }
  }

  /** Takes back the texts and calls that the reader has and the reply lacks. */
  function takeBackUnknown(messages: readonly Message[]): void {
    const present = new Set(messages.flatMap(({ parts }) => parts.map(({ id }) => id)))
    for (const [id, { text }] of have?.texts ?? []) if (text !== '' && !present.has(id)) takeBack(id, false)
    for (const [id, { end: ending }] of have?.tools ?? []) if (!present.has(id)) takeBack(id, ending === undefined)
  }

  /** Brings one message up to date: opens its step if it is new, and sends what its parts lack. */
  function syncMessage(message: Message, old: Message | undefined, reply: Reply): void {
    const { edits, removed } = editsOf(message, old)
    if (!old) enterStep(message, reply)
    const isInStep = step === message.id
    const isMixedUp = isInStep && isOutOfOrder(edits, message)
    const mayReset = version === 7 && isInStep && !isMixedStep
    if (mayReset && (isMixedUp || removed.some(isVisible) || edits.some(isTakenBack))) {
      resetStep()
      for (const [index, part] of message.parts.entries())
        syncPart({ part, before: undefined, index }, { reply, isInStep, isAnew: true })
      return
    }
    const before = out.length
    for (const part of removed) if (isVisible(part)) takeBack(part.id, isUnfinished(part))
    for (const edit of edits) syncPart(edit, { reply, isInStep, isAnew: false })
    if (isMixedUp) sendTextsAnew(message)
    if (!isInStep && out.length > before) isMixedStep = true
  }

  /** Opens the step of a message that is new to the reader, or finds the one that it has. */
  function enterStep(message: Message, reply: Reply): void {
    if (have) {
      const isKnown = message.parts.some(({ id }) => have?.texts.has(id) || have?.tools.has(id) || have?.others.has(id))
      if (isKnown) return
    }
    if (message.parentID !== undefined) tellPrompts(reply, message.parentID)
    closeTexts()
    if (step !== undefined) out.push({ type: 'finish-step' })
    out.push({ type: 'start-step' })
    step = message.id
    isMixedStep = false
    toldInStep = []
  }

  /** Removes all parts of the current step, in version 7. The prompts that joined in it follow at once. */
  function resetStep(): void {
    out.push({ type: 'reset-step' })
    openTexts.clear()
    isDataLost = true
    for (const id of toldInStep) toldPrompts.delete(id)
    toldInStep = []
  }

  /** What the reader has of a text or thought. */
  function textBefore({ part, before }: Edit): string {
    return before ? sentText(before) : (have?.texts.get(part.id)?.text ?? '')
  }

  /** Whether the reader has something of a part that it must not keep, or that it can't be sent the rest of. */
  function isTakenBack(edit: Edit): boolean {
    const { part, before } = edit
    if (part.type === 'tool' || part.type === 'file') {
      const isKnown = before ? isVisible(before) : have?.tools.has(part.id) || have?.others.has(part.id)
      return part.status === 'abandoned' && isKnown === true
    }
    const had = textBefore(edit)
    const text = sentText(part)
    return had !== '' && text !== had && !(text.startsWith(had) && openTexts.has(part.id))
  }

  /** Whether a text begins before one that the reader has. */
  function isOutOfOrder(edits: readonly Edit[], { parts }: Message): boolean {
    if (openTexts.size === 0) return false
    const begun = edits.find(
      (edit) => edit.part.type === 'text' && sentText(edit.part) !== '' && textBefore(edit) === '',
    )
    if (!begun) return false
    return parts.findLastIndex(({ type, id }) => type === 'text' && openTexts.has(id)) > begun.index
  }

  /** Sends the texts of a message once more, in their order. Those that the reader has are taken back. */
  function sendTextsAnew({ parts }: Message): void {
    for (const part of parts) {
      if (part.type !== 'text' || sentText(part) === '') continue
      takeBack(part.id, false)
      startText(part.id, 'text', sentText(part), false)
    }
  }

  /** Brings a part up to date. */
  function syncPart(edit: Edit, place: Place): void {
    const { part } = edit
    const { isAnew } = place
    switch (part.type) {
      case 'text':
      case 'reasoning':
        return syncText(part.id, part.type, isAnew ? '' : textBefore(edit), sentText(part))
      case 'tool':
        return syncTool(part, isAnew ? undefined : edit.before, place)
      case 'file':
        if (part.status === 'abandoned') return isAnew ? undefined : abandon(part, edit.before)
        if (!edit.before) sendFile(part)
        return
      case 'patch':
      case 'step-start':
      case 'step-finish':
      case 'snapshot':
      case 'subtask':
      case 'agent':
      case 'retry':
      case 'compaction':
      case 'unknown':
        return
      default:
        part satisfies never
    }
  }

  /** Sends the missing text. A text that is already closed goes on under another id. */
  function syncText(partID: string, kind: OpenText['kind'], before: string, text: string): void {
    if (text === before) return
    const open = openTexts.get(partID)
    if (before === '') return startText(partID, kind, text, false)
    if (text.startsWith(before)) {
      const rest = text.slice(before.length)
      if (open) out.push({ type: deltaOf(kind), id: open.id, delta: rest })
      else startText(partID, kind, rest, true)
      return
    }
    takeBack(partID, false)
    if (text !== '') startText(partID, kind, text, false)
  }

  /** Starts a text. Only the first one of a part has the part's id. */
  function startText(partID: string, kind: OpenText['kind'], text: string, continues: boolean): void {
    const sent = textIDs.get(partID) ?? (continues ? 1 : 0)
    if (sent > 0) textIDs.set(partID, sent + 1)
    const id = idOfText(partID, sent + 1)
    const info: UIPartInfo = { part: id, ...(continues && { continues }) }
    out.push({ type: startOf(kind), id, providerMetadata: { reply: info } }, { type: deltaOf(kind), id, delta: text })
    openTexts.set(partID, { kind, id })
    if (openTexts.size > maxOpenTexts) endOldest()
  }

  /** Ends the oldest text, so that the memory of a reader is bounded. If it is taken back later, a data part tells that. */
  function endOldest(): void {
    for (const [partID, { kind, id }] of openTexts) {
      out.push({ type: endOf(kind), id })
      openTexts.delete(partID)
      return
    }
  }

  /** Tells the reader not to show a part any more. What follows of a text has a new id. */
  function takeBack(partID: string, isUnfinishedCall: boolean): void {
    const open = openTexts.get(partID)
    const ids = textIDs.get(partID) ?? 1
    const parts = Array.from({ length: ids }, (_, index) => idOfText(partID, index + 1))
    if (isUnfinishedCall) {
      const end = { toolCallId: partID, dynamic: true, providerExecuted: true } as const
      out.push({ type: 'tool-output-error', ...end, errorText: 'The agent took this call back.' })
    }
    if (open) {
      const info: UIPartInfo = { part: open.id, retracted: true }
      out.push({ type: endOf(open.kind), id: open.id, providerMetadata: { reply: info } })
    }
    if (!open || ids > 1) {
      out.push({ type: 'data-retracted', id: `retracted-${partID}`, data: { parts } })
      isMixedStep = true
    }
    openTexts.delete(partID)
    textIDs.set(partID, ids)
  }

  /** Takes a call or a file back that a retry replaces, if the reader has it. */
  function abandon(part: Part, before: Part | undefined): void {
    const view = have?.tools.get(part.id)
    const isKnown = before ? isVisible(before) : view !== undefined || have?.others.has(part.id)
    if (isKnown) takeBack(part.id, before ? isUnfinished(before) : view !== undefined && !view.end)
  }

  /** Brings a call up to date, and sends the files that it returned. */
  function syncTool(part: ToolPart, before: Part | undefined, { reply, isInStep, isAnew }: Place): void {
    if (isTodoTool(part.tool)) hasTodoTool = true
    if (part.status === 'abandoned') return isAnew ? undefined : abandon(part, before)
    const old =
      before?.type === 'tool' && before.status !== 'abandoned' && last ? toolView(before, askIndexOf(last)) : undefined
    if (!before && have?.tools.get(part.id) === undefined) newCalls.add(part.callID)
    const known = isAnew ? undefined : (old ?? have?.tools.get(part.id))
    const view = reachable(part.id, toolView(part, askIndexOf(reply)), known, isInStep)
    out.push(...toolChunks({ toolCallId: part.id, isInStep, version }, known, view))
    const sent = before?.type === 'tool' ? before.state.attachments : undefined
    for (const file of part.state.attachments ?? []) if (!sent?.some(({ id }) => id === file.id)) sendFile(file)
  }

  /**
   * A call without its ask, if the reader can't be shown there what it asks: a front end takes no input for a call of an earlier
   * step. It is then answered in a body.
   */
  function reachable(partID: string, view: ToolView, known: ToolView | undefined, isInStep: boolean): ToolView {
    if (!view.approval && view.isExecuted) return view
    const isKnown = known?.approval?.id === view.approval?.id && known?.isExecuted === view.isExecuted
    const isReachable = isInStep || known === undefined || isKnown
    if (isReachable) askedAt.add(partID)
    else askedAt.delete(partID)
    return isReachable ? view : { ...view, approval: undefined, isExecuted: true }
  }

  /** Sends a file, unless the reader has it. */
  function sendFile(file: ReplyFile): void {
    if (isDataLost || !have?.others.has(file.id)) out.push(fileChunk(file))
  }

  /** Sends the asks that changed, at their tool parts and as data. */
  function syncAsks(reply: Reply): void {
    const before = last?.asks ?? noAsks
    if (reply.asks === before && !isDataLost && newCalls.size === 0) return
    const asks = askIndexOf(reply)
    for (const [index, ask] of reply.asks.entries()) {
      const beside = before[index]
      const old =
        beside?.requestID === ask.requestID ? beside : before.find(({ requestID }) => requestID === ask.requestID)
      const isNew = old !== ask || (last !== undefined && !isAsked(askIndexOf(last), ask))
      const isDue = isNew || isDataLost || (ask.callID !== undefined && newCalls.has(ask.callID))
      if (!isDue && ask.status !== 'pending') continue
      const call = ask.path.length > 1 ? undefined : callOf(reply, ask)
      if (call && isUnchanged(call))
        syncTool(call.part, call.part, { reply, isInStep: step === call.message.id, isAnew: false })
      if (!isDue || !isAsked(asks, ask)) continue
      const partID = call?.part.id
      const isAtTool = partID !== undefined && (ask.status !== 'pending' || askedAt.has(partID))
      out.push({ type: 'data-ask', id: ask.requestID, data: askData(ask, isAtTool ? partID : undefined) })
    }
  }

  /** Whether a call is as the reader has it, so that only its ask may differ. */
  function isUnchanged({ message, part }: Call): boolean {
    const old = last?.messages.find(({ id }) => id === message.id)
    return old === message || old?.parts.find(({ id }) => id === part.id) === part
  }

  /** Sends the sub-agents that changed. */
  function syncAgents(reply: Reply): void {
    for (const change of changedAgents(reply, isDataLost ? undefined : last)) {
      const data = agentData(change)
      const old = change.before && agentData({ child: change.before, parentID: change.parentID })
      if (old && isSameAgent(old, data) && change.before?.callID === change.child.callID) continue
      const { callID } = change.child
      const call = change.parentID === reply.sessionID ? callOf(reply, { callID }) : undefined
      out.push({ type: 'data-agent', id: data.sessionID, data: call ? { ...data, toolCallId: call.part.id } : data })
    }
  }

  /** Sends the checklist, if this run works with it. */
  function syncTodos(reply: Reply): void {
    if (reply.todos.length === 0 && (last?.todos.length ?? 0) === 0) return
    if (!hasTodoTool && !reply.wroteTodos) return
    if (areTodosSent && !isDataLost && reply.todos === last?.todos) return
    areTodosSent = true
    out.push({ type: 'data-todos', id: 'todos', data: { todos: reply.todos } })
  }

  /** Tells that the provider failed, and that the agent tried again. */
  function syncRetry(reply: Reply): void {
    const { retry } = reply
    if (retry === last?.retry) return
    if (!retry) {
      out.push({ type: 'data-retry', data: { state: 'over' }, transient: true })
      return
    }
    const { attempt, message, nextAt } = retry
    const data = {
      state: 'waiting' as const,
      message,
      ...(attempt !== undefined && { attempt }),
      ...(nextAt !== undefined && { nextAt }),
    }
    out.push({ type: 'data-retry', data, transient: true })
  }
}

/** The id of the message, the same for every reader. Undefined while the agent has not taken the prompt. */
function messageIDOf({ promptIDs, messages }: Reply): string | undefined {
  const id = promptIDs[0] ?? messages[0]?.id
  return id === undefined ? undefined : `${id}-reply`
}

/** Whether the reply waits for people, and all that it asks them can be shown. */
function isWaiting(reply: Reply, now: number | undefined): boolean {
  if (reply.phase !== 'blocked') return false
  const pending = reply.asks.filter((ask) => ask.status === 'pending' && !hasCallEnded(ask, reply))
  return pending.length > 0 && pending.every((ask) => isAskDue(ask, reply, now))
}

/** Whether the call that asks was aborted. The ask is about to be withdrawn then. */
function hasCallEnded(ask: Ask, reply: Reply): boolean {
  const call = ask.path.length > 1 ? undefined : callOf(reply, ask)
  return call !== undefined && !isUnfinished(call.part)
}

/** The parts of a message that differ from those before, and those that are gone. Takes no time for those that are the same. */
function editsOf(
  message: Message,
  old: Message | undefined,
): { readonly edits: readonly Edit[]; readonly removed: readonly Part[] } {
  const edits: Edit[] = []
  const oldChunks = old ? partChunks(old) : []
  let byID: Map<string, Part> | undefined
  let start = 0
  const chunks = partChunks(message)
  for (const [chunkIndex, parts] of chunks.entries()) {
    const beside = oldChunks[chunkIndex]
    if (parts !== beside) {
      for (let index = 0; index < parts.length; index += 1) {
        const part = parts[index]
        let before = beside?.[index]
        if (!part || before === part) continue
        if (before?.id !== part.id) {
          byID ??= new Map(old?.parts.map((one) => [one.id, one]))
          before = byID.get(part.id)
        }
        if (before !== part) edits.push({ part, before, index: start + index })
      }
    }
    start += parts.length
  }
  const oldLength = oldChunks.reduce((sum, parts) => sum + parts.length, 0)
  const added = edits.filter(({ before }) => before === undefined).length
  if (start - added === oldLength) return { edits, removed: [] }
  const present = new Set(message.parts.map(({ id }) => id))
  return { edits, removed: old?.parts.filter(({ id }) => !present.has(id)) ?? [] }
}

/** What a reader is sent of a text or thought. White space at an open end waits, because the server may trim it. */
function sentText(part: Part): string {
  if (part.type === 'text' && !isShownText(part)) return ''
  if (part.type !== 'text' && part.type !== 'reasoning') return ''
  if (part.status === 'abandoned' || part.text.trim() === '') return ''
  return part.status === 'open' ? part.text.trimEnd() : part.text
}

/** Whether a reader sees something of a part. */
function isVisible(part: Part): boolean {
  if (part.type === 'tool' || part.type === 'file') return part.status !== 'abandoned'
  return sentText(part) !== ''
}

const idOfText = (partID: string, number: number): string => (number === 1 ? partID : `${partID}~${number}`)
const startOf = (kind: OpenText['kind']) => (kind === 'text' ? 'text-start' : 'reasoning-start')
const deltaOf = (kind: OpenText['kind']) => (kind === 'text' ? 'text-delta' : 'reasoning-delta')
const endOf = (kind: OpenText['kind']) => (kind === 'text' ? 'text-end' : 'reasoning-end')
