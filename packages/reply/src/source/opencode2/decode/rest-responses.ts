import type { Ask } from '../../../ask.ts'
import { type OnError, ReplyError } from '../../../error.ts'
import { isFields } from '../../../fields.ts'
import type { Part, ToolState } from '../../../part.ts'
import { inEnglish } from '../../decode/check.ts'
import type { MessageRead, SessionInfo } from '../../port.ts'
import { type AskOrigin, toPermission, toQuestion } from './ask.ts'
import {
  isAborted,
  isDeclined,
  isServerNotice,
  toAttachments,
  toFailure,
  toHead,
  toMetadata,
  toModel,
  toOutputText,
  toolPartID,
  toPromptParts,
  toStepFinish,
  toSyntheticText,
  toTextPart,
  toTokens,
  toToolPart,
} from './part.ts'
import { renameFormFields, renamePermissionFields } from './preview-names.ts'
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

/** Returns the content of `{ data }`. Undefined for any other value. */
export function dataIn(value: unknown): unknown {
  return isFields(value) ? value.data : undefined
}

/** Returns the cursor of the next page in `{ data, cursor: { next } }`. Undefined on the last page. */
export function nextIn(value: unknown): string | undefined {
  const cursor = isFields(value) && isFields(value.cursor) ? value.cursor.next : undefined
  return typeof cursor === 'string' ? cursor : undefined
}

/** Returns the list in `{ data }`. Empty for any other value. */
export function listIn(value: unknown): readonly unknown[] {
  const data = dataIn(value)
  return Array.isArray(data) ? data : []
}

/**
 * The types of messages that belong to a reply: prompts, steps, and the ends of background work, which wake the
 * session. Other messages of the server, for example that the model was switched, don't.
 */
const repliedTypes = new Set(['user', 'assistant', 'synthetic'])

/**
 * Converts a list of messages, in its order. Drops those that belong to no reply and the server's notices, and reports
 * and drops malformed ones.
 */
export function toReadMessages(items: readonly unknown[], onError: OnError): readonly MessageRead[] {
  return items.flatMap((item) => {
    if (isFields(item) && typeof item.type === 'string' && !repliedTypes.has(item.type)) return []
    const message = messageSchema.safeParse(item, inEnglish)
    if (message.success) return isServerNotice(message.data) ? [] : [toMessage(message.data)]
    const [issue] = message.error.issues
    const problem = `Left out a malformed message read over REST: ${issue?.path.join('.')}: ${issue?.message}`
    onError(new ReplyError('malformed', problem))
    return []
  })
}

/**
 * Converts a prompt, a step or a synthetic text, with its parts. A step that a person's rejection interrupted has no
 * error, and ends its run.
 */
