import type { Ask } from '../ask.ts'
import type { MessageHead } from '../event.ts'
import type { Part } from '../part.ts'
import type { Model, Retry, Todo } from '../reply.ts'
import type { FileKind } from './file-type.ts'

/** A session, as the server describes it. */
export interface SessionInfo {
  /** The session's id. */
  readonly sessionID: string
  /** Its directory, in the server's spelling. Absent if the server didn't name it. */
  readonly directory?: string | undefined
  /** The session that started it as a sub-agent. Absent for a root. */
  readonly parentID?: string | undefined
  /** Its title. Absent if it has none. */
  readonly title?: string | undefined
  /** In ms since the epoch by the server's clock. */
  readonly createdAt?: number | undefined
  /** In ms since the epoch by the server's clock. */
  readonly updatedAt?: number | undefined
  /**
   * The id of the message that the session is reverted to: it and all later ones are hidden. Absent if nothing is
   * reverted.
   */
  readonly revertedTo?: string | undefined
}

/** A message with its parts. */
export interface MessageRead {
  /** The message without its parts. */
  readonly head: MessageHead
  /** Its parts, in the server's order. */
  readonly parts: readonly Part[]
}

/** The state of a session that is not idle. */
export interface WorkStatus {
  /** `retry` while the server waits to call the model again. */
  readonly status: 'busy' | 'retry'
  /** The retry, if the status is `retry` and the server gives details. */
  readonly retry?: Retry | undefined
}

/** How far back a reading goes. Limits the cost of long histories. */
export interface Reach {
  /** Reads messages from this time on (ms since the epoch, server clock), including the whole run of the first one. */
  readonly since?: number | undefined
  /** Reads these messages, including the whole run of the first one. */
  readonly messageIDs: readonly string[]
}

/** One session with its messages, as read from the server. */
export interface SessionRead {
  /** The session itself. */
  readonly info: SessionInfo
  /**
   * Its messages in the server's order, at least back to the beginning of the last run and as far as `Reach` requires.
   */
  readonly messages: readonly MessageRead[]
  /** Whether `messages` goes back to the session's beginning. */
  readonly isWhole: boolean
  /** Whether every item could be read. Malformed ones were reported and left out. */
  readonly isSound: boolean
  /** Undefined while the session is idle. It is read before the messages, so an idle session's messages are final. */
  readonly working: WorkStatus | undefined
  /** The asks that are pending in this session. */
  readonly asks: readonly Ask[]
  /** The session's to-do list. Empty if it has none. */
  readonly todos: readonly Todo[]
  /** The sessions of the sub-agents that it started. */
  readonly children: readonly SessionInfo[]
}

/** Pending asks. */
export interface AskList {
  /** The pending asks of all sessions that the list covers. */
  readonly asks: readonly Ask[]
  /** Whether the list is complete. If false, asks that the stream reported may be pending too. */
  readonly isWhole: boolean
}

/** A model that the server can use. */
export interface ModelInfo extends Model {
  /** Its display name. */
  readonly name: string
  /** The size of its context window, in tokens. Absent if unknown. */
  readonly contextLimit?: number | undefined
  /** The names of its variants, such as `high`. Empty if it has none. */
  readonly variants: readonly string[]
  /** The kinds of files that it reads in a prompt. Absent if unknown. */
  readonly takes?: readonly FileKind[] | undefined
}

/** An agent that the server can use. */
export interface AgentInfo {
  /** Its name, for `PromptInput.agent`. */
  readonly name: string
  /** Describes its purpose. Absent if the server has no description. */
  readonly description?: string | undefined
  /** Whether you can prompt it. The others only run as sub-agents. */
  readonly isPrimary: boolean
}

/** A rule that lets a server act without asking, because a person answered "always". */
export interface SavedRule {
  /** Its id on the server, for `removeRule`. */
  readonly id: string
  /** The permission that it allows, as in `PermissionAsk.permission`. */
  readonly permission: string
  /** The pattern that it allows, one of the ask's `always` patterns. */
  readonly pattern: string
}

/** A slash command of the server. */
export interface CommandInfo {
  /** Its name without the slash. */
  readonly name: string
  /** Describes what it does. Absent if the server has no description. */
  readonly description?: string | undefined
  /** Its prompt, with placeholders `$ARGUMENTS` or `$1`, `$2`, …. Absent if the server doesn't show it. */
  readonly template?: string | undefined
}
