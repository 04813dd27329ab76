import type { Clock } from '../../clock.ts'
import type { Drive } from '../drive.ts'
import type { ReadRequest } from '../read-snapshot.ts'
import { type SessionReader, toReplyError } from '../session-reader.ts'
import type { Watching } from './watch.ts'

export interface Recheck {
  /**
   * Begins to read once more, after `checkMs`, the sessions of these failed requests, all with an open reply, and those
   * that change until then. Drops earlier reads that are still to be made. Runs newer than `newSince` are reported as
   * new. Called when a connection is up.
   */
  start(requests: readonly ReadRequest[], newSince: number | undefined): void
  /**
   * Adds these sessions to the next check, in place of earlier requests for them. Schedules a check after `checkMs`,
   * unless one is scheduled.
   */
  readLater(requests: readonly ReadRequest[]): void
  /**
   * Reads a session that missed events at once, and applies the read. A read that fails, or is asked for while one is
   * running, is made with the next check. Does nothing while the connection is down.
   */
  readNow(sessionID: string): void
  /**
   * Adds every session with an open reply to the next check, because something changed without an event. Schedules a
   * check after `checkMs`, unless one is scheduled.
   */
  recheckOpenReplies(): void
  /**
   * The earliest time since which a session that is still to be read may have missed events. Undefined if none has such
   * a time.
   */
  unreadSince(): number | undefined
  /** Drops all reads that are still to be made. Until the next `start`, `readNow` does nothing. */
  stop(): void
}

interface PendingRead {
  readonly since?: number | undefined
  readonly tries: number
}

/**
 * How long until a connection certainly receives events, in ms. Measured: 50 ms, and above 500 ms on a cold and busy
 * server.
 */
export const checkMs = 2000

/** How often a failed read is retried, each time after twice the delay. Two minutes in all. */
export const maxTries = 5

/**
 * Creates the check that reads every session that was running when the connection came up once more, even if it has
 * ended since. Servers from 1.17 on report `connected` shortly before they subscribe to their own events, so events in
 * between are on no stream.
 */
