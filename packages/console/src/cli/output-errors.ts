import { ConsoleError } from './error.ts'
import type { Signal, Terminal } from './process-io.ts'

/** Returns the error for a failed write, with the reason and the cure. */
export function unwritable(what: string, cause: unknown): ConsoleError {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  const message = cause instanceof Error ? cause.message : String(cause)
  const reason = code === 'ENOSPC' ? 'no space left on the device' : message
  return new ConsoleError('unwritable', `${what} can't be written: ${reason}. Make room, or write elsewhere.`, {
    cause,
  })
}

export interface Stdout {
  /** The given terminal. Also raises a signal when writing fails: SIGPIPE if the reader left, or else SIGTERM. */
  readonly io: Terminal
  /** Why some output was not written. Undefined if all was. Waits for pending writes. */
  failure(): Promise<ConsoleError | undefined>
}

/**
 * Detects when standard output can no longer be written, and then raises a signal in the returned terminal. A reader that left
 * a pipe does not count as a failure.
 */
export function watchStdout(io: Terminal): Stdout {
  const { stdout } = io
  const listeners = new Set<{ readonly signal: Signal; readonly run: () => void }>()
  let failed: ConsoleError | undefined
  let raised: Signal | undefined
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Every write after the first failure fails as well.
    if (raised !== undefined) return
    raised = error.code === 'EPIPE' ? 'SIGPIPE' : 'SIGTERM'
    if (raised === 'SIGTERM') failed = unwritable('Standard output', error)
    for (const { signal, run } of [...listeners]) if (signal === raised) run()
  })

  /** Calls `run` on the signal, also if writing failed before. Returns a function that undoes it. */
  function onSignal(signal: Signal, run: () => void): () => void {
    const listener = { signal, run }
    const stop = io.onSignal(signal, run)
    listeners.add(listener)
    if (raised === signal) queueMicrotask(run)
    return () => {
      listeners.delete(listener)
      stop()
    }
  }

  return {
    io: { ...io, onSignal },
    async failure() {
      // A write calls back before its stream emits the error.
      await new Promise<void>((resolve) => void stdout.write('', () => setImmediate(resolve)))
      return failed
    },
  }
}
