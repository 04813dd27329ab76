import type * as z from 'zod/mini'
import type { MessageHead, SessionEvent } from '../../../event.ts'
import { fieldsOf } from '../../../fields.ts'
import type { ReplyFailure, Tokens } from '../../../part.ts'
import { changeOfFields } from '../../../show/changes.ts'
import { sentenceOf } from '../../../text/sentence.ts'
import type { failureSchema, headSchema, sessionSchema } from './schema.ts'

/**
 * Converts a message without its parts. Only an assistant's can be a summary. Without an `agent`, older servers name it
 * as `mode`.
 */
export function toHead(wire: z.infer<typeof headSchema>): MessageHead {
  return {
    id: wire.id,
    role: wire.role,
    summary: wire.role === 'assistant' && wire.summary === true,
    parentID: wire.parentID,
    createdAt: wire.time?.created,
    completedAt: wire.time?.completed,
    finish: wire.finish,
    error: wire.error && toFailure(wire.error),
    tokens: wire.tokens && toTokens(wire.tokens),
    cost: wire.cost,
    output: wire.structured,
    agent: wire.agent ?? wire.mode,
    model: toModel(wire),
    changes: wire.role === 'user' ? toChanges(wire.summary) : undefined,
    raw: wire,
  }
}

/**
 * Converts the `diffs` in the summary of a user message: what its run changed, as the server's snapshots show it. Servers up
 * to 1.2 send both texts of each file, and later ones a patch. Empty in a folder without Git, and for a run that changed
 * nothing. Undefined without the list.
 */
function toChanges(summary: unknown): MessageHead['changes'] {
  const diffs = fieldsOf(summary)?.diffs
  return Array.isArray(diffs) ? diffs.flatMap(changeOfFields) : undefined
}

/** Converts a count of tokens. Absent numbers become 0. */
export function toTokens(wire: NonNullable<z.infer<typeof headSchema>['tokens']>): Tokens {
  return {
    input: wire.input,
    output: wire.output,
    reasoning: wire.reasoning ?? 0,
    cacheRead: wire.cache?.read ?? 0,
    cacheWrite: wire.cache?.write ?? 0,
  }
}

/** Converts a session's fields except for its id. */
export function toSessionFields(
  wire: z.infer<typeof sessionSchema>,
): Omit<SessionEvent, 'type' | 'at' | 'raw' | 'sessionID'> {
  return {
    parentID: wire.parentID ?? undefined,
    title: wire.title,
    directory: wire.directory,
    createdAt: wire.time?.created,
    revertedTo: wire.revert?.messageID,
  }
}

/**
 * Converts a message's model, which users' messages have as an object and assistants' as two fields. Undefined without
 * one.
 */
function toModel(wire: z.infer<typeof headSchema>): MessageHead['model'] {
  if (wire.model) return { providerID: wire.model.providerID, modelID: wire.model.modelID }
  if (wire.providerID === undefined || wire.modelID === undefined) return undefined
  return { providerID: wire.providerID, modelID: wire.modelID }
}

/**
 * Converts a wire error to the model. Its message is the provider's or the server's as one sentence, or empty if there
 * is none. Without a name, it is an `UnknownError`. `raw` has everything.
 */
export function toFailure(wire: z.infer<typeof failureSchema>): ReplyFailure {
  return {
    name: wire.name ?? 'UnknownError',
    message: sentenceOf(wire.data?.message ?? wire.message ?? ''),
    statusCode: wire.data?.statusCode,
    retryable: wire.data?.isRetryable,
    raw: wire,
  }
}
