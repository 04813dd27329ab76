import type { Policy } from '../config.ts'
import { ChannelError } from '../error.ts'
import type { ChannelSinkOptions } from '../sink.ts'
import type { Texts } from '../texts.ts'
import type { BridgeSinkOptions, ChannelHost } from './bridge-channel.ts'

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
    ...{ store, clock, onError },
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
