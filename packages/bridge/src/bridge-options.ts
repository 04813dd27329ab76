import type { Client, Clock } from '@reply/core'
import type { WebhookAnswer, WebhookRequest } from '@reply/sink'
import type { BridgeConnection, ChannelHost, Hearing, Webhook } from '@reply/sink/channel'
import type { SecretSource, WebhookHead } from '@reply/sink/internal'
import type { LoadChannel } from './channel-loader.ts'
import type { BridgeConfig } from './config/schema.ts'
import type { BridgeError } from './error.ts'
import type { BridgeObserver } from './events/emit.ts'
import type { Store } from './store/store.ts'

/** Makes the connection of a channel, without a call to its platform. */
export type Connect = (host: ChannelHost) => BridgeConnection | Promise<BridgeConnection>

/** What a bridge is made of. */
export interface BridgeOptions {
  /** A checked config: `parseConfig` or `loadConfig` gives one. */
  readonly config: BridgeConfig
  /** Where everything is kept that must survive a restart. The bridge closes it. */
  readonly store: Store
  /** Reads the config's secrets. Default: from the process's environment, and from files below the working directory. */
  readonly secret?: ((source: SecretSource) => string) | undefined
  /**
   * Absolute paths of files and folders that no agent may reach, such as the config, the state and the files of secrets:
   * `loadConfig` lists them. A prompt whose session works where it reaches one is refused. Default: none.
   */
  readonly ownPaths?: readonly string[] | undefined
  /** Gets failures that the bridge goes on after. Default: they are dropped. */
  readonly onError?: ((error: Error) => void) | undefined
  /** Gets what an operator wants to know: started, waiting for another process, stopped. Default: nothing. */
  readonly onNotice?: ((notice: string) => void) | undefined
  /** Get what happens, for logs, metrics and traces: see `bridgeLog`. What they throw is reported. */
  readonly observers?: readonly BridgeObserver[] | undefined
  /** Called when the bridge can't go on, because another process took over its state: for no other reason. */
  readonly onEnd?: ((error: BridgeError) => void) | undefined
  /** Loads channels. Default: `@reply/<type>`. */
  readonly load?: LoadChannel | undefined
  /**
   * Channels with clients of the program's own, by their names in the config: `telegramConnection` and the like of the
   * channel packages make them. Of such a channel's entry in the config, only `policy` and `words` are read. Default: none.
   */
  readonly connections?: Readonly<Record<string, Connect>> | undefined
  /** Makes the connection to a server of the config. Default: the core's `connect`. */
  readonly connectTo?: ((name: string) => Client) | undefined
  /** Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Numbers from 0 to 1 for the ids of runs. Default Math.random. */
  readonly random?: (() => number) | undefined
}

/** What a bridge does now. */
export interface BridgeStatus {
  /**
   * `starting` until it hears the chats, also while it waits for another process; `ready` while it hears all of them; `deaf`
   * while a channel gets nothing and tries again; `stalled` while it makes no calls, as it can't write its state; `stopped`
   * once `stop` was called.
   */
  readonly state: 'starting' | 'ready' | 'deaf' | 'stalled' | 'stopped'
  /** What is wrong now, a sentence each, without secrets. Empty if nothing is. */
  readonly problems: readonly string[]
  /**
   * Each channel by its name, once it listens. A channel that hears by requests, or by a client of the program's own,
   * always counts as hearing.
   */
  readonly channels: Readonly<Record<string, Hearing>>
}

/** Chats and servers, connected. */
export interface Bridge {
  /**
   * Takes over the state, finds again what an earlier process left, then hears the chats. Rejects if the config does not
   * fit a channel, or if a platform refuses its token.
   */
  start(): Promise<void>
  /** What it does now, what is wrong, and which channels hear. */
  status(): BridgeStatus
  /** Hears nothing more, and resolves when all is written down, within 10 s. What runs on the servers goes on. */
  stop(): Promise<void>
  /**
   * Replaces the people and their rights, with effect on everything that is decided from then on: new messages, waiting
   * prompts, and presses on messages that are already on a screen. Throws `BridgeError` of type `config` for a list that
   * the config could not have, and then keeps the one before. `openBridge` calls it when its file changes.
   */
  setPeople(people: BridgeConfig['people']): void
  /** The channels that hear by requests: the host passes those to `webhook`. Known once it has started. */
  webhooks(): readonly string[]
  /** Refuses a request by its head, for hosts that read bodies themselves. Undefined: read its body, and call `webhook`. */
  refuse(channel: string, head: WebhookHead): WebhookAnswer | undefined
  /** Handles a request from the platform of a channel. 404 for a channel without webhooks, 503 before the start. */
  webhook(channel: string, request: WebhookRequest): Promise<WebhookAnswer>
  /** The same as a `node:http` request listener. */
  listener(channel: string): Webhook['listener']
  /** The same for frameworks with the web's own requests: Hono, Next, Bun, Deno. */
  fetch(channel: string): Webhook['fetch']
}
