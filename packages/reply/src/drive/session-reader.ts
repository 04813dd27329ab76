import { ReplyError } from '../error.ts'
import type { ReplyEvent, SnapshotEvent } from '../event.ts'
import type { Drive } from './drive.ts'
import { type ReadRequest, readSnapshot } from './read-snapshot.ts'

/**
 * Reads sessions. Rejects only with a `ReplyError`: `gone` if the server doesn't know the session, `malformed` if its
 * response can't be understood, otherwise the source's error.
 */
export interface SessionReader {
  /** Reads a session with its running sub-agents, and calls the `onRead` listeners. Doesn't apply the read. */
  read(request: ReadRequest): Promise<SnapshotEvent>
  /**
   * Like `read`, but returns events to apply: the snapshot, or the removal of a session that the server doesn't know.
   * Empty if the server shows no state of sessions.
   */
  readEvents(request: ReadRequest): Promise<readonly ReadEvent[]>
  /** Calls the listener with each snapshot, before it is applied. */
  onRead(listener: (snapshot: SnapshotEvent) => void): void
}

export type ReadEvent = SnapshotEvent | Extract<ReplyEvent, { readonly type: 'session-removed' }>

/** Creates the reader of sessions over REST, which every read of the drive goes through. */
export function createSessionReader(drive: Omit<Drive, 'reader'>): SessionReader {
  const listeners: ((snapshot: SnapshotEvent) => void)[] = []
  return { read, readEvents, onRead: (listener) => listeners.push(listener) }

  /**
   * Reads a session, calls the `onRead` listeners and resolves with the snapshot. Rejects with a `ReplyError`, and
   * turns any other error, also of a listener, into `malformed`.
   */
  async function read(request: ReadRequest): Promise<SnapshotEvent> {
    try {
      const snapshot = await readSnapshot(drive, request)
      for (const listener of listeners) listener(snapshot)
      return snapshot
    } catch (cause) {
      if (cause instanceof ReplyError) throw cause
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new ReplyError('malformed', `Session ${request.sessionID} could not be read: ${reason}.`, { cause })
    }
  }

  /**
   * Reads a session as events to apply. Resolves with its removal if it is gone, and with none if the server shows no
   * state of sessions. Rejects like `read` otherwise.
   */
  async function readEvents(request: ReadRequest): Promise<readonly ReadEvent[]> {
    if (!drive.info.current().canRead) return []
    try {
      return [await read(request)]
    } catch (error) {
      if (!(error instanceof ReplyError) || error.type !== 'gone') throw error
      return [{ type: 'session-removed', sessionID: request.sessionID, at: drive.clock.now(), by: 'rest' }]
    }
  }
}

/** Returns a `ReplyError` as it is, and any other error as `malformed`. */
export function toReplyError(error: unknown): ReplyError {
  if (error instanceof ReplyError) return error
  return new ReplyError('malformed', error instanceof Error ? error.message : String(error), { cause: error })
}
