import type { Clock } from '@reply/core'
import type * as z from 'zod'
import type { LedgerStore } from '../ledger/ledger.ts'
import type { Button, Chat, MessageRef } from '../port/port.ts'
import type { ChannelSinkOptions, Sink } from '../sink.ts'
import type { SecretSource } from './bridge-config.ts'
import type { SinkPlace } from './channel-options.ts'
import type { Inbound, InboundFile } from './inbound.ts'
import type { InboundStatus } from './inbound-status.ts'
import type { Webhook } from './webhook.ts'

/** A platform as a config names it. Each channel package exports one as `bridgeChannel`. */
export interface BridgeChannel<Config = unknown> {
  /** The `type` of the channel's entry in a config: `telegram`. */
  readonly type: string
  /** The channel's entry in a config: a strict object with `type` and a description of each field. */
  readonly schema: z.ZodType<Config>
  /**
   * Checks token and settings by one call to the platform. Resolves with the bot's name, such as `@shop_bot`. Rejects
   * with an error that says what failed and the cure.
   */
  check(config: Config, host: Pick<ChannelHost, 'secret'>): Promise<CheckedChannel>
  /** Makes the connection, without a call to the platform. Rejects for unusable options, and without the client library. */
  create(config: Config, host: ChannelHost): Promise<BridgeConnection>
}

/** The result of a check. */
export interface CheckedChannel {
  /** The bot's name on the platform. */
  readonly account: string
}

/** The program that runs a channel, for example the bridge. */
export interface ChannelHost {
  /** The channel's name in the config. */
  readonly name: string
  /** Reads a secret. Throws an error with the cure if it is missing or blank. */
  secret(source: SecretSource): string
  /**
   * Called for each action of a person, in order. Awaited, for at most 5 s, before the platform is told that the action
   * was taken. After a restart the platform may repeat an action: the channel keeps no ids of its own. If it rejects with
   * a `NotTakenError`, the platform is not told, and delivers the action again where it can.
   */
  readonly onInbound: (inbound: Inbound) => unknown
  /**
   * The chats that the program works in. If the platform doesn't deliver what was written while the channel did not
   * listen, the channel reads it there. Default: none.
   */
  readonly chats?: (() => Promise<readonly KnownChat[]>) | undefined
  /** Called with each error that the channel or one of its sinks recovered from. */
  readonly onError: (error: Error) => void
  /** Told whether the channel gets what people write: see `InboundStatus`. Default: not told. */
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  /**
   * Told that the platform gave a chat another id, as when a group of Telegram becomes a supergroup: what the program
   * keeps for the chat with the id `from` belongs to the one with the id `to`. Default: not told.
   */
  readonly onMoved?: ((move: { readonly from: string; readonly to: string }) => Promise<void>) | undefined
  /** Stores what the chats show. */
  readonly store: LedgerStore
  /** The source of all times and timers. */
  readonly clock: Clock
}

/** A chat that the program works in. */
export interface KnownChat {
  /** Its `kind` may be missing. */
  readonly chat: Chat
  /** When the newest message that the program has handled was posted, in ms since the epoch. */
  readonly since: number
}

/** Defaults of a sink that the program sets for one reply. */
export type BridgeSinkOptions = Omit<ChannelSinkOptions, 'store' | 'clock' | 'onError'>

/** Both directions of one account on one platform. */
export interface BridgeConnection {
  /**
   * Begins to receive. Rejects if the platform refuses the token; other failures are reported and tried again, and so is
   * a token that the platform refuses later.
   */
  start(): Promise<void>
  /** Stops receiving. Resolves when all received actions are handled, after at most 5 s each. Sinks go on. You can call `start` again. */
  stop(): Promise<void>
  /** A sink with the config's policy and texts, and the host's store, clock and `onError`. */
  sinkFor(at: SinkPlace, options?: BridgeSinkOptions): Sink
  /**
   * Posts Markdown outside of a reply, in the chat's turn; more than one message if it is too long. Resolves with their
   * references. Retries until `Note.until` if nothing was posted, and never if something may have been. Rejects with a
   * `PortError`.
   */
  post(note: Note): Promise<readonly MessageRef[]>
  /** Replaces the text and the buttons of a message. Rejects with a `PortError`; `refused` where nothing can be edited. */
  edit(ref: MessageRef, note: Note): Promise<void>
  /** Shows the typing notice at once, without waiting for the chat's turn. Never rejects. */
  typing(chat: Chat): Promise<void>
  /** Reads a file that a person sent. Rejects with a `PortError`: `too-long` for more than `maxBytes`, while it reads. */
  download(file: InboundFile, limits: DownloadLimits): Promise<Uint8Array>
  /** Puts commands into the platform's own menu. Absent where no call sets one. */
  readonly setCommands?: ((commands: readonly BridgeCommand[]) => Promise<void>) | undefined
  /** The platform never redelivers, so an action waits until the host can take it. Default: the platform redelivers. */
  readonly deliversOnce?: true | undefined
  /** Handles the platform's requests. Absent unless the config asks for a webhook. */
  readonly webhook?: ConnectionWebhook | undefined
}

/** A connection's webhook. The program reads the bodies of the requests. */
export interface ConnectionWebhook extends Pick<Webhook, 'refuse' | 'take'> {
  /** The most bytes of a body. Default 1 MiB. */
  readonly maxBytes?: number | undefined
}

/** A message that is not part of a reply. */
export interface Note {
  /** The chat to post in. */
  readonly chat: Chat
  /** Markdown, unless it `isPlain`. People and groups named in it are not notified. */
  readonly text: string
  /** Shows the text as it is: no Markdown. Default false. */
  readonly isPlain?: boolean | undefined
  /** The message to reply to. If that is gone, the note is posted without it. */
  readonly replyTo?: MessageRef | undefined
  /**
   * Rows of buttons below the last message; left out where the platform has none. A press arrives with the `data` as
   * `token` and with `isForeign`. `data` has at most 64 bytes and may not begin like the tokens of asks.
   */
  readonly buttons?: readonly (readonly Button[])[] | undefined
  /** Posts without a notification, where the platform can. Default false. */
  readonly silent?: boolean | undefined
  /** When to give up, in ms since the epoch. Default: a minute from now. */
  readonly until?: number | undefined
  /** Gives up while the note waits. */
  readonly signal?: AbortSignal | undefined
}

/** Limits of a download. */
export interface DownloadLimits {
  /** Maximum size of the file, in bytes. */
  readonly maxBytes: number
  /** Aborts the download. */
  readonly signal?: AbortSignal | undefined
}

/** A command in the platform's menu. */
export interface BridgeCommand {
  /** Without the slash: 1 to 32 of `a-z 0-9 _`. */
  readonly name: string
  /** One line. */
  readonly description: string
}
