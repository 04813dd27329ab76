import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import { sessionRefOf } from '../../session-ref.ts'
import type { Drive } from '../drive.ts'
import type { DriveOptions, Settings } from '../options.ts'
import type { ReadRequest } from '../read-snapshot.ts'
import { toReplyError } from '../session-reader.ts'
import { createEventStream, type EventStream, type StreamLoss } from './event-stream.ts'
import type { FollowedSessions } from './following.ts'
import type { Readiness } from './readiness.ts'
import { createRecheck, createRecheckDirectories } from './recheck.ts'
import type { Watching } from './watch.ts'

export interface Connection {
  close(): void
}

/** All settings. Errors of its callbacks are reported. */
type ConnectionSettings = Settings & Pick<DriveOptions, 'directory' | 'silenceMs' | 'onFrame' | 'onConnection'>

/** The earliest of these times. Undefined if all of them are. */
function earliest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/** A minute and a half at 5,000 events per second. */
const maxHeld = 500_000

/**
 * Creates the connection to the server. From one gap to the next:
 *
 * 1. The event stream opens (`event-stream.ts`). Its events are held back.
 * 2. `prepareReads` lists every session that may have missed events in the gap. `sync` reads them over REST and applies
 * the snapshots, then the held events. Events are idempotent, so it doesn't matter if both contain the same.
 * 3. `onSynced`: the connection is up. `recheck.ts` later reads sessions and directories that could not be read in
 * time, and `createUnseenSessions` reads sessions that the stream mentions without introducing them.
 * 4. `onLost`: the stream broke and the gap begins. `event-stream.ts` starts again at 1. After `lostAfterMs` without a
 * connection, open replies end as lost.
 *
 * Between two connections it may also rest, because nothing is followed (`following.ts`). That isn't a gap: nothing was
 * missed, and what exists when it connects again isn't reported as new.
 */
