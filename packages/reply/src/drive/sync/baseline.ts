import { toReadMessages, toReadSessions } from '../../decode/rest.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { Clock } from '../clock.ts'
import type { Engine } from '../store/engine.ts'
import { latest, newestOf, timeOfMessages } from '../store/server-time.ts'
import type { Rest } from '../transport/rest.ts'

export interface BaselineOptions {
  readonly engine: Engine
  readonly rest: Pick<Rest, 'newestSession' | 'newestMessage'>
  readonly clock: Clock
  readonly onError: OnError
}

/** Reads once what a directory contains before its sessions are watched: existing content is not news. Never rejects. */
export type Baseline = (directory: string | undefined) => Promise<void>

export function createBaseline({ engine, rest, clock, onError }: BaselineOptions): Baseline {
  const listened = new Set<string | undefined>()
  return async (directory) => {
    if (listened.has(directory)) return
    try {
      const newest = newestOf(toReadSessions(await rest.newestSession(directory)))
      listened.add(directory)
      let from = newest?.updatedAt
      // A session's own time may be older than its latest message; so may its parent's.
      for (const sessionID of [newest?.id, newest?.parentID]) {
        if (sessionID === undefined) continue
        const place = { sessionID, directory: newest?.directory ?? directory }
        const said = await rest.newestMessage(place).catch(() => undefined)
        if (said !== undefined) from = latest(from, timeOfMessages(toReadMessages(said, onError)))
      }
      if (from !== undefined) engine.apply([{ type: 'listening', from, at: clock.now() }])
    } catch (error) {
      // The resync reports a server that doesn't answer.
      if (error instanceof ReplyError && error.type !== 'unreachable') onError(error)
    }
  }
}
