import { z } from 'zod'

const text = z.string().nullish()
const choice = z.object({ const: z.string(), title: text, description: text })

/** One field of a form. Its other properties are kept. */
const property = z.looseObject({
  type: text,
  title: text,
  description: text,
  enum: z.array(z.string()).nullish(),
  oneOf: z.array(choice).nullish(),
  items: z.object({ enum: z.array(z.string()).nullish(), anyOf: z.array(choice).nullish() }).nullish(),
})
export type Property = z.infer<typeof property>

/** The schema of a form, as MCP's elicitations have it: https://modelcontextprotocol.io/specification/draft/client/elicitation */
export const formSchema = z.object({
  properties: z.record(z.string(), property).nullish(),
  required: z.array(z.string()).nullish(),
})
export type FormSchema = z.infer<typeof formSchema>

const codexNote = z.object({ codex: z.object({ role: z.literal('user_note'), questionId: z.string() }) })

/** The name of the question that a text field of codex-acp annotates. Undefined for other fields, and for no field. */
export function questionOfNote(field: Property | undefined): string | undefined {
  return codexNote.safeParse(field?._meta).data?.codex.questionId
}
