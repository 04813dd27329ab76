import * as z from 'zod'
import { type Policy, policySchema, textsSchema } from '../config.ts'
import { ChannelError } from '../error.ts'
import type { ChannelSinkOptions } from '../sink.ts'
import type { Texts } from '../texts.ts'
import type { BridgeSinkOptions, ChannelHost } from './bridge-channel.ts'

/** Where a secret of a config comes from. A config never contains the secret itself. */
export const secretSource = z
  .union(
    [
      z.strictObject({
        env: z
          .string()
          .regex(/^[A-Za-z_]\w*$/, 'Write the name of an environment variable, not the secret.')
          .describe('The name of an environment variable that contains the secret.'),
      }),
      z.strictObject({
        file: z.string().min(1).describe('The path of a file that contains the secret and nothing else.'),
      }),
    ],
    'Write either { "env": "NAME" } or { "file": "path" }.',
  )
  .describe('Where the secret comes from: an environment variable or a file.')

/** A reference to a secret: an environment variable or a file. */
export type SecretSource = z.infer<typeof secretSource>

/** Fields that each channel's entry in a config has in addition to its own. */
export const sinkFields = {
  policy: policySchema.optional().describe('How replies are shown.'),
  texts: textsSchema.optional().describe('Texts in place of the English ones.'),
}

/** Settings of a channel's sinks, from its entry in a config. */
export interface SinkFields {
  /** How replies are shown. */
  readonly policy?: Partial<Policy> | undefined
  /** Texts in place of the English ones. */
  readonly texts?: Partial<Texts> | undefined
}

/** Returns the options of a bridge's sink. The program's options for one reply override those of the config. */
export function sinkOptionsOf(
  { policy, texts }: SinkFields,
  { store, clock, onError }: Pick<ChannelHost, 'store' | 'clock' | 'onError'>,
  options: BridgeSinkOptions = {},
): ChannelSinkOptions {
  return {
    ...options,
    policy: { ...policy, ...options.policy },
    texts: { ...texts, ...options.texts },
    store: options.store ?? store,
    clock,
    onError: (error) => {
      options.onError?.(error)
      onError(error)
    },
  }
}

/**
 * Loads a platform's client, an optional peer dependency. If that fails for any reason, rejects with `invalid`, the command
 * that installs it, and the error as the cause.
 */
export async function loadClient<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new ChannelError('invalid', `The package ${name} can't be loaded. Install it with: npm install ${name}`, {
      cause,
    })
  }
}
