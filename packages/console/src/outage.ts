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
  /** Tells it, unless it is part of an outage, or of one that shows in a moment. */
  hear(error: ReplyError, tell: () => void): void
  /** What may be part of one is not told any more. */
  stop(): void
}

/** So long a call's failure may run ahead of the stream's. */
const foretellsMs = 1000

export function createOutage({ clock, remark, isSaid, missed }: OutageOptions): Outage {
  /** Failures that a loss may explain. */
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
    // Replies that have just been found ran in the gap: they know of no loss.
    if (isMine) return remark(`${restored}${missed()}`)
    // Those that said that it was lost were given up meanwhile, and their ends say what is missing.
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
