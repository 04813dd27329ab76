/** One transaction for all that is asked for in the same turn of the event loop: the disk is waited for once. */
export interface Grouped<Task, Result> {
  /** Resolves with the result of the task, once its transaction is on the disk. */
  add(task: Task): Promise<Result>
  /** What was added and not done yet, in its order. */
  waiting(): readonly Task[]
  /** Does at once what was added so far, so that what follows sees it. */
  flush(): void
}

export interface GroupedOptions<Task, Result> {
  /** Does all tasks in one transaction, each as a whole or not at all. Throws if the transaction failed. */
  readonly run: (tasks: readonly Task[]) => readonly Result[]
  /** Whether an error says that nothing was changed, and that a later try may succeed. */
  readonly isBusy: (error: unknown) => boolean
}

interface Waiting<Task, Result> {
  readonly task: Task
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export function createGrouped<Task, Result>({ run, isBusy }: GroupedOptions<Task, Result>): Grouped<Task, Result> {
  let waiting: readonly Waiting<Task, Result>[] = []
  return { add, flush, waiting: () => waiting.map(({ task }) => task) }

  async function add(task: Task): Promise<Result> {
    return await new Promise((resolve, reject) => {
      if (waiting.length === 0) setImmediate(flush)
      waiting = [...waiting, { task, resolve, reject }]
    })
  }

  function flush(): void {
    const group = waiting
    waiting = []
    if (group.length > 0) settle(group)
  }

  function settle(group: readonly Waiting<Task, Result>[]): void {
    try {
      const results = run(group.map(({ task }) => task))
      for (const [index, result] of results.entries()) group[index]?.resolve(result)
    } catch (error) {
      // One of them may be the cause, which is not the fault of the others.
      if (group.length > 1 && !isBusy(error)) for (const one of group) settle([one])
      else for (const { reject } of group) reject(error)
    }
  }
}
