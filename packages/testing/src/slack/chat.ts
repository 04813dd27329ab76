import type { Shown } from './blocks.ts'
import type { Stream } from './stream.ts'

export interface SlackPerson {
  readonly id: string
  /** Default: the id. */
  readonly name?: string
}

export interface SlackChannelOptions {
  /** `D…` for a direct message, `C…` or `G…` for a channel. */
  readonly id: string
  /** The bot is not in it. Default false. */
  readonly isForeign?: boolean
  /** Nobody can write to it any more. Default false. */
  readonly isArchived?: boolean
}

export interface SlackFileSent {
  readonly id: string
  readonly name: string
  readonly bytes: Uint8Array
}

/** A message in a channel. */
export interface Post {
  readonly ts: string
  readonly from: 'bot' | SlackPerson
  readonly threadTs: string | undefined
  /** What is read where blocks can't be shown. */
  readonly fallback: string
  readonly shown: Shown
  /** As they were sent: interactions tell of them. */
  readonly blocks: readonly unknown[]
  readonly file?: SlackFileSent
  readonly stream?: Stream
  readonly editedTimes: number
  readonly reactions: readonly string[]
}

/** What one person alone was shown. */
export interface SlackWhisper {
  readonly user: string
  readonly channel: string
  readonly threadTs: string | undefined
  readonly text: string
}

/** What a thread's head says of the agent. */
export interface Working {
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
  readonly sessions: Map<string, string>
  rings: number
}

export function createChannel({ id, isForeign = false, isArchived = false }: SlackChannelOptions): Channel {
  return {
    ...{ id, isForeign, isArchived },
    isDirect: id.startsWith('D'),
    posts: new Map(),
    statuses: new Map(),
    sessions: new Map(),
    rings: 0,
  }
}
