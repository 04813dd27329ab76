import type { Clock } from '@reply/core'
import type { Input } from '../terminal/keyboard.ts'
import type { Environment, Output } from '../terminal/surface.ts'

/** `SIGPIPE` is also raised when the reader of standard output has left. */
export type Signal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGPIPE'

/** The streams, environment and signals of the process. Without parts of the core, so that `--help` starts fast. */
export interface Terminal {
  readonly stdin: Input
  readonly stdout: Output
  readonly stderr: Output
  readonly env: Environment
  /** Calls `run` on every such signal. Returns a function that stops listening. */
  onSignal(signal: Signal, run: () => void): () => void
}

/** Everything that a command uses of its process. */
export interface ProcessIO extends Terminal {
  readonly clock: Clock
}
