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

/** A decoded update. If all fields are absent, it changes nothing. */
export interface DecodedUpdate {
  readonly outputs?: readonly LocalOutput[] | undefined
  readonly call?: Call | undefined
  /** Changes of the session, also outside of runs. */
  readonly session?: Partial<AcpSession> | undefined
  readonly title?: string | undefined
  readonly cost?: number | undefined
  readonly notice?: AcpNotice | undefined
  /** The state of the session's own work. Version 2 only. */
  readonly state?: AcpState | undefined
  /** A sub-agent of the session. */
  readonly child?: AcpChild | undefined
  /** A message between the session and a sub-agent, or a part of it. */
  readonly message?: AcpChildMessage | undefined
  /** The name of a kind that this version of the protocol doesn't have here. */
  readonly unknownKind?: string | undefined
}

/** Whether a session works. `waiting` is for a person, and `unknown` is a state that the agent doesn't report. */
export type AcpState =
  | { readonly type: 'running' | 'waiting' | 'unknown' }
  | { readonly type: 'idle'; readonly ending: LocalEnding; readonly usage: readonly LocalOutput[] }

/** What has changed of a sub-agent. Absent fields stay as they are. */
export interface AcpChild {
  readonly sessionID: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly state?: AcpState | undefined
  /** Whether it can be canceled by itself. */
  readonly isCancelable?: boolean | undefined
}

/** A message that one session sent to another. */
export interface AcpChildMessage {
  readonly messageID: string
  readonly senderID?: string | undefined
  readonly recipientID?: string | undefined
  readonly text: string
}
