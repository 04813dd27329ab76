import type { Ask } from '../ask.ts'
import type { MessageHead } from '../event.ts'
import type { Part } from '../part.ts'
import type { Model, Retry, Todo } from '../reply.ts'

/** What a server says of a session. */
export interface SessionInfo {
  /** The session's id. */
  readonly sessionID: string
  /** In the server's spelling; undefined if the server didn't name it. */
  readonly directory?: string | undefined
  /** The session that started it as a sub-agent. Absent for a root. */
  readonly parentID?: string | undefined
  /** Its title. Absent if it has none. */
  readonly title?: string | undefined
  /** In ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** In ms since the epoch by the server's clock. */
  readonly updatedAt?: number | undefined
  /** The session is reverted to before this message. */
  readonly revertedTo?: string | undefined
}

/** A message with its parts. */
export interface MessageRead {
  /** The message without its parts. */
  readonly head: MessageHead
  /** Its parts, in the server's order. */
  readonly parts: readonly Part[]
}

/** Whether a session is at work, or the server waits to call the model again. */
export interface WorkStatus {
  /** `retry` while the server waits. */
  readonly status: 'busy' | 'retry'
  /** Set with `retry`, if the server says more. */
  readonly retry?: Retry | undefined
}

/** How far back a reading goes, so that a long history costs no more than the run needs. */
export interface Reach {
  /** Messages from this time on (ms since the epoch, server clock), with the run that contains the first of them. */
  readonly since?: number | undefined
  /** These messages, with the run that contains the first of them. */
  readonly messageIDs: readonly string[]
}

/** One session as the server holds it. */
export interface SessionRead {
  /** The session itself. */
  readonly info: SessionInfo
  /** Its messages in the server's order, at least back to the beginning of the last run and as far as `Reach` asks. */
  readonly messages: readonly MessageRead[]
  /** Whether `messages` goes back to the session's beginning. */
  readonly isWhole: boolean
  /** Whether every item could be read. Malformed ones were reported and left out. */
  readonly isSound: boolean
  /** Undefined while the session is idle. Read before the messages: an idle session's messages are final. */
  readonly working: WorkStatus | undefined
  /** What is pending in this session. */
  readonly asks: readonly Ask[]
  /** The session's checklist. Empty if it has none. */
  readonly todos: readonly Todo[]
  /** The sub-agents' sessions that it started. */
  readonly children: readonly SessionInfo[]
}

/** Pending asks. */
export interface AskList {
  /** Of all sessions that the list covers. */
  readonly asks: readonly Ask[]
  /** False if the server can't list all: then what the stream reported may be pending too. */
  readonly isWhole: boolean
}

/** A model that the server can use. */
export interface ModelInfo extends Model {
  /** Its name for people. */
  readonly name: string
  /** The size of its context window, in tokens. Absent if unknown. */
  readonly contextLimit?: number | undefined
  /** The names of its variants, such as `high`. Empty if it has none. */
  readonly variants: readonly string[]
}

/** An agent that the server can use. */
export interface AgentInfo {
  /** Its name, for `PromptInput.agent`. */
  readonly name: string
  /** What it is for. Absent if the server doesn't say. */
  readonly description?: string | undefined
  /** Whether people can prompt it; the others are only sub-agents. */
  readonly isPrimary: boolean
}

/** What a server allows without asking, because a person answered "always". */
export interface SavedRule {
  /** The server's id of it. */
  readonly id: string
  /** As `PermissionAsk.permission`. */
  readonly permission: string
  /** One of the ask's `always` patterns. */
  readonly pattern: string
}

/** A slash command of the server. */
export interface CommandInfo {
  /** Its name without the slash. */
  readonly name: string
  /** What it does. Absent if the server doesn't say. */
  readonly description?: string | undefined
  /** The prompt that it becomes, with `$ARGUMENTS` or `$1`, `$2`, …. Absent if the server doesn't say. */
  readonly template?: string | undefined
}
