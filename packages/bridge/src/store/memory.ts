import { type Clock, systemClock } from '@reply/core'
import { applyWrites, type Rows } from './apply-writes.ts'
import { beatAfter, leaveAfter, type MemberRows } from './beat-rules.ts'
import { createHints, type Hints } from './hints.ts'
import { isCurrentLease, type StoredLease } from './lease-rules.ts'
import { type Committed, type QueuedValue, type Store, StoreError, type StoreLease, type Write } from './store.ts'

/** The data of memory stores. Pass the same one to several stores to test restarts, or several processes. */
export interface StoreMemory {
  /** By key. */
  readonly values: Map<string, { readonly value: string; readonly expiresAt: number | undefined }>
  /** By name, then by id, oldest first. */
  readonly queues: Map<string, Map<string, string>>
  /** The members, and their leases and budgets. Replaced with each change. */
  members: MemberRows
  /** Passes hints on between the stores. */
  readonly hints: Hints
}

/** Options of `createMemoryStore`. */
export interface MemoryStoreOptions {
  /** Decides when values expire. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** The data of the store. Default: a new memory, discarded with the store. */
  readonly memory?: StoreMemory | undefined
  /** How many members it admits at a time. 1 is what SQLite does. Default: any number, like PostgreSQL. */
  readonly mostMembers?: number | undefined
}

/** Creates an empty memory. */
export function createStoreMemory(): StoreMemory {
  const members = { members: [], leases: [], shares: [], freezes: [] }
  return { values: new Map(), queues: new Map(), members, hints: createHints() }
}

/** Creates a store for tests. It fulfills the contract of every store, but its data is lost when the process exits. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  const { clock = systemClock, memory = createStoreMemory(), mostMembers } = options
  const stops = new Set<() => void>()
  let isClosed = false
  return {
    read: async (key) => requireOpen() && readValue(memory, key, clock.now()),
    list: async (prefix) => requireOpen() && listValues(memory, prefix, clock.now()),
    queue: async (name) => requireOpen() && entriesOf(memory.queues.get(name)),
    queues: async (prefix) => requireOpen() && [...memory.queues.keys()].filter((name) => name.startsWith(prefix)),
    commit: async (writes, lease, { hint, withinMs = 0 } = {}) => {
      requireOpen()
      const committed = commitAllOrNone(writes, lease, withinMs < 0)
      if (committed.type === 'done' && hint !== undefined) memory.hints.send(hint)
      return committed
    },
    beat: async (request) => {
      requireOpen()
      const { beat, rows, hints } = beatAfter(memory.members, request, clock.now(), mostMembers)
      memory.members = rows
      for (const hint of hints) memory.hints.send(hint)
      return beat
    },
    release: async (lease) => {
      requireOpen()
      const current = storedLease(lease.name)
      if (!current || !isCurrentLease(current, lease, clock.now())) return
      putLease({ ...current, expiresAt: 0 })
      memory.hints.send('free')
    },
    leave: async (member, used) => {
      requireOpen()
      memory.members = leaveAfter(memory.members, member, clock.now(), used)
      memory.hints.send('free')
    },
    watch: (onHint) => {
      requireOpen()
      const stop = memory.hints.watch(onHint)
      stops.add(stop)
      return stop
    },
    sweep: async () => requireOpen() && deleteExpired(memory, clock.now()),
    close: async () => {
      isClosed = true
      for (const stop of stops) stop()
    },
  }

  /** Throws after `close`. Returns true, so that it can precede a call. */
  function requireOpen(): true {
    if (isClosed) throw new StoreError('closed', 'The store is closed. Open it again to use it.')
    return true
  }

  /** Returns a lease as it is stored. Undefined if it was never taken. */
  function storedLease(name: string): StoredLease | undefined {
    return memory.members.leases.find((lease) => lease.name === name)
  }

  /** Stores a lease in place of the one with its name. */
  function putLease(next: StoredLease): void {
    const others = memory.members.leases.filter(({ name }) => name !== next.name)
    memory.members = { ...memory.members, leases: [...others, next] }
  }

  /**
   * Applies the writes and returns `done`. Writes nothing and returns `fenced` if a lease is given and is not current, or `late` if
   * its time is over. If a write conflicts, undoes those before it and returns its index.
   */
  function commitAllOrNone(writes: readonly Write[], lease: StoreLease | undefined, isLate: boolean): Committed {
    const now = clock.now()
    if (lease && !isCurrentLease(storedLease(lease.name), lease, now)) return { type: 'fenced' }
    if (isLate) return { type: 'late' }
    const undos: (() => void)[] = []
    const conflictIndex = applyWrites(rowsOf(memory, now, undos), writes)
    if (conflictIndex === undefined) return { type: 'done' }
    for (const undoChange of undos.toReversed()) undoChange()
    return { type: 'conflict', index: conflictIndex }
  }
}

