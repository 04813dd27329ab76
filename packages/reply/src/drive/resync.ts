import { type OnError, ReplyError } from '../error.ts'
import type { ReplyEvent, SnapshotEvent } from '../event.ts'
import type { ReadRequest } from './read.ts'

export interface ResyncOptions {
  readonly onError: OnError
  readonly now: () => number
  readonly apply: (events: readonly ReplyEvent[]) => void
  readonly read: (request: ReadRequest) => Promise<SnapshotEvent>
  /** What has to be read after a gap: the open replies' sessions, and those that somebody watches and that are at work. */
  readonly sessions: () => Promise<readonly ReadRequest[]>
  /** The snapshots could not be had: the connection is of no use. */
  readonly onFailed: (reason: ReplyError) => void
  /** What was missed has been read and applied, but for the sessions that could not be read. */
  readonly onSynced: (unread: readonly ReadRequest[]) => void
}

export interface Resync {
  /** Events from the stream; they are kept back until the snapshots of this connection are in. */
  receive(events: readonly ReplyEvent[]): void
  /** The stream is gone: what was kept back is of no use any more, since all will be read again. */
  lost(): void
}

/** At 5,000 events a second it is a minute and a half. */
const maxKept = 500_000

/**
 * Closes the gap before each connection: from `connected` on events are kept, the sessions are read over REST, the
 * snapshots go in first and the kept events after them. Those are idempotent, so what both tell counts once.
 */
export function createResync(options: ResyncOptions): Resync {
  let kept: ReplyEvent[] | undefined = []
  let generation = 0
  return { receive, lost }

  function receive(events: readonly ReplyEvent[]): void {
    const start = events.findIndex((event) => event.type === 'connected')
    if (!kept) options.apply(events)
    else if (kept.length < maxKept) for (const event of events) kept.push(event)
    else options.onFailed(new ReplyError('too-large', `More than ${maxKept} events came while the sessions were read.`))
    if (start !== -1) void sync(++generation)
  }

  async function sync(mine: number): Promise<void> {
    try {
      const requests = await options.sessions()
      const failures = new Map<ReadRequest, ReplyError>()
      const snapshots = await Promise.all(requests.map((request) => readOne(request, failures)))
      // One session that cannot be read must not cost the others their connection. Without the server it is of no use.
      const dead = [...failures.values()].find(({ type }) => type === 'unreachable' || type === 'unauthorized')
      if (dead && failures.size === requests.length) throw dead
      for (const failure of failures.values()) options.onError(failure)
      if (mine !== generation) return
      const events = kept ?? []
      kept = undefined
      const [first, ...rest] = events
      const found = snapshots.filter((snapshot) => snapshot !== undefined)
      options.apply([...(first ? [first] : []), ...found, ...rest])
      options.onSynced([...failures.keys()])
    } catch (cause) {
      if (mine !== generation) return
      const reason =
        cause instanceof ReplyError
          ? cause
          : new ReplyError('unreachable', 'The sessions could not be read.', { cause })
      options.onFailed(reason)
    }
  }

  async function readOne(
    request: ReadRequest,
    failures: Map<ReadRequest, ReplyError>,
  ): Promise<ReplyEvent | undefined> {
    try {
      return await options.read(request)
    } catch (error) {
      const failure =
        error instanceof ReplyError
          ? error
          : new ReplyError('malformed', `Session ${request.sessionID} could not be read.`, { cause: error })
      if (failure.type !== 'gone') {
        failures.set(request, failure)
        return undefined
      }
      return { type: 'session-removed', sessionID: request.sessionID, at: options.now(), by: 'rest' }
    }
  }

  function lost(): void {
    generation += 1
    kept = []
  }
}
