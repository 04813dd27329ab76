import { EXIT } from './exit-code.ts'
import type { ProcessIO } from './process-io.ts'

export interface ExitHandlers {
  /** Called on Control-C. Returns the exit code, or undefined to stay. */
  readonly interrupted: () => number | undefined
  /** Called on SIGHUP. Returns the exit code, or undefined to stay. Default: exits with 129. */
  readonly hungUp?: (() => number | undefined) | undefined
  /** The exit code when the reader of standard output left. Default: 0. */
  readonly readerLeft?: number | undefined
}

/** The ways to leave a command early. */
export interface EarlyExit {
  /** Resolves with the exit code when the command should end. */
  readonly code: Promise<number>
  /** Stops listening. */
  stop(): void
}

/**
 * Listens for signals that end a process, so that the screen and keyboard can be restored first. Its `code` resolves with
 * the exit code.
 */
export function listenForExit(
  io: ProcessIO,
  { interrupted, hungUp = () => EXIT.hungUp, readerLeft = EXIT.done }: ExitHandlers,
): EarlyExit {
  let leave: (code: number) => void = () => {}
  const code = new Promise<number>((resolve) => {
    leave = resolve
  })
  const leaveIf = (decide: () => number | undefined) => (): void => {
    const decided = decide()
    if (decided !== undefined) leave(decided)
  }
  const stops = [
    io.onSignal('SIGINT', leaveIf(interrupted)),
    io.onSignal('SIGTERM', () => leave(EXIT.terminated)),
    io.onSignal('SIGHUP', leaveIf(hungUp)),
    io.onSignal('SIGPIPE', () => leave(readerLeft)),
  ]
  return {
    code,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
