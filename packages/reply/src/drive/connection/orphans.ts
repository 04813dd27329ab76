import { findReply } from '../../reduce/child.ts'
import type { Drive } from '../drive.ts'
import { toReplyError } from './session-reader.ts'

export interface Orphans {
  /** Checks for held events that wait for something the stream hasn't sent. */
  review(): void
  stop(): void
}

/** Messages may still arrive on the stream; after this long, they are read over REST. */
const patienceMs = 250

/** REST won't explain a moment later what it couldn't explain now. */
const askAgainMs = 30_000

/** Reads sessions whose parent or messages the stream never sent: they began before we listened. */
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

  /** A sub-agent without any events had ended before we listened. */
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
