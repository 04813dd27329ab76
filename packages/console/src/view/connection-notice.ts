import type { Clock, ReplyError } from '@reply/core'
import { duration } from '@reply/core/show'
import { texts } from '@reply/sink'

export interface ConnectionNoticeOptions {
  readonly clock: Clock
  readonly note: (text: string) => void
  /** Whether replies are shown: they report the outage themselves, each for its own text. */
  readonly isShowing: () => boolean
  /** What was missed in between, for the line that reports the reconnect. */
  readonly missed: () => string
}

/** Reports a lost connection and its return if no shown reply does. */
export interface ConnectionNotice {
  /** For `onConnection` of `connect`. */
  onConnection(connection: 'live' | 'lost'): void
  /** Calls `report`, unless the failure belongs to an outage or to one that begins within `graceMs`. */
  onFailure(error: ReplyError, report: () => void): void
  /** Drops failures that may belong to an outage. */
  stop(): void
}

/** How long a failed call waits for the stream to fail as well before it is reported, in ms. */
const graceMs = 1000

export function createConnectionNotice({ clock, note, isShowing, missed }: ConnectionNoticeOptions): ConnectionNotice {
  /** Cancels the reports of failures that an outage may explain. */
  const held = new Set<() => void>()
  let lost: { readonly at: number; readonly isMine: boolean } | undefined

  function lose(): void {
    const isMine = !isShowing()
    stop()
    lost = { at: clock.now(), isMine }
    if (isMine) note(texts.lostConnection)
  }

  function restore(): void {
    if (lost === undefined) return
    const { at, isMine } = lost
    lost = undefined
    const restored = `connection restored after ${duration(clock.now() - at)}`
    // Replies found just now ran during the outage, so they don't know of it.
    if (isMine) return note(`${restored}${missed()}`)
    // Replies that reported the loss were given up meanwhile; their outcomes say what is missing.
    if (!isShowing()) note(restored)
  }

  function covers({ type }: ReplyError): boolean {
    return lost !== undefined && type === 'unreachable'
  }

  function onFailure(error: ReplyError, report: () => void): void {
    if (covers(error)) return
    if (error.type !== 'unreachable') return report()
    const cancel = clock.after(graceMs, () => {
      held.delete(cancel)
      report()
    })
    held.add(cancel)
  }

  function stop(): void {
    for (const cancel of held) cancel()
    held.clear()
  }

  return {
    onConnection: (connection) => (connection === 'lost' ? lose() : restore()),
    onFailure,
    stop,
  }
}
