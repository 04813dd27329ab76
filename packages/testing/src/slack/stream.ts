import { type Fields, fieldsOf } from '../fields.ts'
import { textIn } from '../platform/payload.ts'
import { limits } from './limits.ts'
import { optionalList } from './payload.ts'
import { Refusal } from './refusal.ts'

/** Slack's own names. */
export type SlackTaskStatus = 'pending' | 'in_progress' | 'complete' | 'error'

/** A step that a stream shows. */
export interface SlackTask {
  /** The id that the app gave it. */
  readonly id: string
  /** One line. */
  readonly title: string
  /** How far it got. */
  readonly status: SlackTaskStatus
  /** Text below the title. May be empty. */
  readonly details: string
  /** Its result. May be empty. */
  readonly output: string
}

/** A message that is or was streamed. */
export interface Stream {
  /** All of a stream's text must use the same field. */
  readonly mode: 'chunks' | 'markdown_text'
  readonly startedAt: number
  readonly end: 'stopped' | 'stopped-by-user' | undefined
  readonly text: string
  readonly tasks: readonly SlackTask[]
  readonly plan: string
}

/** The additions of one call. */
interface Addition {
  readonly mode: Stream['mode'] | undefined
  readonly text: string
  readonly tasks: readonly SlackTask[]
  readonly plan: string | undefined
}

/** Whether text can still be added: it was not stopped, and is younger than five minutes. */
export function isLive({ end, startedAt }: Stream, now: number): boolean {
  return end === undefined && now < startedAt + limits.streamMs
}

/**
 * Returns a new stream with a call's additions, which may be none. Throws a `Refusal` for wrong or too many
 * additions.
 */
export function startedStream(payload: Fields, now: number): Stream {
  const addition = readAddition(payload)
  const none: Stream = {
    mode: addition.mode ?? 'chunks',
    startedAt: now,
    end: undefined,
    text: '',
    tasks: [],
    plan: '',
  }
  return withAddition(none, addition)
}

/**
 * Returns the stream with a call's additions. Throws a `Refusal` if it has ended, if the call adds nothing, and for
 * wrong or too many additions.
 */
export function appendedStream(stream: Stream, payload: Fields, now: number): Stream {
  requireLive(stream, now)
  const addition = readAddition(payload)
  if (addition.mode === undefined) throw new Refusal('no_text')
  return withAddition(stream, addition)
}

/**
 * Returns the stream with a call's last additions, if any, and ended. Throws a `Refusal` if it has ended before, and
 * for wrong or too many additions.
 */
export function stoppedStream(stream: Stream, payload: Fields, now: number): Stream {
  requireLive(stream, now)
  return { ...withAddition(stream, readAddition(payload)), end: 'stopped' }
}

/** Throws a `Refusal` if the stream has ended, with another error if a person stopped it. */
function requireLive(stream: Stream, now: number): void {
  if (stream.end === 'stopped-by-user') throw new Refusal('stopped_by_user')
  if (!isLive(stream, now)) throw new Refusal('message_not_in_streaming_state')
}

/**
 * Returns the stream with more text, and with tasks that replace those with the same ids. Throws a `Refusal` for
 * another mode than the stream's, and if the stream is then too long.
 */
function withAddition(stream: Stream, { mode, text, tasks, plan }: Addition): Stream {
  if (mode !== undefined && mode !== stream.mode) throw new Refusal('streaming_mode_mismatch')
  const next = {
    ...stream,
    text: stream.text + text,
    tasks: [...new Map([...stream.tasks, ...tasks].map((task) => [task.id, task])).values()],
    plan: plan ?? stream.plan,
  }
  if (streamBytes(next) > limits.streamBytes || next.tasks.length > limits.tasks) throw new Refusal('msg_too_long')
  return next
}

/** The size in UTF-8 bytes. Details and output count twice, as measured. */
function streamBytes({ text, tasks, plan }: Stream): number {
  const parts = tasks.map(
    ({ title, details, output }) => byteLength(title) + 2 * byteLength(details) + 2 * byteLength(output),
  )
  return byteLength(text) + byteLength(plan) + parts.reduce((sum, one) => sum + one, 0)
}

/** The UTF-8 bytes of a text. */
function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8')
}

/**
 * Returns what a call adds. Without text or chunks, nothing and no mode. Throws a `Refusal` if it has both, and for a
 * wrong chunk.
 */
function readAddition(payload: Fields): Addition {
  const markdown = textIn(payload, 'markdown_text')
  const chunks = optionalList(payload, 'chunks', 'invalid_chunks')
  if (markdown !== undefined && chunks) throw new Refusal('markdown_text_conflict')
  const none: Addition = { mode: undefined, text: '', tasks: [], plan: undefined }
  if (markdown !== undefined) return { ...none, mode: 'markdown_text', text: limitLength(markdown) }
  if (!chunks || chunks.length === 0) return none
  return chunks.reduce<Addition>(withChunk, { ...none, mode: 'chunks' })
}

/**
 * Returns the addition with another chunk. Throws a `Refusal` for an unknown type, and for missing or too long
 * content.
 */
function withChunk(before: Addition, value: unknown): Addition {
  const chunk = fieldsOf(value)
  switch (chunk.type) {
    case 'markdown_text':
      return { ...before, text: before.text + limitLength(requireText(chunk, 'text')) }
    case 'plan_update':
      return { ...before, plan: requireText(chunk, 'title') }
    case 'task_update':
      return { ...before, tasks: [...before.tasks, readTask(chunk)] }
    default:
      throw new Refusal('invalid_chunks', `[ERROR] unsupported type: ${String(chunk.type)}`)
  }
}

/** Returns a task. Throws a `Refusal` for one without an id, a title or a known status. */
function readTask(chunk: Fields): SlackTask {
  const { details = '', output = '' } = chunk
  return {
    id: requireText(chunk, 'id'),
    title: requireText(chunk, 'title'),
    status: requireTaskStatus(chunk.status),
    details: String(details),
    output: String(output),
  }
}

/** Returns the status. Throws a `Refusal` if it is unknown. */
function requireTaskStatus(status: unknown): SlackTaskStatus {
  if (status === 'pending' || status === 'in_progress' || status === 'complete' || status === 'error') return status
  throw new Refusal('invalid_chunks', `[ERROR] not a task status: ${String(status)}`)
}

/** Returns the text. Throws a `Refusal` if it is absent or empty. */
function requireText(chunk: Fields, name: string): string {
  const value = chunk[name]
  if (typeof value !== 'string' || value === '') throw new Refusal('invalid_chunks', `[ERROR] missing: ${name}`)
  return value
}

/** Returns the text. Throws a `Refusal` if it is too long. */
function limitLength(text: string): string {
  if (text.length > limits.markdown) throw new Refusal('msg_too_long')
  return text
}
