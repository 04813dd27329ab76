import type { Outcome } from '@reply/core'
import type { PermissionReply } from '@reply/core/internal'
import type { NoticeKind } from '@reply/sink/channel'

/** Where and when something happened. Ids are the platform's. No event contains what people or agents wrote. */
export interface EventPlace {
  /** In ms since the epoch. */
  readonly at: number
  /** The channel's name in the config. */
  readonly channel: string
  /** The chat's id on the platform. */
  readonly chat: string
  /** The thread's id. Absent outside threads. */
  readonly thread?: string | undefined
}

/** A person sent a message, pressed a button, stopped a run, or did something on its page. */
export interface InboundEvent extends EventPlace {
  readonly type: 'inbound'
  /** A message, a press of a button, the platform's own Stop button, or an answer or stop on the page of a run. */
  readonly kind: 'text' | 'press' | 'stop' | 'page'
  /** The actor's id on the platform. */
  readonly actorID: string
  /** The message that was written, or whose button was pressed. Absent for a stop and on a page. */
  readonly messageID?: string | undefined
  /**
   * - `taken`: a message that was stored.
   * - `repeated`: a message that had been taken before.
   * - `handled`: a press or a stop.
   * - `ignored`: a message that was not meant for the bot.
   * - `refused`: see `why`.
   * - `postponed`: this process has too much to receive or can't write the state, so the platform has to deliver it again.
   */
  readonly verdict: 'taken' | 'repeated' | 'handled' | 'ignored' | 'refused' | 'postponed'
  /** Why it was refused. Absent otherwise. */
  readonly why?: string | undefined
}

/**
 * How a run began:
 * - `chat`: by a message of its chat.
 * - `agent`: by the agent itself, for example when a sub-agent in the background was done.
 * - `elsewhere`: by another client of the server, for example a terminal. Its chat follows it.
 */
export type RunStart = 'chat' | 'agent' | 'elsewhere'

/** A run started, was found after a restart, or ended. */
export interface RunEvent extends EventPlace {
  readonly type: 'run'
  readonly started: RunStart
  /** `posted`: it is being sent to the server. `found`: found after a restart. `ended`: it ended. */
  readonly phase: 'posted' | 'found' | 'ended'
  /** The run's id, as people see it in the chat. */
  readonly executionID: string
  /** The id of the prompt's author on the platform. */
  readonly actorID: string
  /** The message with the prompt. */
  readonly messageID: string
  /** The server's name in the config. */
  readonly server: string
  /** Absent if it ended before it had a session. */
  readonly sessionID?: string | undefined
  /** How it ended. Absent before that, and if the run had no reply. */
  readonly outcome?: Outcome | undefined
  /** Why it failed. Absent otherwise. May quote the server. */
  readonly reason?: string | undefined
  readonly times: RunTimes
}

/** Times since the message with the prompt was received, or since the chat showed a run without one, in ms. Each is absent until it happened. */
export interface RunTimes {
  /** When it was posted to the server. */
  readonly postedMs?: number | undefined
  /** When the first output of the agent arrived. */
  readonly firstByteMs?: number | undefined
  /** When the run ended. */
  readonly endedMs?: number | undefined
}

/** A question or permission request was asked, answered, rejected or withdrawn. Several chats may show it, each with its own events. */
export interface AskEvent extends EventPlace {
  readonly type: 'ask'
  /** How its run began. */
  readonly started: RunStart
  /** What happened. `withdrawn`: it ended without an answer, for example because the run was stopped. */
  readonly phase: 'asked' | 'answered' | 'rejected' | 'withdrawn'
  /** The type of the ask. */
  readonly askType: 'question' | 'permission'
  /** The ask's id on the server. */
  readonly requestID: string
  /** The run that waits for it. */
  readonly executionID: string
  /** The session that asks: the run's own, or that of a sub-agent. */
  readonly sessionID: string
  /** The answer to a permission request. Absent for a question, while it is pending, and if it was withdrawn. */
  readonly decision?: PermissionReply | undefined
  /** The id on the platform of the person who answered. Absent if it was answered elsewhere. */
  readonly actorID?: string | undefined
  /** The channel of that person, by its name in the config. Differs from `channel` if a mirror answered. */
  readonly actorChannel?: string | undefined
  /** How long it was pending, in ms. Absent while it is. */
  readonly waitedMs?: number | undefined
}

/** A run that was started elsewhere asks something, and there is no chat to show it. */
export interface UnshownEvent {
  readonly type: 'unshown'
  /** In ms since the epoch. */
  readonly at: number
  /** The server's name in the config. */
  readonly server: string
  /** The session that asks: the run's own, or that of a sub-agent. */
  readonly sessionID: string
  /** The type of the ask. */
  readonly askType: 'question' | 'permission'
  /** The ask's id on the server. */
  readonly requestID: string
}

/** A reply was delivered: the chat shows all of it that could be shown. */
export interface DeliveryEvent extends EventPlace {
  readonly type: 'delivery'
  /** How its run began. */
  readonly started: RunStart
  /** The run of the reply. */
  readonly executionID: string
  /** Absent if it ended before it had a session. */
  readonly sessionID?: string | undefined
  /** How many messages the chat shows. */
  readonly shown: number
  /** How many messages the chat does not show. */
  readonly undelivered: number
  /** How many posts the platform did not confirm. */
  readonly doubtful: number
  /** How many calls to the platform it took. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
  /**
   * From the person's message to the first message of the reply in the chat, in ms. Of a run without one: from when the chat began to
   * show it. Absent if the chat shows none.
   */
  readonly firstShownMs?: number | undefined
  /** To the end of the delivery, in ms, from the same time. */
  readonly deliveredMs: number
}

