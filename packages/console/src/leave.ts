import { EXIT } from './exit.ts'
import type { World } from './world.ts'

export interface LeavingOptions {
  /** Called on Control-C. Returns the exit code, or undefined to stay. */
  readonly interrupted: () => number | undefined
  /** The exit code when the reader of standard output left. Default: 0. */
  readonly readerLeft?: number | undefined
}

/** The ways to leave a command early. */
export interface Leaving {
  /** Resolves with the exit code when the command should end. */
  readonly code: Promise<number>
  stop(): void
}

/** Listens for signals that end a process, so that the screen and keyboard can be restored first. */
export function leaving(world: World, { interrupted, readerLeft = EXIT.done }: LeavingOptions): Leaving {
  let leave: (code: number) => void = () => {}
  const code = new Promise<number>((resolve) => {
    leave = resolve
  })
  const stops = [
    world.onSignal('SIGINT', () => {
      const decided = interrupted()
      if (decided !== undefined) leave(decided)
    }),
    world.onSignal('SIGTERM', () => leave(EXIT.terminated)),
    world.onSignal('SIGHUP', () => leave(EXIT.hungUp)),
    world.onSignal('SIGPIPE', () => leave(readerLeft)),
  ]
  return {
    code,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
