import type { Clock } from '@reply/core'
import type * as z from 'zod'
import type { SharedBudget } from '../deliver/shared-budget.ts'
import type { LedgerStore } from '../ledger/ledger.ts'
import type { Actor } from '../port/actor.ts'
import type { Button, Chat, MessageRef } from '../port/port.ts'
import type { ChannelSinkOptions, Sink } from '../sink.ts'
import type { SecretSource } from './bridge-config.ts'
import type { SinkPlace } from './channel-options.ts'
import type { Inbound, InboundFile } from './inbound.ts'
import type { InboundStatus } from './reconnect-back-off.ts'
import type { Webhook } from './webhook.ts'

/** A channel that a bridge can load from its config. Each channel package exports one as `bridgeChannel`. */
export interface BridgeChannel<Config = unknown> {
  /** The `type` of the channel's entry in a config, for example `telegram`. */
  readonly type: string
  /** Parses the channel's entry in a config: a strict object with `type`. Each field has a description. */
  readonly schema: z.ZodType<Config>
  /**
   * Checks the token and the settings with one call to the platform. Resolves with the bot's name, for example
   * `@shop_bot`. Rejects with an error that says what failed and how to fix it.
   */
  check(config: Config, host: Pick<ChannelHost, 'secret'>): Promise<CheckedChannel>
  /**
   * Creates the connection without a call to the platform. Rejects for invalid options or if the client library is missing.
   */
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
  /** Reads a secret. If it is missing or blank, throws an error that says how to fix it. */
  secret(source: SecretSource): string
  /**
   * Called for each action of a person, in order. The channel waits up to 5 s for it before it acknowledges the action.
   * After a restart the platform may deliver an action again, and the channel does not detect that. If it rejects with a
   * `NotTakenError`, the action is not acknowledged, so the platform delivers it again where it can. `id` is the same then,
   * also in another process. It is unique among the actions of the channel.
   */
  readonly onInbound: (inbound: Inbound, id: string) => unknown
  /**
   * Returns the chats that the program uses. If the platform doesn't deliver messages from while the channel was stopped,
   * the channel reads them from these chats. Default: none.
   */
  readonly chats?: (() => Promise<readonly KnownChat[]>) | undefined
  /** Called with each error that the channel or one of its sinks recovered from. */
  readonly onError: (error: Error) => void
  /** Called when the channel starts or stops receiving. See `InboundStatus`. */
  readonly onInboundStatus?: ((status: InboundStatus) => void) | undefined
  /**
   * Called when the platform changes the id of a chat that is not private, for example when a Telegram group becomes a supergroup.
   * Move what you store for the id `from` to the id `to`.
   */
  readonly onMoved?: ((move: { readonly from: string; readonly to: string }) => Promise<void>) | undefined
  /**
   * Passes a fact about chats, as JSON, to `BridgeConnection.learn` of the processes that work in these chats, unless this one
   * works in all of them. Call it with what only the process that received a webhook knows, for example that a message was
   * delivered. Resolves once the fact is stored for them. If that is not done soon, rejects with a `NotTakenError`: don't
   * acknowledge the webhook then. Default: there is only one process.
   */
  readonly share?: ((chats: readonly Chat[], fact: unknown) => Promise<void>) | undefined
  /**
   * Called when the platform reports that it could not deliver a message of the account, also long after the reply with it is over.
   * Called once for each message.
   */
  readonly onUndelivered?: ((chat: Chat, message: MessageRef) => void) | undefined
  /** Stores what the chats show, unless a sink has a store of its own. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** The source of all times and timers. */
  readonly clock: Clock
}

/** A chat that the program uses. */
export interface KnownChat {
  /** Its `kind` may be missing. */
  readonly chat: Chat
  /** When the newest message that the program had handled before `chats` was called was posted, in ms since the epoch. */
  readonly since: number
}

/** Options that the program sets for the sink of one reply. `onError` is called before that of the host. */
export type BridgeSinkOptions = Omit<ChannelSinkOptions, 'clock'>