/** Returns the rows of a memory to write to, for one commit. Each change adds its inverse to `undos`. */
function rowsOf({ values, queues }: StoreMemory, now: number, undos: (() => void)[]): Rows {
  /** The queues that this commit has copied already. */
  const copies = new Set<ReadonlyMap<string, string>>()
  return {
    read: (key) => readValue({ values }, key, now),
    put: (key, value, expiresInMs) => {
      recordUndo(values, key)
      values.set(key, { value, expiresAt: expiresInMs === undefined ? undefined : now + expiresInMs })
    },
    remove: (key) => {
      recordUndo(values, key)
      values.delete(key)
    },
    enqueue: (queue, id, value) => {
      if (queues.get(queue)?.has(id)) return false
      queueToChange(queue).set(id, value)
      return true
    },
    replace: (queue, id, value) => {
      if (!queues.get(queue)?.has(id)) return false
      queueToChange(queue).set(id, value)
      return true
    },
    dequeue: (queue, id) => {
      if (!queues.get(queue)?.has(id)) return false
      const entries = queueToChange(queue)
      entries.delete(id)
      if (entries.size > 0) return true
      recordUndo(queues, queue)
      queues.delete(queue)
      return true
    },
  }

  /** Returns a copy of a queue to change, one for each commit. Undoing the commit restores the original. */
  function queueToChange(queue: string): Map<string, string> {
    const earlier = queues.get(queue)
    if (earlier && copies.has(earlier)) return earlier
    const copy = new Map(earlier)
    copies.add(copy)
    recordUndo(queues, queue)
    queues.set(queue, copy)
    return copy
  }

  /** Adds a function to `undos` that restores the key, or deletes it if it is not set. Call it before a change of that key. */
  function recordUndo<Value>(map: Map<string, Value>, key: string): void {
    const before = map.get(key)
    undos.push(() => (before === undefined ? map.delete(key) : map.set(key, before)))
  }
}

/** Returns the value of a key. Undefined if there is none, or if it has expired. */
function readValue({ values }: Pick<StoreMemory, 'values'>, key: string, now: number): string | undefined {
  const stored = values.get(key)
  return stored && isAlive(stored, now) ? stored.value : undefined
}

/** Whether a value has not expired. */
function isAlive({ expiresAt }: { readonly expiresAt: number | undefined }, now: number): boolean {
  return expiresAt === undefined || expiresAt > now
}

/** Returns the values whose keys begin with a prefix, ordered by key, without expired ones. */
function listValues({ values }: StoreMemory, prefix: string, now: number): Awaited<ReturnType<Store['list']>> {
  const found = [...values].filter(([key, stored]) => key.startsWith(prefix) && isAlive(stored, now))
  const listed = found.map(([key, { value, expiresAt }]) => {
    return { key, value, expiresInMs: expiresAt === undefined ? undefined : expiresAt - now }
  })
  return listed.toSorted((one, other) => (one.key < other.key ? -1 : 1))
}

/** Returns the entries of a queue, oldest first. Empty without a queue. */
function entriesOf(queue: ReadonlyMap<string, string> | undefined): readonly QueuedValue[] {
  return [...(queue ?? [])].map(([id, value]) => ({ id, value }))
}

/** Deletes the expired values. Returns how many there were. */
function deleteExpired({ values }: StoreMemory, now: number): number {
  const expired = [...values].filter(([, stored]) => !isAlive(stored, now))
  for (const [key] of expired) values.delete(key)
  return expired.length
}
