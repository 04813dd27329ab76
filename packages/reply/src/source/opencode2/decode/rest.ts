import type { Ask } from '../../../ask.ts'
import { type OnError, ReplyError } from '../../../error.ts'
import { isFields } from '../../../fields.ts'
import type { Part, ToolState } from '../../../part.ts'
import { inEnglish } from '../../decode/check.ts'
import type { MessageRead, SessionInfo } from '../../port.ts'
import { type Seen, toPermission, toQuestion } from './ask.ts'
import { canonicalForm, canonicalPermission } from './canonical.ts'
import {
  head,
  isAborted,
  isDeclined,
  isNotice,
  outputOf,
  toFailure,
  toMetadata,
  toModel,
  toPromptParts,
  toStepFinish,
  toSyntheticText,
  toTextPart,
  toTokens,
  toToolPart,
} from './part.ts'
import {
  formSchema,
  messageSchema,
  permissionSchema,
  sessionSchema,
  type WireForm,
  type WireMessage,
  type WireTool,
} from './schema.ts'
import { toSessionInfo } from './session.ts'

/** Converts REST responses to the model. Reports and drops malformed items of a list, and keeps the rest. */

/** The content of `{ data }`. */
export function dataIn(value: unknown): unknown {
  return isFields(value) ? value.data : undefined
}

/** The cursor of the next page in `{ data, cursor: { next } }`. */
export function nextIn(value: unknown): string | undefined {
  const cursor = isFields(value) && isFields(value.cursor) ? value.cursor.next : undefined
  return typeof cursor === 'string' ? cursor : undefined
}

export function listIn(value: unknown): readonly unknown[] {
  const data = dataIn(value)
  return Array.isArray(data) ? data : []
}

const kinds = new Set(['user', 'assistant', 'synthetic'])

/**
 * The types of messages that belong to a reply: prompts, steps, and the ends of background work, which wake the
 * session. Other messages of the server, for example that the model was switched, don't.
 */
export function toReadMessages(items: readonly unknown[], onError: OnError): readonly MessageRead[] {
  return items.flatMap((item) => {
    if (isFields(item) && typeof item.type === 'string' && !kinds.has(item.type)) return []
    const message = messageSchema.safeParse(item, inEnglish)
    if (message.success) return isNotice(message.data) ? [] : [toMessage(message.data)]
    const [issue] = message.error.issues
    const problem = `Left out a malformed message read over REST: ${issue?.path.join('.')}: ${issue?.message}`
    onError(new ReplyError('malformed', problem))
    return []
  })
}

function toMessage(wire: WireMessage): MessageRead {
  const { id, time } = wire
  if (wire.type === 'user')
    return { head: head(id, 'user', { createdAt: time?.created, raw: wire }), parts: toPromptParts(id, wire) }
  if (wire.type === 'synthetic') {
    const message = head(id, 'user', { createdAt: time?.created, raw: wire })
    return { head: message, parts: [toSyntheticText(id, wire.text)] }
  }
  const isOver = time?.completed !== undefined
  const tokens = wire.tokens ? toTokens(wire.tokens) : undefined
  // A rejection interrupts the step, which is the normal end of its run and not an error.
  const isStopped =
    isAborted(wire.error) && wire.content.some((item) => item.type === 'tool' && isDeclined(item.state.error))
  const finish = isStopped ? 'tool-calls' : (wire.finish ?? undefined)
  const cost = wire.cost ?? undefined
  const step = isOver ? toStepFinish(id, { finish, cost, tokens }) : undefined
  return {
    head: head(id, 'assistant', {
      createdAt: time?.created,
      completedAt: time?.completed,
      agent: wire.agent,
      model: toModel(wire.model),
      finish,
      cost,
      tokens,
      error: wire.error && !isStopped ? toFailure(wire.error) : undefined,
      ...(isStopped && { endsRun: true as const }),
      raw: wire,
    }),
    parts: [...toContent(wire, isOver), ...(step ? [step] : [])],
  }
}

/**
 * Adds what the server only reports in events: the prompt that a step answers, and which prompts joined a run. If a
 * prompt was accepted before the previous step ended, the same execution ran it, unless that failed or was stopped. It
 * then counts as asked during that step. The server only stores when it was delivered.
 */
