import type { Clock, ReplyError } from '@reply/core'
import { duration } from './phrase.ts'
import { RECONNECTING } from './status.ts'

export interface OutageOptions {
  readonly clock: Clock
  readonly remark: (text: string) => void
  /** Replies on show say it themselves, each for its own text. */
  readonly isSaid: () => boolean
}

// Others are single readings that failed: the stream went on.
const LOST = /^(?:The event stream of|No OpenCode server at) /

/** Says that the connection is lost and that it is back, where no reply is on show that would. */
export interface Outage {
  /** Whether this error is part of an outage, and needs no more words. */
  hear(error: ReplyError): boolean
  /** Something came from the server. */
  frame(): void
}

export function createOutage({ clock, remark, isSaid }: OutageOptions): Outage {
  let lostAt: number | undefined
  return {
    hear({ type, message }) {
      if (type !== 'unreachable') return false
      if (lostAt !== undefined) return true
      if (!LOST.test(message)) return false
      lostAt = clock.now()
      if (!isSaid()) remark(RECONNECTING)
      return true
    },
    frame() {
      if (lostAt === undefined) return
      const lasted = duration(clock.now() - lostAt)
      lostAt = undefined
      if (!isSaid()) remark(`connection restored after ${lasted}; what began and ended meanwhile was not seen`)
    },
  }
}
