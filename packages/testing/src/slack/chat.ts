import type { Shown } from './blocks.ts'
import type { Stream } from './stream.ts'

/** A person of the workspace. */
export interface SlackPerson {
  /** The user's id: `U…`. */
  readonly id: string
  /** Default: the id. */
  readonly name?: string
}

/** A channel that exists at the start. */
export interface FakeSlackChannelOptions {
  /** `D…` for a direct message, `C…` or `G…` for a channel. */
  readonly id: string
  /** Whether the bot is not a member. Default false. */
  readonly isForeign?: boolean
  /** Whether the channel is archived, so that writing fails. Default false. */
  readonly isArchived?: boolean
}

export interface SlackFileSent {
  readonly id: string
  readonly name: string
  readonly bytes: Uint8Array
  readonly mime?: string
  readonly subtype?: string
}

/** A message in a channel. */
export interface Post {
  readonly ts: string
  readonly from: 'bot' | SlackPerson
  readonly threadTs: string | undefined
  /** Shown where blocks can't be. */
  readonly fallback: string
  readonly shown: Shown
  /** As sent: interactions include them. */
  readonly blocks: readonly unknown[]
  /** Of the app, for apps. */
  readonly metadata?: unknown
  readonly files?: readonly SlackFileSent[]
  readonly stream?: Stream
  readonly editedTimes: number
  readonly reactions: readonly string[]
}

/** A message that only one person was shown. */
export interface SlackWhisper {
  /** The person who saw it: `U…`. */
  readonly user: string
  /** The channel's id. */
  readonly channel: string
  /** The `ts` of its thread's first message. Undefined outside of threads. */
  readonly threadTs: string | undefined
  /** As sent. */
  readonly text: string
}

/** The agent's status in a thread's head. */
interface Working {
  readonly status: string
  readonly until: number
}

export interface Channel {
  readonly id: string
  readonly isDirect: boolean
  readonly isForeign: boolean
  readonly isArchived: boolean
  readonly posts: Map<string, Post>
  /** By thread. */
  readonly statuses: Map<string, Working>
  /** The status of the agent's session, by thread. */
  readonly sessions: Map<string, string>
  /** How many of the bot's messages notified. */
  notifications: number
}

/** Returns the channel without messages. */
export function createChannel({ id, isForeign = false, isArchived = false }: FakeSlackChannelOptions): Channel {
  return {
    id,
    isForeign,
    isArchived,
    isDirect: id.startsWith('D'),
    posts: new Map(),
    statuses: new Map(),
    sessions: new Map(),
    notifications: 0,
  }
}
