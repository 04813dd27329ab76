import type { AssistantMessage, Event, Part as WirePart } from '@opencode-ai/sdk/v2'
import type { Message, Part, Reply, ReplyFile, Usage } from '@reply/core'
import type { Told } from './recorded.ts'

/**
 * The server's state and ours in one format, so that a plain comparison finds every difference. Written from the
 * server's types without the decoder, so that decoder bugs show.
 */

/** A session's assistant messages that the replies must contain: no summaries, and no copies from a fork. */
export function toldMessages({ info, messages }: Told) {
  return messages.flatMap(({ info: head, parts }) =>
    head.role === 'assistant' && head.summary !== true && head.time.created >= info.time.created
      ? [{ head, parts }]
      : [],
  )
}

export function toldMessage(head: AssistantMessage, parts: readonly WirePart[]) {
  const { id, parentID, finish, error, tokens, cost, time } = head
  const { input, output, reasoning, cache } = tokens
  return {
    id,
    parentID,
    createdAt: time.created,
    completedAt: time.completed,
    finish,
    error: error && { name: error.name, message: 'message' in error.data ? error.data.message : '' },
    tokens: { input, output, reasoning, cacheRead: cache.read, cacheWrite: cache.write },
    cost,
    parts: parts.map(toldPart),
  }
}

export function ourMessage(message: Message) {
  const { id, parentID, createdAt, completedAt, finish, error, tokens, cost, parts } = message
  return {
    id,
    parentID,
    createdAt,
    completedAt,
    finish,
    error: error && { name: error.name, message: error.message },
    tokens,
    cost,
    parts: parts.map(ourPart),
  }
}

function toldPart(part: WirePart) {
  const { id, type } = part
  if (part.type !== 'tool') return { id, type, ...contentOf(part) }
  const { tool, callID, state } = part
  const { input } = state
  return {
    id,
    type,
    // The server renames an unknown tool; the reply keeps the name that the model used.
    tool: tool === 'invalid' ? input.tool : tool,
    callID,
    status: state.status,
    input,
    output: 'output' in state ? state.output : undefined,
    error: 'error' in state ? state.error : undefined,
    title: 'title' in state ? state.title : undefined,
    files: 'attachments' in state ? state.attachments?.map(fileOf) : undefined,
  }
}

/** A file, in the fields that have the same name in the server and in the model. */
function fileOf({ mime, url, filename }: Pick<ReplyFile, 'mime' | 'url' | 'filename'>) {
  return { mime, url, filename }
}

function ourPart(part: Part) {
  const { id, type } = part
  if (part.type !== 'tool') return { id, type, ...contentOf(part) }
  const { tool, callID, state } = part
  const { status, input, output, error, title, attachments } = state
  return { id, type, tool, callID, status, input, output, error, title, files: attachments?.map(fileOf) }
}

/** A part's content, in the fields that have the same name in the server and in the model. */
function contentOf(part: Exclude<Part | WirePart, { type: 'tool' }>): object {
  switch (part.type) {
    case 'text':
      return { text: part.text, synthetic: part.synthetic === true, ignored: part.ignored === true }
    case 'reasoning':
      return { text: part.text }
    case 'file':
      return { mime: part.mime, url: part.url, filename: part.filename }
    case 'patch':
      return { hash: part.hash, files: part.files }
    case 'step-start':
      return { snapshot: part.snapshot }
    case 'step-finish': {
      const { input, output, reasoning } = part.tokens
      return { reason: part.reason, cost: part.cost, input, output, reasoning }
    }
    case 'snapshot':
      return { snapshot: part.snapshot }
    case 'subtask':
      return { prompt: part.prompt, description: part.description, agent: part.agent }
    case 'agent':
      return { name: part.name }
    case 'retry':
      return { attempt: part.attempt, name: part.error.name }
    case 'compaction':
      return { auto: part.auto }
    case 'unknown':
      return {}
    default:
      return part satisfies never
  }
}

/** The model's own text according to the server. */
export function toldText(parts: readonly WirePart[]): string {
  const abandoned = takenBack(parts)
  const shown = parts.filter((part) => part.type === 'text' && !part.synthetic && !part.ignored)
  const texts = shown.flatMap((part) => (part.type === 'text' && !abandoned.includes(part.id) ? [part.text] : []))
  return texts.filter((text) => text.trim() !== '').join('\n\n')
}

