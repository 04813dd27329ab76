import type { Clock } from '@reply/core'

/** Tasks of places: those of a place run one after the other, those of different places at the same time. */
export interface PlaceLines<Item> {
  /**
   * Adds a task to the line of a place: before the waiting ones that `isBefore` puts behind its item, otherwise at the end. An
   * urgent one waits for those before it for at most `urgentMs`, and those behind it wait for all. The task must not reject.
   */
  add(place: string, turn: Turn<Item>): void
  /** Resolves when no task is left. */
  idle(): Promise<void>
}

/** A task and what it is about. */
export interface Turn<Item> {
  readonly item: Item
  readonly run: () => Promise<void>
  readonly isUrgent: boolean
}

interface Waiting<Item> extends Turn<Item> {
  /** Urgent tasks that left the line before it, and that it waits for. */
  readonly after: Promise<void>[]
}

interface Line<Item> {
  /** In the order in which they run. */
  waiting: readonly Waiting<Item>[]
  /** Urgent tasks that run beside the line. */
  readonly early: Set<Promise<void>>
  /** Resolves when the line is empty. */
  done: Promise<void>
}

/** Creates lines without a task. */
export function createPlaceLines<Item>({
  isBefore,
  urgentMs,
  clock,
}: {
  readonly isBefore: (one: Item, other: Item) => boolean
  readonly urgentMs: number
  readonly clock: Clock
}): PlaceLines<Item> {
  const lines = new Map<string, Line<Item>>()
  return {
    add,
    idle: async () => void (await Promise.all([...lines.values()].flatMap(({ done, early }) => [done, ...early]))),
  }

  /** Adds a task to its line, which it begins if there is none. */
  function add(place: string, turn: Turn<Item>): void {
    const existing = lines.get(place)
    const line = existing ?? { waiting: [], early: new Set<Promise<void>>(), done: Promise.resolve() }
    const waiting = { ...turn, after: [...line.early] }
    line.waiting = inserted(line.waiting, waiting)
    if (!existing) {
      lines.set(place, line)
      line.done = runAll(place, line)
    } else if (turn.isUrgent) clock.after(urgentMs, () => runEarly(line, waiting))
  }

  /** Returns the waiting tasks with one more. It overtakes only tasks that are surely behind it, up to the first other one. */
  function inserted(waiting: readonly Waiting<Item>[], one: Waiting<Item>): readonly Waiting<Item>[] {
    const index = waiting.findLastIndex(({ item }) => !isBefore(one.item, item)) + 1
    return waiting.toSpliced(index, 0, one)
  }

  /** Runs the tasks of a line until none is left, and forgets the line. */
  async function runAll(place: string, line: Line<Item>): Promise<void> {
    // What is added at the same time is sorted before the first one begins.
    await Promise.resolve()
    for (let [next] = line.waiting; next; [next] = line.waiting) {
      line.waiting = line.waiting.slice(1)
      await Promise.all(next.after)
      await next.run()
    }
    await Promise.all(line.early)
    if (line.waiting.length > 0) return await runAll(place, line)
    lines.delete(place)
  }

  /** Runs an urgent task that still waits, and has those behind it wait for it. */
  function runEarly(line: Line<Item>, urgent: Waiting<Item>): void {
    const index = line.waiting.indexOf(urgent)
    if (index === -1) return
    const done = urgent.run().then(() => {
      line.early.delete(done)
    })
    line.early.add(done)
    for (const { after } of line.waiting.slice(index + 1)) after.push(done)
    line.waiting = line.waiting.toSpliced(index, 1)
  }
}
