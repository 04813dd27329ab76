/** What is at work, for a `stop` that waits for it. */
export interface OpenTasks {
  /** Keeps a promise that never rejects until it settles, and returns it. */
  add<T>(task: Promise<T>): Promise<T>
  /** Resolves when all that were added so far have settled. */
  rest(): Promise<void>
}

/** Keeps what is at work. */
export function createOpenTasks(): OpenTasks {
  const open = new Set<Promise<unknown>>()
  return {
    add: (task) => {
      const one = task.finally(() => open.delete(one))
      open.add(one)
      return one
    },
    rest: async () => {
      await Promise.all(open)
    },
  }
}
