import type * as z from 'zod/mini'
import type { AskCall, PermissionAsk, QuestionAsk } from '../../../ask.ts'
import { isFields } from '../../../fields.ts'
import type { oldPermissionSchema, permissionSchema, questionSchema } from './schema.ts'

/** When and for which directory an ask was read. */
export interface AskOrigin {
  /** In ms since the epoch. */
  readonly at: number
  /** The directory of the frame or of the list. */
  readonly directory: string | undefined
}

/** Converts a question. Absent texts become empty, and a custom answer is allowed by default. */
export function toQuestion(wire: z.infer<typeof questionSchema>, origin: AskOrigin): QuestionAsk {
  return {
    ...askFields(wire, wire.tool, origin),
    type: 'question',
    questions: wire.questions.map((question) => ({
      header: question.header ?? '',
      question: question.question,
      options: (question.options ?? []).map(({ label, description }) => ({ label, description: description ?? '' })),
      multiple: question.multiple === true,
      custom: question.custom !== false,
    })),
  }
}

/**
 * Converts a permission. Its title is its name with its patterns. Absent "always" patterns and metadata are empty. A
 * single literal, because spreading takes longer than parsing the whole frame.
 */
export function toPermission(wire: z.infer<typeof permissionSchema>, { at, directory }: AskOrigin): PermissionAsk {
  const ask: PermissionAsk = {
    requestID: wire.id,
    sessionID: wire.sessionID,
    directory,
    path: [wire.sessionID],
    callID: wire.tool?.callID,
    messageID: wire.tool?.messageID,
    status: 'pending',
    askedAt: at,
    type: 'permission',
    permission: wire.permission,
    patterns: wire.patterns,
    always: wire.always ?? [],
    title: titleFor(wire.permission, wire.patterns),
    metadata: wire.metadata ?? {},
  }
  const call = repeatedCall(wire)
  return call ? { ...ask, call } : ask
}

/**
 * Returns the call that a permission to repeat the same call a third time names. Undefined for other permissions and
 * for unreadable metadata. It has the call in its metadata instead of a field (OpenCode's `session/processor.ts`).
 */
function repeatedCall({ permission, tool: place, metadata }: z.infer<typeof permissionSchema>): AskCall | undefined {
  if (permission !== 'doom_loop' || place) return undefined
  const { tool, input } = metadata ?? {}
  return typeof tool === 'string' && isFields(input) ? { tool, input } : undefined
}

/**
 * Converts a permission in the format of servers up to 1.0.223. Its "always" patterns are its own patterns, because
 * that format has no others. Names its call only if it has both ids. Without a title, it gets its name with its
 * patterns.
 */
export function toOldPermission(wire: z.infer<typeof oldPermissionSchema>, origin: AskOrigin): PermissionAsk {
  const call =
    wire.messageID === undefined || wire.callID === undefined
      ? undefined
      : { messageID: wire.messageID, callID: wire.callID }
  const askedPatterns = wire.pattern ?? []
  return {
    ...askFields(wire, call, origin),
    type: 'permission',
    permission: wire.type,
    patterns: askedPatterns,
    always: askedPatterns,
    title: wire.title ?? titleFor(wire.type, askedPatterns),
    metadata: wire.metadata ?? {},
  }
}

/** Returns the fields that all asks have. The ask is pending, and was asked when it was read. */
function askFields(
  wire: { id: string; sessionID: string },
  call: { messageID: string; callID: string } | undefined,
  { at, directory }: AskOrigin,
) {
  return {
    requestID: wire.id,
    sessionID: wire.sessionID,
    directory,
    path: [wire.sessionID],
    callID: call?.callID,
    messageID: call?.messageID,
    status: 'pending' as const,
    askedAt: at,
  }
}

/** Returns the permission's name, with the patterns if there are any. */
function titleFor(permission: string, patterns: readonly string[]): string {
  return patterns.length === 0 ? permission : `${permission}: ${patterns.join(', ')}`
}
