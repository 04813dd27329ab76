import type { Clock, ReplyError } from '@reply/core'
import { duration } from '../format/numbers.ts'
import { RECONNECTING } from './status.ts'

export interface ConnectionNoticeOptions {
  readonly clock: Clock
  readonly remark: (text: string) => void
  /** Replies on show report the outage themselves, each for its own text. */
  readonly isSaid: () => boolean
  /** What was missed in between, for the line that reports the reconnect. */
  readonly missed: () => string
}

/** Reports a lost connection and its return if no shown reply does. */
export interface ConnectionNotice {
  /** Takes what `onConnection` reports. */
  tell(connection: 'live' | 'lost'): void
  /** Calls `tell`, unless the failure belongs to an outage, or to one that is about to show. */
  hear(error: ReplyError, tell: () => void): void
  /** Drops failures that may belong to an outage. */
  stop(): void
}

/** How long a call's failure may precede the stream's, in ms. */
const foretellsMs = 1000

export function createConnectionNotice({ clock, remark, isSaid, missed }: ConnectionNoticeOptions): ConnectionNotice {
  /** Failures that an outage may explain. */
  const held = new Set<() => void>()
  let lost: { readonly at: number; readonly isMine: boolean } | undefined

  function lose(): void {
    const isMine = !isSaid()
    stop()
    lost = { at: clock.now(), isMine }
    if (isMine) remark(RECONNECTING)
  }

  function restore(): void {
    if (lost === undefined) return
    const { at, isMine } = lost
    lost = undefined
    const restored = `connection restored after ${duration(clock.now() - at)}`
    // Replies found just now ran during the outage, so they don't know of it.
    if (isMine) return remark(`${restored}${missed()}`)
    // Replies that reported the loss were given up meanwhile; their outcomes say what is missing.
    if (!isSaid()) remark(restored)
  }

  function covers({ type }: ReplyError): boolean {
    return lost !== undefined && type === 'unreachable'
  }

  function hear(error: ReplyError, tell: () => void): void {
    if (covers(error)) return
    if (error.type !== 'unreachable') return tell()
    const stopOne = clock.after(foretellsMs, () => {
      held.delete(stopOne)
      tell()
    })
    held.add(stopOne)
  }

  function stop(): void {
    for (const stopOne of held) stopOne()
    held.clear()
  }

  return {
    tell: (connection) => (connection === 'lost' ? lose() : restore()),
    hear,
    stop,
  }
}
