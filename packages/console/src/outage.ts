import type { Clock, ReplyError } from '@reply/core'
import { duration } from './phrase.ts'
import { RECONNECTING } from './status.ts'

export interface OutageOptions {
  readonly clock: Clock
  readonly remark: (text: string) => void
  /** Replies on show say it themselves, each for its own text. */
  readonly isSaid: () => boolean
  /** What of the time between is not here, for the line that says that the connection is back. */
  readonly missed: () => string
}

/** Says that the connection is lost and that it is back, where no reply is on show that would. */
export interface Outage {
  /** What `onConnection` tells. */
  tell(connection: 'live' | 'lost'): void
  /** Whether this error is part of an outage, and needs no more words. */
  covers(error: ReplyError): boolean
  /** How often the connection was lost. */
  readonly count: number
}

export function createOutage({ clock, remark, isSaid, missed }: OutageOptions): Outage {
  let count = 0
  let lost: { readonly at: number; readonly isMine: boolean } | undefined

  function lose(): void {
    const isMine = !isSaid()
    count++
    lost = { at: clock.now(), isMine }
    if (isMine) remark(RECONNECTING)
  }

  function restore(): void {
    if (lost === undefined) return
    const { at, isMine } = lost
    lost = undefined
    const restored = `connection restored after ${duration(clock.now() - at)}`
    // Replies that have just been found ran in the gap: they know of no loss.
    if (isMine) return remark(`${restored}${missed()}`)
    // Those that said that it was lost were given up meanwhile, and their ends say what is missing.
    if (!isSaid()) remark(restored)
  }

  return {
    tell: (connection) => (connection === 'lost' ? lose() : restore()),
    covers: ({ type }) => lost !== undefined && type === 'unreachable',
    get count() {
      return count
    },
  }
}
