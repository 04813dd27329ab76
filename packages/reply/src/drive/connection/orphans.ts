import { findReply } from '../../reduce/child.ts'
import type { Drive } from '../drive.ts'
import { toReplyError } from './session-reader.ts'

export interface Orphans {
  /** Reads what held events are waiting for. */
  review(): void
  stop(): void
}

/** How long a message may still arrive on the stream before it is read over REST, in ms. */
const patienceMs = 250

/** How long until a session may be read again, in ms. An immediate second read would show the same. */
const askAgainMs = 30_000

/** Reads sessions whose parent or messages the stream never sent, because they began before this client listened. */
export function createOrphans({ engine, reader, clock, onError }: Drive, isLive: () => boolean): Orphans {
  const asked = new Set<string>()
  let stopTimer: (() => void) | undefined
  let isStopped = false
  const stops = new Set<() => void>()
  engine.onApplied(review)
  engine.onStep(({ reply, changes }) => {
    for (const change of changes)
      if (change.type === 'childStarted') lookAfter(reply.sessionID, change.child.reply.sessionID)
  })
  return { review, stop }

  function review(): void {
    if (!isLive()) return
    for (const sessionID of engine.unknown()) ask(sessionID)
    if (engine.hasHeld()) stopTimer ??= clock.after(patienceMs, lookAgain)
  }

  function lookAgain(): void {
    stopTimer = undefined
    for (const sessionID of engine.waiting()) ask(sessionID)
  }

  /** Reads a sub-agent that has no events, because it ended before this client listened. */
  function lookAfter(rootID: string, childID: string): void {
    later(patienceMs, () => {
      const root = engine.openReply(rootID)
      if (root && isLive() && findReply(root, childID)?.phase === 'waiting') ask(childID)
    })
  }

  function ask(sessionID: string): void {
    if (asked.has(sessionID)) return
    asked.add(sessionID)
    const since = engine.listeningFrom()
    void reader
      .readEvents({ ...engine.place(sessionID), reply: engine.openReply(sessionID), gap: true, since })
      .then((events) => engine.apply(events))
      .catch((error: unknown) => onError(toReplyError(error)))
      .finally(() => {
        later(askAgainMs, () => asked.delete(sessionID))
      })
  }

  function stop(): void {
    isStopped = true
    stopTimer?.()
    for (const stopOne of stops) stopOne()
    stops.clear()
  }

  function later(delayMs: number, run: () => void): void {
    if (isStopped) return
    const stopOne = clock.after(delayMs, () => {
      stops.delete(stopOne)
      run()
    })
    stops.add(stopOne)
  }
}
