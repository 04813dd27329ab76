import type { Change } from '../change.ts'
import type { MessageHead, SessionScopedEvent } from '../event.ts'
import { same, sameHead } from '../fields.ts'
import type { Part } from '../part.ts'
import type { Message, Prompt, PromptPart, Reply } from '../reply.ts'
import { promptOf } from '../select.ts'
import { applySummary, summaryStepOf } from './compaction.ts'
import { carryMessagePositions, indexInReply, messageIndexOf } from './part.ts'
import { withPartsOf } from './part-list.ts'
import { reportError } from './run.ts'
import { replaceAt, withFields } from './shape.ts'
import { usagesBefore } from './usage.ts'

/**
 * Adds or updates a message, and reports it and its error if they are new. A new message clears the reply's error.
 * Ignores a state from before its end. User messages join the run as prompts. A summary of a compaction only adds its
 * call of the model to `usage`.
 */
export function applyMessage(reply: Reply, head: MessageHead, changes: Change[]): Reply {
  const named = withAgentAndModel(reply, head)
  if (head.role === 'user') return withFileChanges(withPromptID(named, head.id), head)
  if (head.summary) {
    const step = summaryStepOf(head)
    return step ? applySummary(named, step, changes) : named
  }
  const messageIndex = messageIndexOf(named.messages, head.id)
  const before = messageIndex === -1 ? undefined : named.messages[messageIndex]
  if (before && isOutdated(head, before)) return named
  const message = withPartsOf(head, before)
  if (before && sameHead(before, message)) return named
  changes.push({ type: 'messageUpdated', message })
  const messages = before ? replaceAt(named.messages, messageIndex, message) : insertMessage(named.messages, message)
  if (before || messages.at(-1) === message) carryMessagePositions(named.messages, messages)
  const finish = messages.at(-1)?.finish
  const error = before ? named.error : undefined
  const next = withFields(named, { messages, finish, error })
  return message.error && !same(message.error, before?.error) ? reportError(next, message.error, changes) : next
}

/**
 * Whether the message lacks an end, an error or a finish that is known already: a stream that lags behind REST repeats
 * it. An error takes the place of a finish.
 */
function isOutdated(head: MessageHead, known: Message): boolean {
  if (known.completedAt !== undefined && head.completedAt === undefined) return true
  if (known.error !== undefined && head.error === undefined) return true
  return known.finish !== undefined && head.finish === undefined && head.error === undefined
}

/** Whether the step of a message has ended, successfully or not. */
export function hasMessageEnded({ completedAt, error }: Pick<MessageHead, 'completedAt' | 'error'>): boolean {
  return completedAt !== undefined || error !== undefined
}

/** Takes the agent and the model that a message names, unless it is a summary. Keeps what it doesn't name. */
function withAgentAndModel(reply: Reply, head: MessageHead): Reply {
  const agent = head.summary ? reply.agent : (head.agent ?? reply.agent)
  const model = head.summary ? reply.model : (head.model ?? reply.model)
  return agent === reply.agent && same(model, reply.model) ? reply : withFields(reply, { agent, model })
}

/** Appends the prompt's id, unless the reply has it. */
function withPromptID(reply: Reply, id: string): Reply {
  return reply.promptIDs.includes(id) ? reply : withFields(reply, { promptIDs: [...reply.promptIDs, id] })
}

/** Replaces what the server says that the run of a prompt changed. Keeps it if the message doesn't say. */
function withFileChanges(reply: Reply, { id, changes }: MessageHead): Reply {
  if (changes === undefined || same(changes, reply.changes?.[id] ?? [])) return reply
  return withFields(reply, { changes: { ...reply.changes, [id]: changes } })
}

/**
 * Inserts a message by creation time, then arrival. Never by id: the clock in OpenCode's ids wraps around. Steps are
 * sequential, so one in progress after all others have ended is the last, even if the server's clock was set back. So
 * is one without a time.
 */
function insertMessage(messages: readonly Message[], message: Message): readonly Message[] {
  const { createdAt } = message
  const isNext = !hasMessageEnded(message) && messages.every(hasMessageEnded)
  if (createdAt === undefined || isNext) return [...messages, message]
  const before = messages.findLastIndex((other) => other.createdAt === undefined || other.createdAt <= createdAt)
  return messages.toSpliced(before + 1, 0, message)
}

/**
 * Removes a reverted message and its usage. Reports its parts, the last one first, the usage after each finished step,
 * and then the message as removed. Removes a prompt without its own report. Ignores an unknown message.
 */