export function createRecheck(
  { engine, clock, onError }: Pick<Drive, 'engine' | 'clock' | 'onError'>,
  reader: Pick<SessionReader, 'readEvents'>,
): Recheck {
  const due = new Map<string, PendingRead>()
  /** Reads of the current check that are not done. */
  let unread = new Set<PendingRead>()
  let isUp = false
  let listenUntil = 0
  let newsSince: number | undefined
  let stopTimer: (() => void) | undefined
  /** The ids of sessions that are being read because they missed events. */
  const readingNow = new Set<string>()
  engine.onSessionChanged((sessionID) => {
    if (isUp && clock.monotonic() < listenUntil && !due.has(sessionID))
      due.set(sessionID, { since: newsSince, tries: 0 })
  })
  return { start, readLater, readNow, recheckOpenReplies, unreadSince, stop: dropPendingReads }

  /**
   * Begins the check of a new connection in place of an earlier one: adds these requests and all open replies, and for
   * `checkMs` each session that changes.
   */
  function start(requests: readonly ReadRequest[], newSince: number | undefined): void {
    dropPendingReads()
    isUp = true
    newsSince = newSince
    for (const { sessionID, since } of requests) due.set(sessionID, { since, tries: 0 })
    listenUntil = clock.monotonic() + checkMs
    recheckOpenReplies()
  }

  /**
   * Adds sessions to the next check, in place of earlier requests for them. Sets its timer unless it is set, or nothing
   * is to be read.
   */
  function readLater(requests: readonly ReadRequest[]): void {
    for (const { sessionID, since } of requests) due.set(sessionID, { since, tries: 0 })
    if (due.size > 0) scheduleCheck(0)
  }

  /**
   * Reads and applies a session at once. Leaves it to the next check if it is being read, or if the read fails, which
   * is reported. Does nothing while the connection is down.
   */
  function readNow(sessionID: string): void {
    if (!isUp) return
    if (readingNow.has(sessionID)) return readLater([{ ...engine.placeOf(sessionID), gap: true, since: newsSince }])
    readingNow.add(sessionID)
    void readNowOrLater(sessionID).finally(() => readingNow.delete(sessionID))
  }

  /** Reads a session and applies the read. Never rejects: reports a failure, and retries with the next check. */
  async function readNowOrLater(sessionID: string): Promise<void> {
    try {
      engine.apply(await readSession(sessionID, newsSince))
    } catch (error) {
      onError(toReplyError(error))
      readLater([{ ...engine.placeOf(sessionID), gap: true, since: newsSince }])
    }
  }

  /** Resolves with the read of a session as events, without applying them. Rejects if it can't be read. */
  async function readSession(sessionID: string, since: number | undefined) {
    const reply = engine.newestReply(sessionID)
    return await reader.readEvents({ ...engine.placeOf(sessionID), reply, gap: true, since })
  }

  /**
   * Adds every session with an open reply to the next check, unless it is due already. Sets the timer unless it is set.
   */
  function recheckOpenReplies(): void {
    for (const { sessionID } of engine.openReplies()) if (!due.has(sessionID)) due.set(sessionID, { tries: 0 })
    scheduleCheck(0)
  }

  /** The earliest time from which a session that is still to be read may lack events. Undefined if none has one. */
  function unreadSince(): number | undefined {
    const times = [...unread, ...due.values()].flatMap(({ since }) => since ?? [])
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /**
   * Drops all reads that are still to be made, also those of a running check, and stops the timer. Until the next
   * `start`, changed sessions are not added.
   */
  function dropPendingReads(): void {
    isUp = false
    due.clear()
    unread = new Set()
    stopTimer?.()
    stopTimer = undefined
  }

  /** Sets the timer of the next check, `checkMs` from now, doubled `tries` times. Does nothing if it is set. */
  function scheduleCheck(tries: number): void {
    stopTimer ??= clock.after(checkMs * 2 ** tries, () => void readDue())
  }

  /**
   * Reads and applies the sessions that are due, one after the other, until the connection is down or a newer one makes
   * its own check. A failed read is reported, and due again after twice the delay, up to `maxTries` times.
   */
  async function readDue(): Promise<void> {
    stopTimer = undefined
    const sessions = [...due]
    due.clear()
    const sessionsOfCheck = new Set(sessions.map(([, asked]) => asked))
    unread = sessionsOfCheck
    for (const [sessionID, pending] of sessions) {
      // A newer connection makes its own check.
      if (!isUp || unread !== sessionsOfCheck) return
      const { since, tries } = pending
      try {
        engine.apply(await readSession(sessionID, since))
      } catch (error) {
        onError(toReplyError(error))
        if (unread === sessionsOfCheck && tries < maxTries) due.set(sessionID, { since, tries: tries + 1 })
      }
      sessionsOfCheck.delete(pending)
    }
    if (isUp && due.size > 0) scheduleCheck(Math.max(...[...due.values()].map(({ tries }) => tries)))
  }
}

/** Retries the directories that could not be listed when the connection came up. */
interface RecheckDirectories {
  /** Sets the time since which they may have missed events, by the server's clock. Undefined if all were listed. */
  setUnreadSince(since: number | undefined): void
  /** The time that was set. Undefined once all are listed. */
  unreadSince(): number | undefined
  /**
   * Lists unread directories again after `checkMs`. Does nothing if all were listed. Called when the connection is up.
   */
  start(): void
  /** Ends the retries. */
  stop(): void
}

/** Creates the retries of directories that could not be listed, up to five each time the connection comes up. */
export function createRecheckDirectories(watching: Watching, recheck: Recheck, clock: Clock): RecheckDirectories {
  let unreadSince: number | undefined
  let isUp = false
  let stopTimer = (): void => {}
  return { setUnreadSince, unreadSince: () => unreadSince, start, stop: stopRetries }

  /** Replaces the time since which directories may have missed events. A retry for another time then ends. */
  function setUnreadSince(since: number | undefined): void {
    unreadSince = since
  }

  /** Lists unread directories again after `checkMs`. Does nothing if all were listed. */
  function start(): void {
    isUp = true
    if (unreadSince !== undefined) schedule(unreadSince, 0)
  }

  /** Lists again after `checkMs`, doubled for each earlier try. */
  function schedule(since: number, tries: number): void {
    stopTimer = clock.after(checkMs * 2 ** tries, () => void listAgain(since, tries))
  }

  /**
   * Lists the sessions again that changed since then, and passes them to `recheck`. While a directory can't be listed,
   * retries up to `maxTries` times. Ignores the list if the retries were stopped, or another time was set in the
   * meantime.
   */
  async function listAgain(since: number, tries: number): Promise<void> {
    const { requests, isWhole } = await watching.listReads(since)
    if (!isUp || unreadSince !== since) return
    recheck.readLater(requests)
    if (isWhole) unreadSince = undefined
    else if (tries < maxTries) schedule(since, tries + 1)
  }

  /** Ends the retries. The time that was set stays. */
  function stopRetries(): void {
    isUp = false
    stopTimer()
  }
}
