import type { LocalEnding, LocalOutput } from '@reply/core/source'
import type { Call } from './call.ts'
import type { AcpSession } from './session.ts'

/** A message of the agent to its user, outside of the answer. */
export interface AcpNotice {
  /** `info`, `warning` or `error`; other values are kept as they are. */
  readonly severity: string
  /** One line. */
  readonly title: string
  /** Details. Absent if the agent sends none. */
  readonly description?: string | undefined
}

/** What the agent reports of a sub-agent that a session started. */
export interface DecodedSubagent {
  /** The sub-agent's own session. */
  readonly sessionID: string
  /** A short description of its task. */
  readonly title?: string | undefined
  /** Absent if the update doesn't tell. */
  readonly state?: 'running' | LocalEnding | undefined
  /** Whether it can be canceled by itself. Absent if the update doesn't tell. */
  readonly isCancelable?: boolean | undefined
}

/** A message between two sessions. */
export interface DecodedMessage {
  readonly id: string
  /** The session that receives it. */
  readonly sessionID: string
  readonly text: string
}

/** The state of the work in a session. `idle` ends the work, if any, with its usage. Only version 2 has it. */
export type DecodedState =
  | { readonly type: 'running' }
  | { readonly type: 'idle'; readonly ending: LocalEnding; readonly usage: readonly LocalOutput[] }

/** A decoded update. If all fields are absent, it changes nothing. */
export interface DecodedUpdate {
  readonly outputs?: readonly LocalOutput[] | undefined
  readonly call?: Call | undefined
  /** Changes of the session, also outside of runs. */
  readonly session?: Partial<AcpSession> | undefined
  readonly title?: string | undefined
  readonly cost?: number | undefined
  readonly notice?: AcpNotice | undefined
  readonly subagent?: DecodedSubagent | undefined
  readonly message?: DecodedMessage | undefined
  readonly state?: DecodedState | undefined
  /** The id of a message of the user, and its text or a piece of it. */
  readonly prompt?: { readonly messageID: string; readonly text: string } | undefined
  /** Why the agent goes on by itself soon. */
  readonly reason?: string | undefined
  /** Whether the update ends a turn, of a prompt or of the agent's own. */
  readonly endsTurn?: boolean | undefined
  /** The name of a kind that the protocol doesn't have. */
  readonly unknownKind?: string | undefined
}
