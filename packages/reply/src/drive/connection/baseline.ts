import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { Source } from '../../source/port.ts'
import type { Engine } from '../engine.ts'

export interface BaselineOptions {
  readonly engine: Engine
  readonly source: Pick<Source, 'newestTime'>
  readonly clock: Clock
  readonly onError: OnError
}

/** Reads once what a directory contains before its sessions are watched: existing content is not news. Never rejects. */
export type Baseline = (directory: string | undefined) => Promise<void>

export function createBaseline({ engine, source, clock, onError }: BaselineOptions): Baseline {
  const listened = new Set<string | undefined>()
  return async (directory) => {
    if (listened.has(directory)) return
    try {
      const from = await source.newestTime(directory)
      listened.add(directory)
      if (from !== undefined) engine.apply([{ type: 'listening', from, at: clock.now() }])
    } catch (error) {
      // The resync reports a server that doesn't answer.
      if (error instanceof ReplyError && error.type !== 'unreachable') onError(error)
    }
  }
}
