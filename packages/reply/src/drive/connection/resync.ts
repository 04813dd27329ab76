import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { Engine } from '../engine.ts'
import type { ReadRequest } from './read-snapshot.ts'
import { type SessionReader, toReplyError } from './session-reader.ts'

export interface ResyncOptions {
  readonly engine: Pick<Engine, 'apply'>
  readonly reader: SessionReader
  readonly onError: OnError
  /** What to read after a gap: the sessions of open replies, and watched sessions that are at work. */
  readonly listSessions: () => Promise<readonly ReadRequest[]>
  /** The snapshots could not be read: the connection is useless. */
  readonly onFailed: (reason: ReplyError) => void
  /** Missed events have been read and applied, except for sessions that could not be read. */
  readonly onSynced: (unread: readonly ReadRequest[]) => void
}

export interface Resync {
  /** Takes events from the stream; they are held back until the snapshots of this connection are in. */
  receive(events: readonly ReplyEvent[]): void
  /** The stream is gone: drops held events, because everything is read again. */
  lost(): void
}

/** At 5,000 events per second, a minute and a half. */
const maxKept = 500_000

/**
 * Closes the gap before each connection: from `connected` on it holds events back, reads the sessions over REST, then
 * applies the snapshots first and the held events after them. Events are idempotent, so what both contain counts once.
 */
export function createResync(options: ResyncOptions): Resync {
  const { engine, onError } = options
  let kept: ReplyEvent[] | undefined = []
  let generation = 0
  return { receive, lost }

  function receive(events: readonly ReplyEvent[]): void {
    const start = events.findIndex((event) => event.type === 'connected')
    if (!kept) engine.apply(events)
    else if (kept.length < maxKept) for (const event of events) kept.push(event)
    else
      options.onFailed(
        new ReplyError('too-large', `More than ${maxKept} events arrived while the sessions were being read.`),
      )
    if (start !== -1) void sync(++generation)
  }

  async function sync(mine: number): Promise<void> {
    try {
      const requests = await options.listSessions()
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
      options.onSynced([...failures.keys()])
    } catch (cause) {
      if (mine !== generation) return
      options.onFailed(toReplyError(cause))
    }
  }

  async function readOne(request: ReadRequest, failures: Map<ReadRequest, ReplyError>): Promise<readonly ReplyEvent[]> {
    try {
      return await options.reader.readEvents(request)
    } catch (error) {
      failures.set(request, toReplyError(error))
      return []
    }
  }

  function lost(): void {
    generation += 1
    kept = []
  }
}
