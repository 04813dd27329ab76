import { EXIT } from './exit.ts'
import type { World } from './world.ts'

/** The ways out of a command before its work is done. */
export interface Leaving {
  /** Resolves with the exit code when it is time to go. */
  readonly code: Promise<number>
  stop(): void
}

/**
 * Listens for the signals that end a process, so that the screen and the keyboard can be given back first.
 * `interrupted` decides what Control-C does: the exit code, or nothing to stay.
 */
export function leaving(world: World, interrupted: () => number | undefined): Leaving {
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
  ]
  return {
    code,
    stop() {
      for (const stop of stops) stop()
    },
  }
}