export function createConnection(
  drive: Drive,
  settings: ConnectionSettings,
  readiness: Readiness,
  watching: Watching,
  following: FollowedSessions,
): Connection {
  const { source, info, engine, reader, clock, onError } = drive
  let silenceMs = settings.silenceMs ?? info.current().silenceMs ?? Number.POSITIVE_INFINITY
  /**
   * When the gap began: the newest time received before it, in ms since the epoch by the server's clock. Undefined
   * without a gap.
   */
  let gapSince: number | undefined
  let stopLostTimer: (() => void) | undefined
  /** Events that are held back until this connection's snapshots are read. */
  let held: ReplyEvent[] | undefined = []
  /** Counts connections, so that reads of an earlier one are ignored. */
  let generation = 0

  const recheck = createRecheck(drive, reader)
  const recheckDirectories = createRecheckDirectories(watching, recheck, clock)
  const unseenSessions = createUnseenSessions(drive, readiness.isLive)
  const eventStream: EventStream = createEventStream({
    ...settings,
    source,
    receive,
    onLost,
    silenceMs: () => silenceMs,
    whenWanted: readiness.whenWanted,
    following,
  })
  // Until the outcome of the first connection is known, which `ready` reports.
  const start = following.hold()
  void readiness.ready.catch(() => {}).then(start.release)
  following.setListeners({ needed: wake, idle: rest, receive })
  return { close }

  /** Ends the connection until events are needed again. No reply is open then, and nothing is watched. */
  function rest(): void {
    eventStream.rest()
    readiness.markResting()
    gapSince = undefined
    stopLostTimer?.()
    stopLostTimer = undefined
    takeHeld()
    recheck.stop()
    recheckDirectories.stop()
    recheckDirectories.setUnreadSince(undefined)
    watching.forgetBaseline()
  }

  /** Connects after a rest. */
  function wake(): void {
    readiness.markWoken()
    eventStream.wake()
  }

  /**
   * Applies or holds the events. Extends callers' waits for `connected`, checks all open replies again after
   * `disposed`, and reads a session that reports `missed`.
   */
  function receive(events: readonly ReplyEvent[]): void {
    if (events.some((event) => event.type === 'connected')) {
      readiness.extendWaits()
      following.forgetReleased()
    }
    applyOrHold(events)
    // A disposed instance drops its pending asks without an event.
    if (events.some((event) => event.type === 'disposed')) recheck.recheckOpenReplies()
    for (const event of events) if (event.type === 'missed') readMissed(event.inSession)
  }

  /**
   * Reads a session that missed events again, with the tree that it belongs to. Ignores a session without a reply here.
   */
  function readMissed(sessionID: string): void {
    const root = engine.openReplies().find((reply) => findReply(reply, sessionID))
    if (root) recheck.readNow(root.sessionID)
    else if (engine.newestReply(sessionID)) recheck.readNow(sessionID)
  }

  /**
   * Holds events back until this connection's snapshots are applied. After that, applies events at once. If too many
   * are held, drops the events and reconnects. `connected` begins a sync.
   */
  function applyOrHold(events: readonly ReplyEvent[]): void {
    const isConnected = events.some((event) => event.type === 'connected')
    if (!held) engine.apply(watching.withoutUnread(events))
    else if (held.length < maxHeld) for (const event of events) held.push(event)
    else
      eventStream.reconnect(
        new ReplyError('too-large', `More than ${maxHeld} events arrived while the sessions were being read.`),
      )
    if (isConnected) void sync(++generation)
  }

  /** Returns the events that were held back, holds later ones, and makes a running sync end without effect. */
  function takeHeld(): readonly ReplyEvent[] {
    const taken = [...(held ?? []), ...watching.takeUnread()]
    generation += 1
    held = []
    following.dropSkipped()
    return taken
  }

  /**
   * Reads every session that may have missed events, then applies the snapshots and the held events. Reports sessions
   * that can't be read. Reconnects if the sessions can't be listed, or if none could be read and the server is
   * unreachable or refuses the password. Applies nothing once a newer connection has begun.
   */
  async function sync(ownGeneration: number): Promise<void> {
    try {
      const requests = await prepareReads()
      const failures = new Map<ReadRequest, ReplyError>()
      const snapshots = await Promise.all(requests.map((request) => readOrCollectFailure(request, failures)))
      // An unreadable session must not take the connection from the others. Without the server, the connection is
      // useless.
      const fatal = [...failures.values()].find(({ type }) => type === 'unreachable' || type === 'unauthorized')
      if (fatal && failures.size === requests.length) throw fatal
      for (const failure of failures.values()) onError(failure)
      if (ownGeneration !== generation) return
      const events = held ?? []
      held = undefined
      const [first, ...rest] = events
      engine.apply([...(first ? [first] : []), ...snapshots.flat(), ...rest])
      onSynced([...failures.keys()])
    } catch (cause) {
      if (ownGeneration === generation) eventStream.reconnect(toReplyError(cause))
    }
  }

  /** Reads a session as events. If that fails, adds the error to `failures` and resolves with none. */
  async function readOrCollectFailure(
    request: ReadRequest,
    failures: Map<ReadRequest, ReplyError>,
  ): Promise<readonly ReplyEvent[]> {
    try {
      const events = await reader.readEvents(request)
      // A session that doesn't exist yet may be created later.
      if (!events.some(({ type }) => type === 'snapshot')) following.noteUnreadable(request.sessionID)
      return events
    } catch (error) {
      failures.set(request, toReplyError(error))
      following.noteUnreadable(request.sessionID)
      return []
    }
  }

  /**
   * Learns the server's capabilities, spelling of directories and newest times, then resolves with the reads to make
   * for this connection. None if the server shows no state of sessions. Each response extends the waits of callers.
   * Rejects if the server doesn't answer.
   */
  async function prepareReads(): Promise<readonly ReadRequest[]> {
    await learnServerInfo()
    readiness.extendWaits()
    await watching.spellDirectories().catch(failWaitersIfRefused)
    readiness.extendWaits()
    if (!info.current().canRead) return []
    // Each session that is followed by itself is read before its first event.
    if (following.isEvery()) await watching.readBaseline()
    readiness.extendWaits()
    const open = engine.openReplies().map((reply): ReadRequest => ({ ...sessionRefOf(reply), reply, gap: true }))
    const { requests: watched, isWhole } = await watching.listReads(gapSince)
    readiness.extendWaits()
    recheckDirectories.setUnreadSince(isWhole ? undefined : (gapSince ?? engine.listeningFrom() ?? 0))
    const requests = new Map([...watched, ...open].map((request) => [request.sessionID, request]))
    const reading = source.startReading()
    return [...requests.values()].map((request) => ({ ...request, since: gapSince, reading, complete: true }))
  }

  /** Rethrows the error. If the server has no such directory, first rejects the callers that wait. */
  function failWaitersIfRefused(error: unknown): never {
    if (error instanceof ReplyError && error.type === 'refused') readiness.failWaiters(error)
    throw error
  }

  /**
   * Reads the capabilities, and sets the silence timer by them. Keeps the timer if `silenceMs` was passed, or if a
   * newer connection reads them.
   */
  async function learnServerInfo(): Promise<void> {
    const found = await info.learn()
    if (!found || settings.silenceMs !== undefined) return
    silenceMs = found.silenceMs ?? Number.POSITIVE_INFINITY
    eventStream.restartSilenceTimer()
  }

  /**
   * Ends the gap: marks the connection as live, reports that, and starts the reads and rechecks of what may still be
   * missing. `failedRequests` are read again.
   */
  function onSynced(failedRequests: readonly ReadRequest[]): void {
    const newsSince = gapSince ?? engine.listeningFrom()
    gapSince = undefined
    stopLostTimer?.()
    stopLostTimer = undefined
    eventStream.resetBackOff()
    readiness.markLive()
    watching.readNewWatches()
    reportConnectionToReplies('live')
    unseenSessions.readUnassigned()
    settings.onConnection?.('live')
    recheck.start(failedRequests, newsSince)
    recheckDirectories.start()
  }

  /**
   * Begins a gap, unless one goes on: marks the connection as lost, reports that and stops the rechecks. Drops the events that
   * were held back, because the next connection reads what they changed. Open replies end as lost after `lostAfterMs` without a
   * connection. If the server shows no state of sessions, these events are applied instead, and open replies end at once.
   */
  function onLost(loss: StreamLoss): void {
    const { reason } = loss
    if (readiness.isLive()) {
      settings.onConnection?.('lost', reason)
      // Unfinished reads become part of the next gap.
      const unread = [recheckDirectories, recheck, watching].map((each) => each.unreadSince())
      gapSince ??= earliest([...unread, engine.newestAt()]) ?? 0
    }
    readiness.markLost(loss)
    const unapplied = takeHeld()
    recheck.stop()
    recheckDirectories.stop()
    onError(reason)
    const { canRead } = info.current()
    if (!canRead) engine.apply(unapplied)
    reportConnectionToReplies('lost')
    // Missed events can't be read, so the end of an open reply would never arrive.
    if (!canRead) settleOpenAsLost()
    else stopLostTimer ??= clock.after(settings.lostAfterMs, settleOpenAsLost)
  }

  /** Sets the state of the connection in all open replies. */
  function reportConnectionToReplies(connection: 'live' | 'lost'): void {
    const at = clock.now()
    engine.apply(
      engine.openReplies().map(({ sessionID }): ReplyEvent => ({ type: 'connection', sessionID, connection, at })),
    )
  }

  /** Settles all open replies as lost, with the reason `unreachable`. */
  function settleOpenAsLost(): void {
    const end = { type: 'settle', at: clock.now(), by: 'lost', reason: 'unreachable' } as const
    engine.apply(engine.openReplies().map(({ sessionID }) => ({ ...end, sessionID })))
  }

  /**
   * Ends the event stream, all timers and rechecks, and the waits of callers. Events that are held back are dropped,
   * and a sync that is under way has no effect.
   */
  function close(): void {
    stopLostTimer?.()
    eventStream.close()
    takeHeld()
    recheck.stop()
    recheckDirectories.stop()
    unseenSessions.stop()
    following.stop()
    readiness.close()
  }
}