export function withJoined(
  messages: readonly MessageRead[],
  acceptedAt: ReadonlyMap<string, number>,
): readonly MessageRead[] {
  let promptID: string | undefined
  return messages.map((message, at) => {
    if (message.head.role === 'assistant') return { ...message, head: { ...message.head, parentID: promptID } }
    promptID = message.head.id
    const before = messages[at - 1]?.head
    const accepted = acceptedAt.get(message.head.id)
    if (accepted === undefined || before?.role !== 'assistant' || before.completedAt === undefined) return message
    if (before.error !== undefined || before.endsRun || accepted >= before.completedAt) return message
    // Delivered before that step had ended, because the server's clock was set back in between.
    if ((message.head.createdAt ?? accepted) < before.completedAt) return message
    return { ...message, head: { ...message.head, createdAt: Math.max(accepted, before.createdAt ?? accepted) } }
  })
}

/** Whether the last step has a call that a person rejected, which ends its run. */
export function isRejectedIn(messages: readonly MessageRead[]): boolean {
  return (
    messages.at(-1)?.parts.some(({ type, raw }) => type === 'tool' && isDeclined((raw as WireTool).state.error)) ??
    false
  )
}

/** An ordinal counts the parts of one kind. */
function toContent(wire: Extract<WireMessage, { type: 'assistant' }>, isOver: boolean): readonly Part[] {
  const ordinals = { text: 0, reasoning: 0 }
  const messageID = wire.id
  return wire.content.map((item): Part => {
    if (item.type === 'tool') return toTool(messageID, item)
    const ordinal = ordinals[item.type]++
    // Deltas are not stored, so a text that is streaming is empty here.
    const isSealed = isOver || item.text !== ''
    const status = isSealed ? 'sealed' : 'open'
    return toTextPart({ messageID, kind: item.type, ordinal, text: item.text, status, raw: item })
  })
}

const statuses = { streaming: 'pending', running: 'running', completed: 'completed', error: 'error' } as const

function toTool(messageID: string, wire: WireTool): Part {
  const { id: callID, name: tool, state: read, time } = wire
  const state: ToolState = {
    status: statuses[read.status],
    // While it streams, the input is unfinished JSON.
    input: isFields(read.input) ? read.input : {},
    output: read.status === 'completed' ? outputOf(read.content) : undefined,
    error: read.status === 'error' ? (read.error?.message ?? '') : undefined,
    ...(read.status === 'error' && isAborted(read.error) && !isDeclined(read.error) && { interrupted: true as const }),
    metadata: toMetadata(read.metadata),
    startedAt: time?.ran,
    endedAt: time?.completed,
  }
  return toToolPart({ messageID, callID, tool, state, raw: wire })
}

/** A session in a response. Undefined if it isn't one. */
export function toReadSession(value: unknown): SessionInfo | undefined {
  const session = sessionSchema.safeParse(value, inEnglish)
  return session.success ? toSessionInfo(session.data, session.data.id) : undefined
}

export function toReadSessions(items: readonly unknown[]): readonly SessionInfo[] {
  return items.flatMap((item) => toReadSession(item) ?? [])
}

export function toReadPermissions(items: readonly unknown[], seen: Seen): readonly Ask[] {
  return items.flatMap((item) => {
    const permission = isFields(item) ? permissionSchema.safeParse(canonicalPermission(item), inEnglish) : undefined
    return permission?.success ? [toPermission(permission.data, seen)] : []
  })
}

export function toReadForms(items: readonly unknown[]): readonly WireForm[] {
  return items.flatMap((item) => {
    const form = isFields(item) ? formSchema.safeParse(canonicalForm(item), inEnglish) : undefined
    return form?.success ? [form.data] : []
  })
}

export function toReadQuestions(forms: readonly WireForm[], seen: Seen): readonly Ask[] {
  return forms.map((form) => toQuestion(form, seen))
}

/** The ids of the running sessions. */
export function toReadActive(value: unknown): readonly string[] {
  const data = dataIn(value)
  return isFields(data) ? Object.keys(data) : []
}
