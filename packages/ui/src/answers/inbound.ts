import { ReplyError } from '@reply/core'
import { z } from 'zod'
import { fieldOf } from '../fields.ts'
import { maxParts } from '../project/inbound.ts'

/** An answer as a page sent it. Nothing in it is checked against the reply yet. */
export type Given =
  /** To a permission, by the id of its approval. */
  | {
      readonly type: 'approval'
      readonly id: string
      readonly approved: boolean
      readonly reason: string | undefined
    }
  /** To the questions of a tool part. Without `answers` if they were rejected. `shown` is the input that the page has. */
  | {
      readonly type: 'tool'
      readonly toolCallId: string
      readonly answers: readonly (readonly string[])[] | undefined
      readonly shown: unknown
    }
  /** To any ask, by the id in its data. */
  | {
      readonly type: 'body'
      readonly id: string
      readonly answer: 'once' | 'always' | 'reject' | readonly (readonly string[])[]
      readonly message: string | undefined
    }

/** More characters than any id that this package makes. */
const maxIdLength = 1024
const idSchema = z.string().max(maxIdLength)

const listsSchema = z.array(z.array(z.string()))

const approvalSchema = z.object({
  type: z.literal('dynamic-tool'),
  state: z.literal('approval-responded'),
  approval: z.object({ id: idSchema, approved: z.boolean(), reason: z.string().optional() }),
})

const answeredSchema = z.object({
  type: z.literal('dynamic-tool'),
  toolCallId: idSchema,
  state: z.literal('output-available'),
  preliminary: z.literal(false).optional(),
  output: z.unknown(),
})

const rejectedSchema = z.object({
  type: z.literal('dynamic-tool'),
  toolCallId: idSchema,
  state: z.literal('output-error'),
})

const bodySchema = z.object({
  messages: z.array(z.unknown()).optional(),
  answers: z
    .array(
      z.object({
        id: idSchema,
        answer: z.union([z.enum(['once', 'always', 'reject']), listsSchema]),
        message: z.string().optional(),
      }),
    )
    .max(1000)
    .optional(),
})

const messageSchema = z.object({ role: z.literal('assistant'), parts: z.array(z.unknown()) })

/** Reads the answers in the body of a POST: those of its last message, if the assistant wrote it, and those in `answers`. */
export function givenIn(body: unknown): readonly Given[] {
  const parsed = bodySchema.safeParse(body)
  if (!parsed.success)
    throw new ReplyError(
      'invalid',
      'The body must be { messages, answers }, with answers as [{ id, answer }]. An answer is "once", "always", "reject" or a list of answers for each question.',
    )
  const { messages = [], answers = [] } = parsed.data
  const last = messageSchema.safeParse(messages.at(-1)).data
  if (last && last.parts.length > maxParts)
    throw new ReplyError('invalid', `The last message has more than ${maxParts} parts. Send it as the page got it.`)
  return [
    ...(last?.parts ?? []).flatMap(givenAt),
    ...answers.map(({ id, answer, message }) => ({ type: 'body' as const, id, answer, message })),
  ]
}

/** The answer at one part of a message. A tool's output may be the agent's own. */
function givenAt(part: unknown): readonly Given[] {
  if (fieldOf(part, 'type') !== 'dynamic-tool') return []
  switch (fieldOf(part, 'state')) {
    case 'approval-responded': {
      const approval = approvalSchema.safeParse(part).data?.approval
      return approval
        ? [{ type: 'approval', id: approval.id, approved: approval.approved, reason: approval.reason }]
        : []
    }
    case 'output-available': {
      // The agent's own output is a text.
      if (typeof fieldOf(part, 'output') === 'string') return []
      const answered = answeredSchema.safeParse(part).data
      if (!answered) return []
      const answers = listsSchema.safeParse(answered.output).data ?? []
      return [{ type: 'tool', toolCallId: answered.toolCallId, answers, shown: fieldOf(part, 'input') }]
    }
    case 'output-error': {
      const rejected = rejectedSchema.safeParse(part).data
      const shown = fieldOf(part, 'input')
      return rejected ? [{ type: 'tool', toolCallId: rejected.toolCallId, answers: undefined, shown }] : []
    }
    default:
      return []
  }
}