interface UnseenSessions {
  /** Reads the sessions that events are held for: unknown ones at once, others after `patienceMs`. */
  readUnassigned(): void
  /** Stops all timers, and sets no more. */
  stop(): void
}

/** How long a message may still arrive on the stream before it is read over REST, in ms. */
const patienceMs = 250

/** How long until a session may be read again, in ms. An immediate second read would show the same. */
const readAgainMs = 30_000

/**
 * Creates the reads of sessions whose parent or messages the stream never sent, because they began before this client
 * listened. From now on, such a session is read and applied.
 */
function createUnseenSessions({ engine, reader, clock, onError }: Drive, isLive: () => boolean): UnseenSessions {
  const recentlyRead = new Set<string>()
  let stopTimer: (() => void) | undefined
  let isStopped = false
  const stops = new Set<() => void>()
  engine.onApplied(readUnassignedNow)
  engine.onStep(({ reply, changes }) => {
    for (const change of changes)
      if (change.type === 'childStarted') readSilentChildLater(reply.sessionID, change.child.reply.sessionID)
  })
  return { readUnassigned: readUnassignedNow, stop: stopTimers }

  /**
   * Reads unknown sessions at once, and those with held events after `patienceMs`. Does nothing while the connection is
   * down.
   */
  function readUnassignedNow(): void {
    if (!isLive()) return
    for (const sessionID of engine.unassignedSessions()) readAtMostOnce(sessionID)
    if (engine.hasHeldEvents()) stopTimer ??= clock.after(patienceMs, readHeldSessions)
  }

  /** Reads the sessions whose events are still held, except those that were just read. */
  function readHeldSessions(): void {
    stopTimer = undefined
    for (const sessionID of engine.sessionsWithHeldEvents()) readAtMostOnce(sessionID)
  }

  /**
   * Reads a sub-agent that has no events after `patienceMs`, because it ended before this client listened. Does nothing
   * if its root has settled or the connection is down by then.
   */
  function readSilentChildLater(rootID: string, childID: string): void {
    schedule(patienceMs, () => {
      const root = engine.openReply(rootID)
      if (root && isLive() && findReply(root, childID)?.phase === 'waiting') readAtMostOnce(childID)
    })
  }

  /**
   * Reads a session in the background and applies the read, or reports its failure. Skips a session that is being read
   * or was read within the last `readAgainMs`.
   */
  function readAtMostOnce(sessionID: string): void {
    if (recentlyRead.has(sessionID)) return
    recentlyRead.add(sessionID)
    const since = engine.listeningFrom()
    void reader
      .readEvents({ ...engine.placeOf(sessionID), reply: engine.openReply(sessionID), gap: true, since })
      .then((events) => engine.apply(events))
      .catch((error: unknown) => onError(toReplyError(error)))
      .finally(() => {
        schedule(readAgainMs, () => recentlyRead.delete(sessionID))
      })
  }

  /** Stops all timers for good. A read that is under way is still applied. */
  function stopTimers(): void {
    isStopped = true
    stopTimer?.()
    for (const stopOne of stops) stopOne()
    stops.clear()
  }

  /** Calls `run` after the delay, unless the timers are stopped before. Does nothing if they are already. */
  function schedule(delayMs: number, run: () => void): void {
    if (isStopped) return
    const stopOne = clock.after(delayMs, () => {
      stops.delete(stopOne)
      run()
    })
    stops.add(stopOne)
  }
}
