import type { SnapshotEvent } from '../../event.ts'
import { type ReadOptions, type ReadSession, readSnapshot } from './read-snapshot.ts'

export interface SessionReader {
  readonly read: ReadSession
  /** Calls the listener with each snapshot, before it is applied. */
  onRead(listener: (snapshot: SnapshotEvent) => void): void
}

export function createSessionReader(options: ReadOptions): SessionReader {
  const listeners: ((snapshot: SnapshotEvent) => void)[] = []
  return {
    read: async (request) => {
      const snapshot = await readSnapshot(options, request)
      for (const listener of listeners) listener(snapshot)
      return snapshot
    },
    onRead: (listener) => listeners.push(listener),
  }
}
