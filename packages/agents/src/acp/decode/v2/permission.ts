import { createHash } from 'node:crypto'
import { z } from 'zod'
import { type PermissionRequest as V1Request, permissionRequest as v1 } from '../v1/schema.ts'
import { type PermissionRequest as V2Request, permissionRequest as v2 } from './schema.ts'

/** A permission request of either version. */
export interface PermissionRequest extends V1Request {
  /** Its title. Absent in version 1, where the call has one. */
  readonly title?: string | undefined
  /** Why the agent asks. Absent if it doesn't say. */
  readonly description?: string | undefined
  /** Whether the agent sends no other updates for the call, because the request is about something else. */
  readonly isOwnCall?: true | undefined
}

/** Reads a permission request of either version. */
export const permissionRequest: z.ZodType<PermissionRequest> = z.union([v1, v2.transform(readV2)])

/**
 * Converts a request of version 2. A call is the request's own. A command becomes the call that it belongs to, or one of its
 * own. Any other subject becomes a call of its own that shows all of the request.
 */
function readV2({ sessionId, title, description, subject, options }: V2Request): PermissionRequest {
  const fields = { sessionId, title, description: description ?? undefined, options }
  if (subject && 'toolCall' in subject && isToolCall(subject)) return { ...fields, toolCall: subject.toolCall }
  if (subject && isCommand(subject)) {
    const { command, cwd, toolCallId } = subject
    const call = { kind: 'execute', title, rawInput: { command, cwd } }
    if (toolCallId) return { ...fields, toolCall: { ...call, toolCallId } }
    return { ...fields, toolCall: { ...call, toolCallId: idOf(subject) }, isOwnCall: true }
  }
  // Everything that is known of it, because everything that is allowed must be shown.
  const rawInput = { title, description, ...(subject && { subject }) }
  return { ...fields, toolCall: { toolCallId: idOf(rawInput), title, kind: 'other', rawInput }, isOwnCall: true }
}

type Subject = NonNullable<V2Request['subject']>

/** Whether the request is about a call. */
function isToolCall(subject: Subject): subject is Extract<Subject, { readonly type: 'tool_call' }> {
  return subject.type === 'tool_call'
}

/** Whether the request is about a command, with its folder. */
function isCommand(subject: Subject): subject is Extract<Subject, { readonly type: 'command' }> {
  return subject.type === 'command' && 'cwd' in subject
}

/** The same id for the same content, so that an ask always shows what it is about. */
function idOf(content: object): string {
  return `permission_${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16)}`
}