function toMessage(wire: WireMessage): MessageRead {
  const { id, time } = wire
  if (wire.type === 'user')
    return { head: toHead(id, 'user', { createdAt: time?.created, raw: wire }), parts: toPromptParts(id, wire) }
  if (wire.type === 'synthetic') {
    const message = toHead(id, 'user', { createdAt: time?.created, raw: wire })
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
    head: toHead(id, 'assistant', {
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
    parts: [...toParts(wire, isOver), ...(step ? [step] : [])],
  }
}

/**
 * Returns the messages with what a read over REST lacks: the prompt that each step answers, and the time at which a
 * prompt that joined a run was accepted. A prompt joined if it was accepted before the step ahead of it ended, unless
 * that step failed or was stopped. The server only stores when it delivered the prompt, which looks like a new run.
 */
export function addPromptsAndTimes(
  messages: readonly MessageRead[],
  acceptedAt: ReadonlyMap<string, number>,
): readonly MessageRead[] {
  let promptID: string | undefined
  return messages.map((message, at) => {
    if (message.head.role === 'assistant') return { ...message, head: { ...message.head, parentID: promptID } }
    promptID = message.head.id
    const previous = messages[at - 1]?.head
    const accepted = acceptedAt.get(message.head.id)
    if (accepted === undefined || previous?.role !== 'assistant' || previous.completedAt === undefined) return message
    if (previous.error !== undefined || previous.endsRun || accepted >= previous.completedAt) return message
    // Delivered before that step had ended, because the server's clock was set back in between.
    if ((message.head.createdAt ?? accepted) < previous.completedAt) return message
    return { ...message, head: { ...message.head, createdAt: Math.max(accepted, previous.createdAt ?? accepted) } }
  })
}

/** Whether the last message has a call that a person rejected, which ends its run. False without messages. */
export function endsInRejection(messages: readonly MessageRead[]): boolean {
  return (
    messages.at(-1)?.parts.some(({ type, raw }) => type === 'tool' && isDeclined((raw as WireTool).state.error)) ??
    false
  )
}

/**
 * Converts a step's content. An ordinal counts the parts of one kind. A text is open while it is empty and its step has
 * not ended.
 */
function toParts(wire: Extract<WireMessage, { type: 'assistant' }>, isOver: boolean): readonly Part[] {
  const ordinals = { text: 0, reasoning: 0 }
  const messageID = wire.id
  return wire.content.map((item): Part => {
    if (item.type === 'tool') return toToolPartOf(messageID, item)
    const ordinal = ordinals[item.type]++
    // Deltas are not stored, so a text that is streaming is empty here.
    const isSealed = isOver || item.text !== ''
    const status = isSealed ? 'sealed' : 'open'
    return toTextPart({ messageID, kind: item.type, ordinal, text: item.text, status, raw: item })
  })
}

const statuses = { streaming: 'pending', running: 'running', completed: 'completed', error: 'error' } as const

/**
 * Converts a tool call of a step. Its input is empty while it streams. A call that was aborted without a rejection is
 * interrupted.
 */
function toToolPartOf(messageID: string, wire: WireTool): Part {
  const { id: callID, name: tool, state: toolState, time } = wire
  // While it streams, the input is unfinished JSON.
  const input = isFields(toolState.input) ? toolState.input : {}
  const state: ToolState = {
    status: statuses[toolState.status],
    input,
    output: toolState.status === 'completed' ? toOutputText(toolState.content) : undefined,
    attachments: toAttachments(toolPartID(messageID, callID), { tool, input }, toolState.content),
    error: toolState.status === 'error' ? (toolState.error?.message ?? '') : undefined,
    ...(toolState.status === 'error' &&
      isAborted(toolState.error) &&
      !isDeclined(toolState.error) && { interrupted: true as const }),
    metadata: toMetadata(toolState.metadata),
    startedAt: time?.ran,
    endedAt: time?.completed,
  }
  return toToolPart({ messageID, callID, tool, state, raw: wire })
}

/** Converts a session in a response. Undefined if it isn't one. */
export function toReadSession(value: unknown): SessionInfo | undefined {
  const session = sessionSchema.safeParse(value, inEnglish)
  return session.success ? toSessionInfo(session.data, session.data.id) : undefined
}

/** Converts a list of sessions. Drops malformed ones. */
export function toReadSessions(items: readonly unknown[]): readonly SessionInfo[] {
  return items.flatMap((item) => toReadSession(item) ?? [])
}

/** A listed session, and what its runs have used until now: equal texts if nothing ran in between. */
export interface ListedSession {
  readonly info: SessionInfo
  readonly used: string
}

/** Converts a list of sessions, with what their runs have used. Drops malformed ones. */
export function toListedSessions(items: readonly unknown[]): readonly ListedSession[] {
  return items.flatMap((item) => {
    const session = sessionSchema.safeParse(item, inEnglish)
    if (!session.success) return []
    const { id, tokens, cost } = session.data
    return [{ info: toSessionInfo(session.data, id), used: JSON.stringify([tokens, cost]) }]
  })
}

/** Converts a list of permissions. Drops malformed ones. */
export function toReadPermissions(items: readonly unknown[], origin: AskOrigin): readonly Ask[] {
  return items.flatMap((item) => {
    const permission = isFields(item) ? permissionSchema.safeParse(renamePermissionFields(item), inEnglish) : undefined
    return permission?.success ? [toPermission(permission.data, origin)] : []
  })
}

/** Returns the valid forms of a list. Drops malformed ones. */
export function toReadForms(items: readonly unknown[]): readonly WireForm[] {
  return items.flatMap((item) => {
    const form = isFields(item) ? formSchema.safeParse(renameFormFields(item), inEnglish) : undefined
    return form?.success ? [form.data] : []
  })
}

/** Converts forms to asks. */
export function toReadQuestions(forms: readonly WireForm[], origin: AskOrigin): readonly Ask[] {
  return forms.map((form) => toQuestion(form, origin))
}

/** Returns the ids of the running sessions. Empty if the response has none. */
export function toReadActive(value: unknown): readonly string[] {
  const data = dataIn(value)
  return isFields(data) ? Object.keys(data) : []
}
