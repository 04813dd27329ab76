import type { Clock } from '@reply/core'
import type { Input } from './keyboard.ts'
import type { Environment, Output } from './surface.ts'

/** `SIGPIPE` also says that the reader of standard output has left. */
export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE'

/** All that a command touches of the machine it runs on. */
export interface World {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
  readonly clock: Clock
  /** Calls at every such signal. Returns the undo. */
  onSignal(signal: Signal, run: () => void): () => void
}
