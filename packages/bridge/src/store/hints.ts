/** Passes hints on within a process. */
export interface Hints {
  /** Calls all listeners, after the caller has gone on. */
  send(hint: string): void
  /** Adds a listener. Returns a function that removes it. */
  watch(onHint: (hint: string) => void): () => void
}

/** Creates hints without listeners. */
export function createHints(): Hints {
  const listeners = new Set<{ readonly onHint: (hint: string) => void }>()
  return {
    send: (hint) => {
      for (const listener of listeners)
        queueMicrotask(() => {
          if (listeners.has(listener)) listener.onHint(hint)
        })
    },
    watch: (onHint) => {
      const listener = { onHint }
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
