import * as z from 'zod'
import { policySchema, textsSchema } from '../config.ts'

/** Where a secret of a config comes from: a config never has the secret itself. */
export const secretSource = z
  .union(
    [
      z.strictObject({
        env: z
          .string()
          .regex(/^[A-Za-z_]\w*$/, 'Write the name of an environment variable, not the secret.')
          .describe('The name of an environment variable that has the secret.'),
      }),
      z.strictObject({ file: z.string().min(1).describe('The path of a file that has the secret, and nothing else.') }),
    ],
    'Write either { "env": "NAME" } or { "file": "path" }.',
  )
  .describe('Where the secret comes from: an environment variable or a file.')

/** Where a secret comes from, as a config says it. */
export type SecretSource = z.infer<typeof secretSource>

/** The fields that a channel's entry in a config has besides its own: how its sinks show replies. */
export const sinkFields = {
  policy: policySchema.optional().describe('How replies are shown.'),
  texts: textsSchema.optional().describe('Texts in place of the English ones.'),
}