export function removeMessage(reply: Reply, messageID: string, changes: Change[]): Reply {
  if (reply.promptIDs.includes(messageID)) {
    const { [messageID]: _, ...changes } = reply.changes ?? {}
    const promptIDs = reply.promptIDs.filter((id) => id !== messageID)
    const [first] = promptIDs
    // The next prompt becomes the first. Without one, people still see what they asked.
    const prompt = first === undefined ? reply.prompt : promptOf(reply, first)
    const { [messageID]: __, [first ?? '']: ___, ...joined } = reply.joinedPrompts ?? {}
    const joinedPrompts = Object.keys(joined).length > 0 ? joined : undefined
    return withFields(reply, { promptIDs, prompt, joinedPrompts, ...(reply.changes && { changes }) })
  }
  const messageIndex = messageIndexOf(reply.messages, messageID)
  const message = reply.messages[messageIndex]
  if (!message) return reply
  const firstIndex = indexInReply(reply.messages, messageIndex, 0)
  const usages = usagesBefore(reply, messageIndex)
  let { usage } = reply
  for (const [partIndex, part] of [...message.parts.entries()].toReversed()) {
    changes.push({ type: 'partRemoved', part, index: firstIndex + partIndex, reason: 'reverted' })
    if (part.type !== 'step-finish') continue
    usage = usages.pop() ?? usage
    changes.push({ type: 'usageChanged', usage })
  }
  changes.push({ type: 'messageRemoved', messageID })
  return withFields(reply, { usage, messages: reply.messages.filter((other) => other !== message) })
}

/** The id of the message that an event is about. Undefined for other events. */
export function messageIDOf(event: SessionScopedEvent): string | undefined {
  switch (event.type) {
    case 'message':
      return event.message.id
    case 'part':
      return event.part.messageID
    case 'delta':
    case 'message-removed':
    case 'part-removed':
      return event.messageID
    default:
      return undefined
  }
}

/**
 * Applies a part of a user message: the text, a file or the sub-agent's task of a prompt, or the start of a compaction. Only a compaction is
 * reported, once.
 */
export function applyPromptPart(reply: Reply, part: Part, at: number, changes: Change[]): Reply {
  if (part.type === 'compaction') {
    if (reply.compaction?.partID === part.id) return reply
    const tokensBefore = reply.usage.contextTokens
    const afterMessageID = reply.messages.at(-1)?.id
    const begun = { partID: part.id, state: 'running', auto: part.auto } as const
    const compaction = { ...begun, afterMessageID, tokensBefore, startedAt: at }
    changes.push({ type: 'compactionChanged', compaction })
    return withFields(reply, { compaction })
  }
  const { messageID } = part
  const before = promptOf(reply, messageID)
  const prompt = withPromptPart(before, part)
  if (prompt === before || prompt === undefined) return reply
  if (messageID === reply.promptIDs[0]) return withFields(reply, { prompt })
  return withFields(reply, { joinedPrompts: { ...reply.joinedPrompts, [messageID]: prompt } })
}

/**
 * Adds or replaces a part of the prompt, and makes its `text` and `files` anew from all parts. The first part that is
 * shown creates the prompt. Returns the same prompt for a part that isn't shown, or that is the same.
 */
function withPromptPart(prompt: Prompt | undefined, part: Part): Prompt | undefined {
  const piece = promptPartOf(part)
  if (!piece) return prompt
  const parts = prompt?.parts ?? []
  const at = parts.findIndex((other) => other.id === piece.id)
  if (at !== -1 && same(parts[at], piece)) return prompt
  const next = at === -1 ? [...parts, piece] : replaceAt(parts, at, piece)
  const text = next.flatMap((other) => (other.type === 'text' ? [other.text] : [])).join('\n\n')
  const agents = next.flatMap((other) => (other.type === 'agent' ? [`@${other.name}`] : []))
  const files = next.flatMap((other) => (other.type === 'file' ? [other.name] : []))
  // Clients that let people name sub-agents usually have the names in the text, too.
  return { text: text.trim() === '' && agents.length > 0 ? agents.join(' ') : text, files, parts: next }
}

/**
 * The text, file or named sub-agent of a prompt to show, of a command that starts a sub-agent the text for the sub-agent. Undefined for
 * other types, and for text that people should not see.
 */
function promptPartOf(part: Part): PromptPart | undefined {
  if (part.type === 'text')
    return part.synthetic || part.ignored ? undefined : { type: 'text', id: part.id, text: part.text }
  if (part.type === 'agent') return { type: 'agent', id: part.id, name: part.name }
  if (part.type === 'file') return { type: 'file', id: part.id, name: part.filename ?? part.mime }
  // A command's template may be a file alone, and its description empty.
  if (part.type === 'subtask')
    return { type: 'text', id: part.id, text: part.prompt || part.description || `@${part.agent}` }
  return undefined
}
