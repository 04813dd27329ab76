import type { Fields } from '../../src/fields.ts'
import type { Message, Part, Reply } from '../../src/index.ts'
import { plus, type Spent } from '../truth.ts'
import { type Frame, fieldsOf, type Told } from './recorded.ts'

/**
 * OpenCode 2's state and ours in one format, so that a plain comparison finds every difference. Written from the REST
 * responses without the decoder, so that decoder bugs show.
 */

/** The steps of a session: its assistant messages, without copies from before a fork. */
export function toldMessages({ info, messages }: Told): readonly Fields[] {
  const { created = 0 } = fieldsOf(info.time)
  return messages.filter(
    (message) => message.type === 'assistant' && Number(fieldsOf(message.time).created) >= Number(created),
  )
}

export interface ToldOptions {
  readonly reply: Reply
  readonly frames: readonly Frame[]
  /** The reply was read over REST, too: it has what the server stored after its stream had ended. */
  readonly isRead?: boolean | undefined
}

export function toldMessage(told: Fields, { reply, frames, isRead = false }: ToldOptions) {
  const { id, content, time } = told
  const { created, completed } = fieldsOf(time)
  const heard = frames.filter(({ data }) => data.assistantMessageID === id)
  // A server that stops tells the ends of its steps over REST only, and one that is killed has none.
  const isCut = !heard.some(({ type }) => type === 'session.step.ended' || type === 'session.step.failed')
  const parts = toldParts(String(id), Array.isArray(content) ? content : [], { heard, isRead })
  const end = { completedAt: completed, ...toldEnd(told, reply) }
  const spent = isRead ? {} : { cost: undefined, tokens: undefined }
  return { id, createdAt: created, ...end, ...(isCut && { ...unknownEnd, ...spent }), parts }
}

/** A run that is lost has no end. */
const unknownEnd = { completedAt: undefined, finish: undefined, error: undefined }

interface Heard {
  readonly heard: readonly Frame[]
  readonly isRead?: boolean | undefined
}

/** A run that a person stopped by a rejection has no error: the rejection interrupts the step of the call. */
function toldEnd({ finish, error, cost, tokens }: Fields, reply: Reply) {
  const { type, message } = fieldsOf(error)
  const isStopped = type === 'aborted' && reply.outcome === 'stopped'
  const { input, output, reasoning, cache } = fieldsOf(tokens)
  const { read, write } = fieldsOf(cache)
  return {
    finish: isStopped ? 'tool-calls' : finish,
    error:
      type === undefined || isStopped
        ? undefined
        : { name: type === 'aborted' ? 'MessageAbortedError' : type, message: sentenceIn(String(message)) },
    cost,
    tokens: tokens && { input, output, reasoning, cacheRead: read, cacheWrite: write },
  }
}

/** The provider's own words in place of its JSON. */
function sentenceIn(message: string): string {
  return message.replace(/\{"error".*\}$/, (json) => JSON.parse(json).error.message)
}

function toldParts(id: string, content: readonly Fields[], { heard, isRead }: Heard) {
  const ordinals = new Map<unknown, number>()
  return content.map((item) => {
    const { type } = item
    if (type === 'tool') return toldTool(id, item, { heard, isRead })
    const ordinal = ordinals.get(type) ?? 0
    ordinals.set(type, ordinal + 1)
    const own = heard.filter(({ data }) => data.ordinal === ordinal)
    const streamed = own.filter((frame) => frame.type === `session.${type}.delta`).map(({ data }) => data.delta)
    // What streamed when its server was killed is only in the stream: deltas are not stored.
    return { id: `${id}.${type}.${ordinal}`, type, text: item.text === '' ? streamed.join('') : item.text }
  })
}

const statuses: Fields = { streaming: 'pending' }

