import type * as z from 'zod/mini'
import type { AskCall, PermissionAsk, QuestionAsk } from '../../../ask.ts'
import { isFields } from '../../../fields.ts'
import type { oldPermissionSchema, permissionSchema, questionSchema } from './schema.ts'

/** When and for which directory an ask was read. */
export interface Seen {
  /** In ms since the epoch. */
  readonly at: number
  /** The directory of the frame or of the list. */
  readonly directory: string | undefined
}

export function toQuestion(wire: z.infer<typeof questionSchema>, seen: Seen): QuestionAsk {
  return {
    ...pending(wire, wire.tool, seen),
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

/** A single literal, because spreading takes longer than parsing the whole frame. */
export function toPermission(wire: z.infer<typeof permissionSchema>, { at, directory }: Seen): PermissionAsk {
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
    title: titleOf(wire.permission, wire.patterns),
    metadata: wire.metadata ?? {},
  }
  const call = loopingCall(wire)
  return call ? { ...ask, call } : ask
}

/**
 * The permission to repeat the same call a third time has the call in its metadata instead of a field (OpenCode's
 * `session/processor.ts`).
 */
function loopingCall({ permission, tool: place, metadata }: z.infer<typeof permissionSchema>): AskCall | undefined {
  if (permission !== 'doom_loop' || place) return undefined
  const { tool, input } = metadata ?? {}
  return typeof tool === 'string' && isFields(input) ? { tool, input } : undefined
}

/** The format of servers up to 1.0.223. */
export function toOldPermission(wire: z.infer<typeof oldPermissionSchema>, seen: Seen): PermissionAsk {
  const call =
    wire.messageID === undefined || wire.callID === undefined
      ? undefined
      : { messageID: wire.messageID, callID: wire.callID }
  const asked = wire.pattern ?? []
  return {
    ...pending(wire, call, seen),
    type: 'permission',
    permission: wire.type,
    patterns: asked,
    always: asked,
    title: wire.title ?? titleOf(wire.type, asked),
    metadata: wire.metadata ?? {},
  }
}

function pending(
  wire: { id: string; sessionID: string },
  call: { messageID: string; callID: string } | undefined,
  { at, directory }: Seen,
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

function titleOf(permission: string, asked: readonly string[]): string {
  return asked.length === 0 ? permission : `${permission}: ${asked.join(', ')}`
}
