import { ConsoleError } from './error.ts'
import type { World } from './world.ts'

/** One sentence: what can't be written, why, and the cure. */
export function unwritable(what: string, cause: unknown): ConsoleError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const words = cause instanceof Error ? cause.message : String(cause)
  const reason = code === 'ENOSPC' ? 'no space is left on the device' : words
  return new ConsoleError('unwritable', `${what} can't be written: ${reason}. Make room, or write elsewhere.`, {
    cause,
  })
}

export interface Stdout {
  /** The same machine; its commands are told to leave, as by SIGTERM, once nothing they write arrives. */
  readonly world: World
  /** Why not all that was written has arrived; undefined when it has. Waits until the last of it is out. */
  failure(): Promise<ConsoleError | undefined>
}

/** Remembers that standard output failed. A reader that left a pipe is none: whoever reads no more has enough. */
export function watchStdout(world: World): Stdout {
  const { stdout } = world
  const leaves = new Set<() => void>()
  let failed: ConsoleError | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (failed !== undefined || error.code === 'EPIPE') return
    failed = unwritable('Standard output', error)
    for (const leave of [...leaves]) leave()
  })

  function onSignal(signal: Parameters<World['onSignal']>[0], run: () => void): () => void {
    const stop = world.onSignal(signal, run)
    if (signal !== 'SIGTERM') return stop
    leaves.add(run)
    if (failed !== undefined) queueMicrotask(run)
    return () => {
      leaves.delete(run)
      stop()
    }
  }

  return {
    world: { ...world, onSignal },
    async failure() {
      // A write calls back before its stream tells of the error.
      await new Promise<void>((resolve) => void stdout.write('', () => setImmediate(resolve)))
      return failed
    },
  }
}