/** All replies, roots and descendants, in order of opening. */
export function allReplies(replies: readonly Reply[]): readonly Reply[] {
  return replies.flatMap((reply) => [reply, ...allReplies(reply.children.map((child) => child.reply))])
}

/**
 * The replies of one session in order. A background sub-agent that outlived its parent's reply is unfinished there and
 * continues in the next; the last one counts.
 */
export function repliesIn(all: readonly Reply[], sessionID: string): readonly Reply[] {
  const own = all.filter((reply) => reply.sessionID === sessionID)
  return own.filter((reply, index) => {
    const next = own[index + 1]
    return reply.phase === 'settled' || next === undefined || next.startedAt !== reply.startedAt
  })
}

export type Spent = Omit<Usage, 'steps' | 'contextTokens' | 'contextLimit'>

/** What the replies of one session cost in all, without their sub-agents. */
export function spentOn(own: readonly Reply[]): Spent {
  return plus(
    { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0, cost: 0 },
    ...own.map(({ usage }) => usage),
  )
}

export function plus(first: Spent, ...more: readonly Spent[]): Spent {
  return more.reduce<Spent>(
    (sum, one) => ({
      input: sum.input + one.input,
      output: sum.output + one.output,
      reasoning: sum.reasoning + one.reasoning,
      cacheRead: sum.cacheRead + one.cacheRead,
      cacheWrite: sum.cacheWrite + one.cacheWrite,
      cost: sum.cost + one.cost,
    }),
    first,
  )
}

/** What a session or a message cost according to its server. */
export function toldSpent({
  tokens,
  cost = 0,
}: Pick<AssistantMessage, 'tokens'> & { cost?: number | undefined }): Spent {
  const { input, output, reasoning, cache } = tokens
  return { input, output, reasoning, cacheRead: cache.read, cacheWrite: cache.write, cost }
}

/** The steps that a fork copied from its origin. */
export function copiesIn({ info, messages }: Told): readonly AssistantMessage[] {
  return messages.flatMap(({ info: head }) =>
    head.role === 'assistant' && head.time.created < info.time.created ? [head] : [],
  )
}

/**
 * The part that our message must contain: the server's, unless the server lost its text because it never sealed the
 * part and stored "". Then only the streamed text exists, and it is kept if the reply ended in the middle of it or a
 * retry abandoned it.
 */
export function remembered(part: WirePart, ours: Message, reply: Reply, frames: readonly Event[]): WirePart {
  if (!isUnsealed(part) || part.text !== '') return part
  const endedInIt = reply.outcome === 'aborted' || reply.outcome === 'lost'
  const isAbandoned = ours.parts.find((other) => other.id === part.id)?.status === 'abandoned'
  return endedInIt || isAbandoned ? { ...part, text: heardOf(part.id, frames) } : part
}

/**
 * Ids of parts that were begun, never sealed, and followed by another beginning of the same step: a retry replaced
 * them.
 */
export function takenBack(parts: readonly WirePart[]): readonly string[] {
  const lastStart = parts.findLastIndex((part) => part.type === 'step-start')
  return parts
    .slice(0, Math.max(0, lastStart))
    .filter(isUnsealed)
    .map((part) => part.id)
}

/**
 * The message as the stream last sent it. It differs from the server's final state only if `/event` ended before the
 * run: a server up to 1.14 drops the instance, and with it the stream, before it ends the run.
 */
export function lastTold(head: AssistantMessage, reply: Reply, frames: readonly Event[]): AssistantMessage {
  if (reply.outcome !== 'lost' || frames.every((frame) => frame.type !== 'server.instance.disposed')) return head
  const told = frames.flatMap((frame) => (frame.type === 'message.updated' ? [frame.properties.info] : []))
  return told.findLast((info): info is AssistantMessage => info.id === head.id) ?? head
}

function isUnsealed(part: WirePart): part is Extract<WirePart, { type: 'text' | 'reasoning' }> {
  return (part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined
}

/** The longest text of a part on the stream. */
function heardOf(partID: string, frames: readonly Event[]): string {
  let heard = ''
  for (const frame of frames) {
    if (frame.type === 'message.part.delta' && frame.properties.partID === partID) heard += frame.properties.delta
    if (frame.type !== 'message.part.updated' || frame.properties.part.id !== partID) continue
    const { part } = frame.properties
    if ('text' in part && part.text.length > heard.length) heard = part.text
  }
  return heard
}
