import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import { sessionRefOf } from '../../session-ref.ts'
import type { Drive } from '../drive.ts'
import type { DriveOptions, Settings } from '../options.ts'
import { createEventStream, type EventStream, type StreamLoss } from './event-stream.ts'
import type { Liveness } from './liveness.ts'
import { createOrphans } from './orphans.ts'
import type { ReadRequest } from './read-snapshot.ts'
import { createRecheck, createRecheckDirectories } from './recheck.ts'
import { toReplyError } from './session-reader.ts'
import type { Watching } from './watch.ts'

export interface Connection {
  close(): void
}

/** All settings, with guarded callbacks. */
type ConnectionSettings = Settings & Pick<DriveOptions, 'directory' | 'silenceMs' | 'onFrame' | 'onConnection'>

/** At 5,000 events per second, a minute and a half. */
const maxKept = 500_000

/**
 * The connection to the server, from one gap to the next:
 *
 * 1. The event stream opens (`event-stream.ts`). Its events are held back.
 * 2. `listSessions` says what to read: every session that may have missed events in the gap. `sync` reads them over REST
 * and applies the snapshots, then the events held back. Events are idempotent, so what both contain counts once.
 * 3. `onSynced`: the connection is up. `recheck.ts` reads sessions and directories later that could not be read in time, and
 * `orphans.ts` sessions that the stream names without introducing them.
 * 4. `onLost`: the stream broke. The gap begins, and `event-stream.ts` tries again from 1. After `lostAfterMs` without
 * a connection, open replies end as lost.
 */
