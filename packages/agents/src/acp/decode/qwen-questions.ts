import { z } from 'zod'
import { isFields } from './call.ts'
import type { ToolUpdate } from './schema.ts'

const questions = z
  .array(
    z.object({
      question: z.string(),
      header: z.string(),
      multiSelect: z.boolean().nullish(),
      options: z.array(z.object({ label: z.string(), description: z.string().nullish() })),
    }),
  )
  .min(1)

/** The questions that Qwen Code asks as a permission (qwen-code 0.21 to 0.24). Undefined for a permission. */
export function qwenQuestionsIn({ _meta }: ToolUpdate): z.infer<typeof questions> | undefined {
  return isFields(_meta) ? questions.safeParse(_meta.qwenQuestions).data : undefined
}
