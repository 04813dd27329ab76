import type { SteadyClock } from '../clock.ts'
import type { OnError } from '../error.ts'
import type { Source } from '../source/port.ts'
import type { Engine } from './engine.ts'
import type { ServerInfo } from './server-info.ts'
import type { SessionReader } from './session-reader.ts'

/** The client's state, its server and its error handler, shared by all of its parts. */
export interface Drive {
  readonly engine: Engine
  readonly source: Source
  readonly info: ServerInfo
  readonly reader: SessionReader
  readonly clock: SteadyClock
  readonly onError: OnError
}
