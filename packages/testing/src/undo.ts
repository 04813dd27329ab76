const pending = new Set<() => void>()
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

const undoAll = (): void => {
  for (const undo of pending) undo()
  pending.clear()
}

/** Ends the process as the signal would have, unless somebody else listens too: then the end is theirs to decide. */
const onSignal = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return
  undoAll()
  forget()
  process.kill(process.pid, signal)
}

const forget = (): void => {
  process.off('exit', undoAll)
  for (const signal of signals) process.off(signal, onSignal)
}

/**
 * Runs `undo`, which must be synchronous, should the process end before the returned function was called. A process has
 * one exit, so this is the one thing here that all launches share.
 */
export const undoAtExit = (undo: () => void): (() => void) => {
  if (pending.size === 0) {
    process.on('exit', undoAll)
    for (const signal of signals) process.on(signal, onSignal)
  }
  pending.add(undo)
  return () => {
    pending.delete(undo)
    if (pending.size === 0) forget()
  }
}
