import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { findReply } from '../../reduce/child.ts'
import { sessionRefOf } from '../../session-ref.ts'
import type { Source } from '../../source/port.ts'
import type { Engine } from '../engine.ts'
import type { DriveOptions, Settings } from '../options.ts'
import type { Baseline } from './baseline.ts'
import { createEventStream, type EventStream, type StreamLoss } from './event-stream.ts'
import type { Liveness } from './liveness.ts'
import { createOrphans } from './orphans.ts'
import type { ReadRequest } from './read-snapshot.ts'
import { createRecheck, createRecheckDirectories } from './recheck.ts'
import { createResync } from './resync.ts'
import type { ServerInfo } from './server-info.ts'
import type { SessionReader } from './session-reader.ts'
import type { Watching } from './watch.ts'

export interface Connection {
  close(): void
}

/** All settings, with guarded callbacks. */
type ConnectionSettings = Settings & Pick<DriveOptions, 'directory' | 'silenceMs' | 'onFrame' | 'onConnection'>

export interface ConnectionParts {
  readonly source: Source
  readonly info: ServerInfo
  readonly settings: ConnectionSettings
  readonly engine: Engine
  readonly reader: SessionReader
  readonly liveness: Liveness
  readonly baseline: Baseline
  readonly watching: Watching
}

/**
 * The connection to the server, from one gap to the next:
 *
 * 1. The event stream opens (`event-stream.ts`). Its events are held back.
 * 2. `listSessions` says what to read: every session that may have missed events in the gap. `resync.ts` reads them and
 * applies the snapshots, then the events held back.
 * 3. `onSynced`: the connection is up. `recheck.ts` reads sessions and directories later that could not be read in time, and
 * `orphans.ts` sessions that the stream names without introducing them.
 * 4. `onLost`: the stream broke. The gap begins, and `event-stream.ts` tries again from 1. After `lostAfterMs` without
 * a connection, open replies end as lost.
 */
export function createConnection(all: ConnectionParts): Connection {
  const { source, info, settings, engine, reader, liveness, baseline, watching } = all
  const { clock, onError, lostAfterMs } = settings
  let silenceMs = settings.silenceMs ?? info.current().silenceMs ?? Number.POSITIVE_INFINITY
  /** When the gap began: the newest time received before it, by the server's clock. Undefined while there is none. */
  let gapSince: number | undefined
  let stopGivingUp: (() => void) | undefined

  const resync = createResync({ engine, reader, onError, listSessions, onFailed: reconnect, onSynced })
  const recheck = createRecheck({ engine, reader, clock, onError })
  const recheckDirectories = createRecheckDirectories(watching, recheck, clock)
  const orphans = createOrphans({ engine, reader, clock, onError, isLive: liveness.isLive })
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
    resync.receive(events)
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

  async function listSessions(): Promise<readonly ReadRequest[]> {
    await learn()
    liveness.heard()
    await watching.spell().catch(failForGood)
    liveness.heard()
    if (!info.current().canRead) return []
    await Promise.all(watching.directories().map(baseline))
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
    resync.lost()
    recheck.stop()
    recheckDirectories.stop()
    onError(reason)
    updateReplies('lost')
    // What was missed can't be read: the end of an open reply would never be seen.
    if (!info.current().canRead) giveUp()
    else stopGivingUp ??= clock.after(lostAfterMs, giveUp)
  }

  function reconnect(reason: ReplyError): void {
    eventStream.reconnect(reason)
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
    resync.lost()
    recheck.stop()
    recheckDirectories.stop()
    orphans.stop()
    liveness.close()
  }
}