/** A notice to a person who was away was sent, or given up. */
export interface NoticeEvent extends EventPlace {
  readonly type: 'notice'
  /** What it was about. */
  readonly kind: NoticeKind
  /** The channel for notices, by its name in the config. */
  readonly to: string
  /** The run that it was about. */
  readonly executionID: string
  /**
   * - `sent`: the receiver's server confirmed it.
   * - `refused`: the server refused it.
   * - `unconfirmed`: the server did not confirm it twice, so it may have arrived.
   * - `expired`: it could not be sent within an hour.
   */
  readonly result: 'sent' | 'refused' | 'unconfirmed' | 'expired'
  /** How many of its calls had no result: each may have sent it. */
  readonly doubtful: number
}

/** A voice note was transcribed, or was not understood. */
export interface TranscriptionEvent extends EventPlace {
  readonly type: 'transcription'
  /** `understood`, or why there is no text, for example `not-downloaded`, `too-long` or `late`. One of a few words. */
  readonly result: string
  /** How long it took, with the download and the wait for its turn, in ms. */
  readonly tookMs: number
}

/** A channel started or stopped receiving messages in this process. A disconnected channel keeps retrying. */
export interface ChannelEvent {
  readonly type: 'channel'
  /** In ms since the epoch. */
  readonly at: number
  /** The channel's name in the config. */
  readonly channel: string
  /**
   * `disconnected`: the platform refuses the connection, or was unreachable for a minute. `elsewhere`: only one process can
   * listen to it, and that is another one.
   */
  readonly status: 'receiving' | 'disconnected' | 'elsewhere'
  /** What failed and how to fix it. Absent while it receives. */
  readonly reason?: string | undefined
}

/**
 * Whether this process works on the state, alone or with others. `waiting`: it can't join, because another process uses the state
 * alone, or with other `mirrors` or linked devices. `joined`: it works. `expired`: it could not tell the state in time that it
 * lives, so it makes no calls. `left`: it stopped, or others went on without it.
 */
export interface MemberEvent {
  readonly type: 'member'
  /** In ms since the epoch. */
  readonly at: number
  readonly status: 'waiting' | 'joined' | 'expired' | 'left'
}

/** A beat of this process, about once a second, while it shares the state with others or could. All numbers are its own. */
export interface BeatEvent {
  readonly type: 'beat'
  /** In ms since the epoch. */
  readonly at: number
  /** How old the beat before was when this one was answered, in ms. Absent for the first one. */
  readonly sinceLastMs?: number | undefined
  /** Whether that was too long: more than 2 s. After 3.5 s, this process makes no calls. */
  readonly isLate: boolean
  /** How many processes take part, with this one. */
  readonly members: number
  /** How many of the 64 shards this process owns. A shard has about one chat of 64. */
  readonly shards: number
  /** How many it is still reading, so that they handle no messages yet. Includes the shard of linked devices. */
  readonly restoring: number
  /** How long the oldest message waits that was received and not handled by this process yet, in ms. 0 if none waits. */
  readonly oldestMs: number
  /** This process's share of each rate limit of a bot. */
  readonly budgets: readonly ChannelBudget[]
}

/** A process's share of one rate limit of a bot. */
export interface ChannelBudget {
  /** The channel's name in the config. */
  readonly channel: string
  /** The channel's name for the limit. */
  readonly budget: string
  /** How many calls this process may make in each window. */
  readonly share: number
  /** How many calls all processes together may make in each window. */
  readonly total: number
}

/**
 * Shards changed their owner, or take messages now. Emitted after a beat, at most once a second, at once when this process has read
 * the last one of those that it took, and once more when it has stopped.
 */
export interface ShardsEvent {
  readonly type: 'shards'
  /** In ms since the epoch. */
  readonly at: number
  /** The names of those that this process owns, for example `07`. */
  readonly owned: readonly string[]
  /** The names of those that take no messages yet, because this process still reads what earlier owners left. */
  readonly restoring: readonly string[]
  /** How many it has read since the last event, and takes messages of. */
  readonly restored: number
  /** How many it took. */
  readonly taken: number
  /** How many of these another process had before, or this one before its restart. */
  readonly takenOver: number
  /** How many it gave back, because it had more than its share or is stopping. */
  readonly givenBack: number
  /** How many another process took, because this one was too late to keep them. */
  readonly lost: number
}

/** The state refused a write, because this process was too late to keep the shard. Another process may have it. */
export interface FencedEvent {
  readonly type: 'fenced'
  /** In ms since the epoch. */
  readonly at: number
  /** For example `07`. */
  readonly shard: string
}

/** How many failures need a person. Emitted after each start and after each change. `reply bridge failed` lists them. */
export interface FailuresEvent {
  readonly type: 'failures'
  /** In ms since the epoch. */
  readonly at: number
  /** Answers that their chat may not show. */
  readonly deliveries: number
  /** Prompts that may have run before a restart, and whose authors have not decided yet. */
  readonly prompts: number
  /** Rows of the state that could not be read. */
  readonly rows: number
  /** Messages and runs that were put aside, because the process ended each time it handled them. */
  readonly poison: number
}

/** An event of a bridge, for logs, metrics and traces. */
export type BridgeEvent =
  | ChannelEvent
  | InboundEvent
  | RunEvent
  | AskEvent
  | UnshownEvent
  | DeliveryEvent
  | NoticeEvent
  | TranscriptionEvent
  | FailuresEvent
  | MemberEvent
  | BeatEvent
  | ShardsEvent
  | FencedEvent
