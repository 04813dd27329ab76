import type { Outcome } from '@reply/core'
import type { PermissionReply } from '@reply/core/internal'

/** Where something happened. Ids are the platform's; no event contains what people or agents wrote. */
export interface EventPlace {
  /** In ms since the epoch. */
  readonly at: number
  /** The channel's name in the config. */
  readonly channel: string
  /** The chat's id on the platform. */
  readonly chat: string
  /** The thread's id. Absent outside of threads. */
  readonly thread?: string | undefined
}

/** What a person did, and what became of it. */
export interface InboundEvent extends EventPlace {
  readonly type: 'inbound'
  /** A message, a press of a button, or the platform's own Stop. */
  readonly kind: 'text' | 'press' | 'stop'
  /** The actor's id on the platform. */
  readonly actorID: string
  /** The message that was written, or whose button was pressed. Absent for a stop. */
  readonly messageID?: string | undefined
  /** `taken`: written down. `repeated`: it was taken before. `handled`: a press or a stop. */
  readonly verdict: 'taken' | 'repeated' | 'handled' | 'ignored' | 'refused'
  /** Why it was refused. */
  readonly why?: string | undefined
}

/** A run's beginning or end. */
export interface RunEvent extends EventPlace {
  readonly type: 'run'
  /** `posted`: on its way to the server. `found`: found again after a restart. `ended`: over. */
  readonly phase: 'posted' | 'found' | 'ended'
  /** The id that people know the run by. */
  readonly executionID: string
  /** The actor whose prompt it is. */
  readonly actorID: string
  /** The message with the prompt. */
  readonly messageID: string
  /** The server's name in the config. */
  readonly server: string
  /** Absent if it ended before it had a session. */
  readonly sessionID?: string | undefined
  /** How it ended. Absent before, and if no reply was seen. */
  readonly outcome?: Outcome | undefined
  /** Why it failed. Absent unless it did. May contain the server's words. */
  readonly reason?: string | undefined
  /** Times since the message was heard, in ms. Each absent if it did not happen, or before. */
  readonly times: RunTimes
}

/** Times since the message with the prompt was heard, in ms. */
export interface RunTimes {
  /** When it was posted to the server. */
  readonly postedMs?: number | undefined
  /** When the agent wrote or did something first. */
  readonly firstByteMs?: number | undefined
  /** When the run was over. */
  readonly endedMs?: number | undefined
}

/** A question or a permission. */
export interface AskEvent extends EventPlace {
  readonly type: 'ask'
  /** What happened to it. */
  readonly phase: 'asked' | 'answered' | 'rejected' | 'withdrawn'
  /** What is asked. */
  readonly askType: 'question' | 'permission'
  /** The ask's id on the server. */
  readonly requestID: string
  /** The run that waits for it. */
  readonly executionID: string
  /** The session that asks: the run's own, or a sub-agent's. */
  readonly sessionID: string
  /** How a permission was answered. Absent for a question, while it waits, and if it was withdrawn. */
  readonly decision?: PermissionReply | undefined
  /** The id of the actor who answered it, on the platform. Absent if it was answered elsewhere. */
  readonly actorID?: string | undefined
  /** The channel of that actor, by its name in the config: a mirror's may be another than `channel`. */
  readonly actorChannel?: string | undefined
  /** How long it waited, in ms. Absent while it does. */
  readonly waitedMs?: number | undefined
}

/** What a reply left in the chat when it was shown to its end. */
export interface DeliveryEvent extends EventPlace {
  readonly type: 'delivery'
  /** The run whose reply it is. */
  readonly executionID: string
  /** Absent if it ended before it had a session. */
  readonly sessionID?: string | undefined
  /** Messages on the screen. */
  readonly shown: number
  /** How many messages are missing. */
  readonly undelivered: number
  /** Posts that the platform did not confirm. */
  readonly doubtful: number
  /** Calls to the platform. */
  readonly calls: number
  /** How many of them were rate-limited. */
  readonly rateLimited: number
  /** From the person's message to the first message about it in the chat, in ms. Absent if there is none. */
  readonly firstShownMs?: number | undefined
  /** From the person's message to the end of the delivery, in ms. */
  readonly deliveredMs: number
}

/** A channel gets what people write, or does not any more. It tries again by itself. */
export interface ChannelEvent {
  readonly type: 'channel'
  /** In ms since the epoch. */
  readonly at: number
  /** The channel's name in the config. */
  readonly channel: string
  /** `disconnected`: the platform refuses it, or could not be reached for a minute. */
  readonly status: 'receiving' | 'disconnected'
  /** What failed and the cure. Absent while it hears. */
  readonly reason?: string | undefined
}

/** What failed for good and waits for a person, whenever that changes and after each start. `reply bridge failed` lists it. */
export interface FailuresEvent {
  readonly type: 'failures'
  /** In ms since the epoch. */
  readonly at: number
  /** Answers that their chats may not show. */
  readonly deliveries: number
  /** Prompts that may have run before a restart: no one has decided whether they run again. */
  readonly prompts: number
  /** Rows of the state that could not be read. */
  readonly rows: number
}

/** What an operator may want to know of a bridge: for logs, metrics and traces. */
export type BridgeEvent = ChannelEvent | InboundEvent | RunEvent | AskEvent | DeliveryEvent | FailuresEvent