export function createConnection(
  drive: Drive,
  settings: ConnectionSettings,
  liveness: Liveness,
  watching: Watching,
): Connection {
  const { source, info, engine, reader, clock, onError } = drive
  let silenceMs = settings.silenceMs ?? info.current().silenceMs ?? Number.POSITIVE_INFINITY
  /** When the gap began: the newest time received before it, by the server's clock. Undefined while there is none. */
  let gapSince: number | undefined
  let stopGivingUp: (() => void) | undefined
  /** Events that are held back until the snapshots of this connection are in. */
  let kept: ReplyEvent[] | undefined = []
  /** Counts connections: a read of an earlier one is ignored. */
  let generation = 0

  const recheck = createRecheck(drive, reader)
  const recheckDirectories = createRecheckDirectories(watching, recheck, clock)
  const orphans = createOrphans(drive, liveness.isLive)
  const eventStream: EventStream = createEventStream({
    ...settings,
    source,
    receive,
    onLost,
    silenceMs: () => silenceMs,
    whenWanted: liveness.whenWanted,
  })
  return { close }

  function receive(events: readonly ReplyEvent[]): void {
    if (events.some((event) => event.type === 'connected')) liveness.heard()
    hold(events)
    // The pending asks of a disposed instance are gone, without an event.
    if (events.some((event) => event.type === 'disposed')) recheck.again()
    for (const event of events) if (event.type === 'missed') readMissed(event.inSession)
  }

  /** Reads what is missing of a session, with the tree that it belongs to. */
  function readMissed(sessionID: string): void {
    const root = engine.openReplies().find((reply) => findReply(reply, sessionID))
    if (root) recheck.now(root.sessionID)
    else if (engine.newestReply(sessionID)) recheck.now(sessionID)
  }

  /** Holds events back until the snapshots of this connection are in, and applies them from then on. */
  function hold(events: readonly ReplyEvent[]): void {
    const start = events.findIndex((event) => event.type === 'connected')
    if (!kept) engine.apply(events)
    else if (kept.length < maxKept) for (const event of events) kept.push(event)
    else
      eventStream.reconnect(
        new ReplyError('too-large', `More than ${maxKept} events arrived while the sessions were being read.`),
      )
    if (start !== -1) void sync(++generation)
  }

  /** Drops the events held back: everything is read again. */
  function dropHeld(): void {
    generation += 1
    kept = []
  }

  async function sync(mine: number): Promise<void> {
    try {
      const requests = await listSessions()
      const failures = new Map<ReadRequest, ReplyError>()
      const snapshots = await Promise.all(requests.map((request) => readOne(request, failures)))
      // One unreadable session must not cost the others their connection. Without the server, the connection is
      // useless.
      const dead = [...failures.values()].find(({ type }) => type === 'unreachable' || type === 'unauthorized')
      if (dead && failures.size === requests.length) throw dead
      for (const failure of failures.values()) onError(failure)
      if (mine !== generation) return
      const events = kept ?? []
      kept = undefined
      const [first, ...rest] = events
      engine.apply([...(first ? [first] : []), ...snapshots.flat(), ...rest])
      onSynced([...failures.keys()])
    } catch (cause) {
      if (mine === generation) eventStream.reconnect(toReplyError(cause))
    }
  }

  async function readOne(request: ReadRequest, failures: Map<ReadRequest, ReplyError>): Promise<readonly ReplyEvent[]> {
    try {
      return await reader.readEvents(request)
    } catch (error) {
      failures.set(request, toReplyError(error))
      return []
    }
  }

  async function listSessions(): Promise<readonly ReadRequest[]> {
    await learn()
    liveness.heard()
    await watching.spell().catch(failForGood)
    liveness.heard()
    if (!info.current().canRead) return []
    await watching.readBaseline()
    liveness.heard()
    const open = engine.openReplies().map((reply): ReadRequest => ({ ...sessionRefOf(reply), reply, gap: true }))
    const { requests: watched, isWhole } = await watching.atWork(gapSince)
    liveness.heard()
    recheckDirectories.note(isWhole ? undefined : (gapSince ?? engine.listeningFrom() ?? 0))
    const requests = new Map([...watched, ...open].map((request) => [request.sessionID, request]))
    const reading = source.startReading()
    return [...requests.values()].map((request) => ({ ...request, since: gapSince, reading, complete: true }))
  }

  /** A directory that the server surely lacks does not come by waiting. */
  function failForGood(error: unknown): never {
    if (error instanceof ReplyError && error.type === 'refused') liveness.refuse(error)
    throw error
  }

  async function learn(): Promise<void> {
    const found = await info.learn()
    if (!found || settings.silenceMs !== undefined) return
    silenceMs = found.silenceMs ?? Number.POSITIVE_INFINITY
    eventStream.rearm()
  }

  function onSynced(unread: readonly ReadRequest[]): void {
    const newsSince = gapSince ?? engine.listeningFrom()
    gapSince = undefined
    stopGivingUp?.()
    stopGivingUp = undefined
    eventStream.succeed()
    liveness.up()
    watching.attachNew()
    updateReplies('live')
    orphans.review()
    settings.onConnection?.('live')
    recheck.begin(unread, newsSince)
    recheckDirectories.begin()
  }

  function onLost(loss: StreamLoss): void {
    const { reason } = loss
    if (liveness.isLive()) {
      settings.onConnection?.('lost', reason)
      // What was still to be read is part of the next gap.
      gapSince ??= recheckDirectories.unreadSince() ?? recheck.unreadSince() ?? engine.newestAt() ?? 0
    }
    liveness.lost(loss)
    dropHeld()
    recheck.stop()
    recheckDirectories.stop()
    onError(reason)
    updateReplies('lost')
    // What was missed can't be read: the end of an open reply would never be seen.
    if (!info.current().canRead) giveUp()
    else stopGivingUp ??= clock.after(settings.lostAfterMs, giveUp)
  }

  function updateReplies(connection: 'live' | 'lost'): void {
    const at = clock.now()
    engine.apply(
      engine.openReplies().map(({ sessionID }): ReplyEvent => ({ type: 'connection', sessionID, connection, at })),
    )
  }

  function giveUp(): void {
    const end = { type: 'settle', at: clock.now(), by: 'lost', reason: 'unreachable' } as const
    engine.apply(engine.openReplies().map(({ sessionID }) => ({ ...end, sessionID })))
  }

  function close(): void {
    stopGivingUp?.()
    eventStream.close()
    dropHeld()
    recheck.stop()
    recheckDirectories.stop()
    orphans.stop()
    liveness.close()
  }
}