/** Both directions of one account on one platform. */
export interface BridgeConnection {
  /**
   * Which of several processes with the same account may be started at the same time. `anywhere`: all of them. The platform
   * or a load balancer gives each event to one of them, and may repeat it at another. `one`: one of them, because the
   * platform lets only one receive, or gives each event to all.
   */
  readonly listens: 'anywhere' | 'one'
  /**
   * Where everything but receiving works. `anywhere`: in each process, before `start`, after `stop` and without either.
   * `listener`: while started. At other times `post` and `edit` reject at once, and calls of sinks fail, with a `PortError`
   * of type `unreachable`.
   */
  readonly posts: 'anywhere' | 'listener'
  /**
   * Checks the token with one call, without receiving. Rejects if the platform refuses it. Resolves if the platform can't
   * be reached. `start` does this first, so call it in a process that is not to receive.
   */
  check(): Promise<void>
  /**
   * Begins to receive. Does nothing if it has begun. Rejects if the platform refuses the token. Other failures are reported
   * and retried, and so is a token that the platform refuses later.
   */
  start(): Promise<void>
  /**
   * Stops receiving, or prevents a `start` that is pending. Resolves when all received actions are handled, after at most
   * 5 s each, and confirmed where the platform needs that. Sinks continue, and you can call `start` again.
   */
  stop(): Promise<void>
  /** Creates a sink with the config's policy and texts, and the host's clock, `onError` and, by default, store. */
  sinkFor(at: SinkPlace, options?: BridgeSinkOptions): Sink
  /**
   * Posts Markdown that is not part of a reply, within the chat's budget. A long text becomes several messages. Resolves
   * with their references. Retries until `Note.until` if certainly nothing was posted, otherwise never. Rejects with a
   * `PortError`, for example a `FileRefusal` for a file that the platform doesn't take.
   */
  post(note: Note): Promise<readonly MessageRef[]>
  /** Replaces a message's text and buttons. Rejects with a `PortError`, of type `refused` where messages can't be edited. */
  edit(ref: MessageRef, note: Note): Promise<void>
  /** Shows the typing notice at once, without waiting for the chat's budget. Never rejects. */
  typing(chat: Chat): Promise<void>
  /**
   * Returns a link that opens a message of the chat in the platform's app, or what is nearest to it: `https`, and without secrets.
   * Without a message, one that opens the chat. Undefined if the platform has none for this chat. Never rejects. Absent if it has none
   * at all.
   */
  readonly linkTo?:
    | ((chat: Chat, message: MessageRef | undefined) => string | undefined | Promise<string | undefined>)
    | undefined
  /** People can't reply to a single message on the platform, so no text has a `replyTo`. Default: they can. */
  readonly hasNoReplies?: true | undefined
  /** Downloads a file that a person sent. Rejects with a `PortError`, of type `too-long` as soon as it exceeds `maxBytes`. */
  download(file: InboundFile, limits: DownloadLimits): Promise<Uint8Array>
  /** Sets the commands in the platform's own menu. Absent if the platform has no call for it. */
  readonly setCommands?: ((commands: readonly BridgeCommand[]) => Promise<void>) | undefined
  /**
   * The platform's rate limits of the account, by name. If several processes use the account, divide each limit among them.
   * All calls of the connection count: sinks, notes, answers, and typing where the platform counts it. Empty if the account
   * has no limit.
   */
  readonly budgets: Readonly<Record<string, SharedBudget>>
  /** The platform never redelivers, so an action waits until the host can handle it. Default: the platform redelivers. */
  readonly deliversOnce?: true | undefined
  /**
   * Records a fact that another process passed to `ChannelHost.share`. It may be unreadable, late, or given more than once. Absent
   * if the connection shares none.
   */
  readonly learn?: ((fact: unknown) => void) | undefined
  /** Handles the platform's webhook requests. Absent unless the config defines a webhook. */
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
  /** Markdown, unless `isPlain` is set. People and groups mentioned in it are not notified. */
  readonly text: string
  /** People to notify: the first message mentions them, on platforms with mentions. Default: no one is mentioned. */
  readonly mentions?: readonly Actor[] | undefined
  /** A file to post instead of a message, with `text` as its caption: plain text in one line. It has no buttons. */
  readonly file?: NoteFile | undefined
  /** Whether to show the text as it is instead of as Markdown. Default false. */
  readonly isPlain?: boolean | undefined
  /** The message to reply to. If that is gone, the note is posted without it. */
  readonly replyTo?: MessageRef | undefined
  /**
   * Rows of buttons below the last message. Left out where the platform has no buttons. A press arrives with the `data` as
   * its `token` and with `isForeign`. `data` has at most 64 bytes and must not begin with `r~`, as the tokens of asks do.
   */
  readonly buttons?: readonly (readonly Button[])[] | undefined
  /** Posts without a notification, where the platform can. Default false. */
  readonly silent?: boolean | undefined
  /** When to give up, in ms since the epoch. Default: a minute from now. */
  readonly until?: number | undefined
  /** Cancels the note while it waits. */
  readonly signal?: AbortSignal | undefined
}

/** A file of a note. */
export interface NoteFile {
  /** Any name: it is made safe, see `safeFileName`. */
  readonly name: string
  /** Its media type. Default `text/plain`. */
  readonly mime?: string | undefined
  /** Its content. */
  readonly bytes: Uint8Array
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
