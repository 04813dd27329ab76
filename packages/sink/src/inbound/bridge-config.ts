import * as z from 'zod'
import { type Policy, policySchema, textsSchema } from '../config.ts'
import { ChannelError } from '../error.ts'
import type { ChannelSinkOptions } from '../sink.ts'
import type { Texts } from '../texts.ts'
import type { BridgeSinkOptions, ChannelHost } from './bridge-channel.ts'

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

/** What the config of each channel may say of its sinks. */
export interface SinkFields {
  /** How replies are shown. */
  readonly policy?: Partial<Policy> | undefined
  /** Texts in place of the English ones. */
  readonly texts?: Partial<Texts> | undefined
}

/** The options of a bridge's sink: the program's for one reply, else those of the config, and the host's. */
export function sinkOptionsOf(
  { policy, texts }: SinkFields,
  { store, clock, onError }: Pick<ChannelHost, 'store' | 'clock' | 'onError'>,
  options: BridgeSinkOptions = {},
): ChannelSinkOptions {
  return {
    ...options,
    policy: { ...policy, ...options.policy },
    texts: { ...texts, ...options.texts },
    store,
    clock,
    onError,
  }
}

/** Loads a platform's client, which is an optional peer. Rejects with an error that says how to install it. */
export async function loadClient<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new ChannelError('invalid', `The package ${name} can't be loaded. Install it: npm install ${name}.`, {
      cause,
    })
  }
}
