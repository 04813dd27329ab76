import type { Clock } from '../../clock.ts'
import type { Drive } from '../drive.ts'
import type { ReadRequest } from '../read-snapshot.ts'
import { type SessionReader, toReplyError } from '../session-reader.ts'
import type { Watching } from './watch.ts'

export interface Recheck {
  /**
   * Called when a connection is up. Retries what could not be read for it. Runs newer than `since` are reported as new.
   */
  begin(requests: readonly ReadRequest[], since: number | undefined): void
  /** Adds sessions to read. */
  add(requests: readonly ReadRequest[]): void
  /** Reads a session at once, because it missed events. */
  now(sessionID: string): void
  /** Reads every running session once more, because something changed without an event. */
  again(): void
  /** The earliest time since which a session that is still to be read may have missed events. */
  unreadSince(): number | undefined
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
 * Reads every session that was running when the connection came up once more, even if it has ended since. Servers from
 * 1.17 on report `connected` shortly before they subscribe to their own events, so events in between are on no stream.
 */
export function createRecheck(
  { engine, clock, onError }: Pick<Drive, 'engine' | 'clock' | 'onError'>,
  reader: Pick<SessionReader, 'readEvents'>,
): Recheck {
  const due = new Map<string, PendingRead>()
  /** What the current check has not read yet. */
  let unread = new Set<PendingRead>()
  let isUp = false
  let listenUntil = 0
  let newsSince: number | undefined
  let stopTimer: (() => void) | undefined
  /** The ids of sessions that are being read because they missed events. */
  const urgent = new Set<string>()
  engine.onTurned((sessionID) => {
    if (isUp && clock.monotonic() < listenUntil && !due.has(sessionID))
      due.set(sessionID, { since: newsSince, tries: 0 })
  })
  return { begin, add, now, again, unreadSince, stop }

  function begin(requests: readonly ReadRequest[], since: number | undefined): void {
    stop()
    isUp = true
    newsSince = since
    for (const { sessionID, since } of requests) due.set(sessionID, { since, tries: 0 })
    listenUntil = clock.monotonic() + checkMs
    again()
  }

  function add(requests: readonly ReadRequest[]): void {
    for (const { sessionID, since } of requests) due.set(sessionID, { since, tries: 0 })
    if (due.size > 0) later(0)
  }

  function now(sessionID: string): void {
    if (!isUp) return
    if (urgent.has(sessionID)) return add([{ ...engine.place(sessionID), gap: true, since: newsSince }])
    urgent.add(sessionID)
    void readMissed(sessionID).finally(() => urgent.delete(sessionID))
  }

  async function readMissed(sessionID: string): Promise<void> {
    try {
      engine.apply(await read(sessionID, newsSince))
    } catch (error) {
      onError(toReplyError(error))
      add([{ ...engine.place(sessionID), gap: true, since: newsSince }])
    }
  }

  async function read(sessionID: string, since: number | undefined) {
    const reply = engine.newestReply(sessionID)
    return await reader.readEvents({ ...engine.place(sessionID), reply, gap: true, since })
  }

  function again(): void {
    for (const { sessionID } of engine.openReplies()) if (!due.has(sessionID)) due.set(sessionID, { tries: 0 })
    later(0)
  }

  function unreadSince(): number | undefined {
    const times = [...unread, ...due.values()].flatMap(({ since }) => since ?? [])
    return times.length === 0 ? undefined : Math.min(...times)
  }

  function stop(): void {
    isUp = false
    due.clear()
    unread = new Set()
    stopTimer?.()
    stopTimer = undefined
  }

  function later(tries: number): void {
    stopTimer ??= clock.after(checkMs * 2 ** tries, () => void check())
  }

  async function check(): Promise<void> {
    stopTimer = undefined
    const sessions = [...due]
    due.clear()
    const mine = new Set(sessions.map(([, asked]) => asked))
    unread = mine
    for (const [sessionID, asked] of sessions) {
      // A newer connection makes its own check.
      if (!isUp || unread !== mine) return
      const { since, tries } = asked
      try {
        engine.apply(await read(sessionID, since))
      } catch (error) {
        onError(toReplyError(error))
        if (unread === mine && tries < maxTries) due.set(sessionID, { since, tries: tries + 1 })
      }
      mine.delete(asked)
    }
    if (isUp && due.size > 0) later(Math.max(...[...due.values()].map(({ tries }) => tries)))
  }
}

/** Retries the directories that could not be listed when the connection came up. */
interface RecheckDirectories {
  /** Sets the time since which they may have missed events, by the server's clock. Undefined if all were listed. */
  note(since: number | undefined): void
  unreadSince(): number | undefined
  /** Called when the connection is up. */
  begin(): void
  stop(): void
}

export function createRecheckDirectories(watching: Watching, recheck: Recheck, clock: Clock): RecheckDirectories {
  let unreadSince: number | undefined
  let isUp = false
  let stopTimer = (): void => {}
  return { note, unreadSince: () => unreadSince, begin, stop }

  function note(since: number | undefined): void {
    unreadSince = since
  }

  function begin(): void {
    isUp = true
    if (unreadSince !== undefined) schedule(unreadSince, 0)
  }

  function schedule(since: number, tries: number): void {
    stopTimer = clock.after(checkMs * 2 ** tries, () => void check(since, tries))
  }

  async function check(since: number, tries: number): Promise<void> {
    const { requests, isWhole } = await watching.atWork(since)
    if (!isUp || unreadSince !== since) return
    recheck.add(requests)
    if (isWhole) unreadSince = undefined
    else if (tries < maxTries) schedule(since, tries + 1)
  }

  function stop(): void {
    isUp = false
    stopTimer()
  }
}
