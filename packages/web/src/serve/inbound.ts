import { parseJson, Refusal } from '@reply/core/internal'
import * as z from 'zod'

const askID = z.string().min(1).max(500)
const digest = z.string().min(1).max(100)

const answerBody = z.object({
  askID,
  digest,
  answer: z.union([z.literal(['once', 'always']), z.array(z.array(z.string()).max(1000)).max(1000)]),
})

const rejectBody = z.object({ askID, digest: digest.optional(), message: z.string().max(10_000).optional() })

/** An answer that a page sends. */
export type AnswerBody = z.infer<typeof answerBody>

/** A rejection that a page sends. */
export type RejectBody = z.infer<typeof rejectBody>

/** Reads an answer. Throws a `Refusal`. */
export function readAnswerBody(text: string): AnswerBody {
  return read(answerBody, text)
}

/** Reads a rejection. Throws a `Refusal`. */
export function readRejectBody(text: string): RejectBody {
  return read(rejectBody, text)
}

function read<T>(schema: z.ZodType<T>, text: string): T {
  const result = schema.safeParse(parseJson(text))
  if (result.success) return result.data
  const [path = ''] = result.error.issues.map(({ path: keys }) => keys.join('.'))
  throw new Refusal(400, `The body does not have the expected form${path === '' ? '' : ` at ${path}`}.`)
}