function toldTool(messageID: string, { id: callID, name, state }: Fields, { heard, isRead }: Heard) {
  const { status, input, content, error } = fieldsOf(state)
  const call = { id: `${messageID}.tool.${callID}`, type: 'tool', tool: name, callID, input: fieldsOf(input) }
  const isStored = isRead && (status === 'completed' || status === 'error')
  const isOver =
    isStored ||
    heard.some(({ type, data }) => data.callID === callID && /^session\.tool\.(?:success|failed)$/.test(type))
  if (!isOver) {
    const wasCalled = status !== 'streaming'
    return { ...call, status: wasCalled ? 'running' : statuses.streaming, output: undefined, error: undefined }
  }
  const texts = (Array.isArray(content) ? content : []).flatMap((one: Fields) => one.text ?? [])
  const files = (Array.isArray(content) ? content : []).flatMap(({ type, mime, uri, name }: Fields) =>
    type === 'file' ? [{ mime, url: uri, filename: name }] : [],
  )
  return {
    ...call,
    status,
    output: status === 'completed' ? texts.join('\n') : undefined,
    files: files.length === 0 ? undefined : files,
    error: status === 'error' ? fieldsOf(error).message : undefined,
  }
}

export function ourMessage(message: Message) {
  const { id, createdAt, completedAt, finish, error, cost, tokens, parts } = message
  return {
    id,
    createdAt,
    completedAt,
    finish,
    error: error && { name: error.name, message: error.message },
    cost,
    tokens,
    parts: parts.filter(({ type }) => type !== 'step-finish').map(ourPart),
  }
}

function ourPart(part: Part) {
  const { id, type } = part
  if (part.type === 'text' || part.type === 'reasoning') return { id, type, text: part.text }
  if (part.type !== 'tool') return { id, type }
  const { tool, callID, state } = part
  const { status, input, output, error, attachments } = state
  const files = attachments?.map(({ mime, url, filename }) => ({ mime, url, filename }))
  return { id, type, tool, callID, status, input, output, files, error }
}

/** What a session, a step or a change of the sum cost according to its server. */
export function toldSpent({ tokens, cost }: Fields): Spent {
  const { input, output, reasoning, cache } = fieldsOf(tokens)
  const { read, write } = fieldsOf(cache)
  return {
    input: Number(input ?? 0),
    output: Number(output ?? 0),
    reasoning: Number(reasoning ?? 0),
    cacheRead: Number(read ?? 0),
    cacheWrite: Number(write ?? 0),
    cost: Number(cost ?? 0),
  }
}

/**
 * What a session's count includes besides its replies: the calls that made its titles, the steps that were reverted,
 * and those whose end is in REST only.
 */
export function spentAside(told: Told, frames: readonly Frame[]): readonly Spent[] {
  const own = frames.filter(({ data }) => data.sessionID === told.id)
  const titles = own.flatMap((frame, at) => {
    const counted = own[at - 1]
    if (frame.type !== 'session.renamed' || counted?.type !== 'session.usage.updated') return []
    const before = own.slice(0, at - 1).findLast(({ type }) => type === 'session.usage.updated')
    return [minus(toldSpent(counted.data), toldSpent(before?.data ?? {}))]
  })
  const ended = new Map(
    own
      .filter(({ type }) => /^session\.step\.(ended|failed)$/.test(type))
      .map(({ data }) => [data.assistantMessageID, data]),
  )
  const steps = toldMessages(told)
  const reverted = [...ended].filter(([id]) => steps.every((step) => step.id !== id)).map(([, data]) => data)
  const unheard = steps.filter(({ id }) => !ended.has(id))
  return [...titles, ...[...reverted, ...unheard].map(toldSpent)]
}

function minus(all: Spent, { input, output, reasoning, cacheRead, cacheWrite, cost }: Spent): Spent {
  const less = { input: -input, output: -output, reasoning: -reasoning, cost: -cost }
  return plus(all, { ...less, cacheRead: -cacheRead, cacheWrite: -cacheWrite })
}

/** What the server's own clients show of a session: the texts of its steps. */
export function toldText(told: Told, frames: readonly Frame[]): string {
  const parts = toldMessages(told).flatMap(({ id, content }) =>
    toldParts(String(id), Array.isArray(content) ? content : [], {
      heard: frames.filter(({ data }) => data.assistantMessageID === id),
    }),
  )
  const texts = parts.flatMap((part) => (part.type === 'text' && 'text' in part ? [String(part.text)] : []))
  return texts.filter((text) => text.trim() !== '').join('\n\n')
}
