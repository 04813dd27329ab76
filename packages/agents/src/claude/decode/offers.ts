import * as z from 'zod'

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

/** Returns the slash commands and models that Claude Code lists when it starts. Both are empty for another shape. */
export function offersIn(value: unknown): z.infer<typeof initialized> {
  return initialized.safeParse(value).data ?? { commands: [], models: [] }
}
