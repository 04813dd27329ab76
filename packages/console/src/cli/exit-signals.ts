import { EXIT } from './exit-code.ts'
import type { ProcessIO } from './process-io.ts'

export interface EarlyExitOptions {
  /** Called on Control-C. Returns the exit code, or undefined to stay. */
  readonly interrupted: () => number | undefined
  /** The exit code when the reader of standard output left. Default: 0. */
  readonly readerLeft?: number | undefined
}

/** The ways to leave a command early. */
export interface EarlyExit {
  /** Resolves with the exit code when the command should end. */
  readonly code: Promise<number>
  stop(): void
}

/** Listens for signals that end a process, so that the screen and keyboard can be restored first. */
export function listenForExit(io: ProcessIO, { interrupted, readerLeft = EXIT.done }: EarlyExitOptions): EarlyExit {
  let leave: (code: number) => void = () => {}
  const code = new Promise<number>((resolve) => {
    leave = resolve
  })
  const stops = [
    io.onSignal('SIGINT', () => {
      const decided = interrupted()
      if (decided !== undefined) leave(decided)
    }),
    io.onSignal('SIGTERM', () => leave(EXIT.terminated)),
    io.onSignal('SIGHUP', () => leave(EXIT.hungUp)),
    io.onSignal('SIGPIPE', () => leave(readerLeft)),
  ]
  return {
    code,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
