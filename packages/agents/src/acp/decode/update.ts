import type { LocalOutput } from '@reply/core/source'
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
}
