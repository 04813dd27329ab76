import * as z from 'zod'

const asked = z.object({
  questions: z.array(
    z.object({
      question: z.string(),
      header: z.string().default(''),
      multiSelect: z.boolean().default(false),
      options: z.array(z.object({ label: z.string(), description: z.string().default('') })).default([]),
    }),
  ),
})

/** The questions in the input of AskUserQuestion. Empty if it has another shape. */
export function questionsIn(input: unknown): z.infer<typeof asked>['questions'] {
  return asked.safeParse(input).data?.questions ?? []
}

const initialized = z.object({
  commands: z
    .array(
      z.object({
        name: z.string(),
        description: z
          .string()
          .nullish()
          .transform((description) => description ?? undefined),
      }),
    )
    .default([]),
  models: z
    .array(
      z.object({ value: z.string(), displayName: z.string(), supportedEffortLevels: z.array(z.string()).default([]) }),
    )
    .default([]),
})

/** What Claude Code says of itself when it starts: its slash commands and models. */
export function offersIn(value: unknown): z.infer<typeof initialized> {
  return initialized.safeParse(value).data ?? { commands: [], models: [] }
}
