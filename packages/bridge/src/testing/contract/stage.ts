import type { Store, StoreLease, Write } from '../../store/store.ts'

/** A state that is initially empty. */
export interface StoreStage {
  /** Opens the state again with each call, like a process that restarts, or a second one beside it. */
  open(): Promise<Store>
  /** Advances the stores' clock. */
  pass(ms: number): void | Promise<void>
  /**
   * Kills the engine without a shutdown, and starts it again with what it has on its disk. If the engine is part of the
   * process, the open stores end with it. Undefined if nothing survives.
   */
  crash?(): Promise<void>
  /** Opens the state over a network of its own. Undefined if there is none between a store and its engine. */
  openOverNetwork?(): Promise<{ readonly store: Store; readonly network: StoreNetwork }>
  /** Sets the clock of this process apart from the engine's, until `close`. Undefined if they are the same clock. */
  skew?(ms: number): void
  /** Closes all stores and removes the state. Called at the end of each clause. */
  close(): Promise<void>
}

/** A network between a store and its engine, which fails when you say so. */
export interface StoreNetwork {
  /** Breaks the connection of the next commit with this text in a value, before the engine gets it. */
  loseCommit(text: string): void
  /** Breaks the connection of the next commit with this text in a value, after the engine has made it. */
  loseAnswer(text: string): void
  /** Passes nothing on any more. New connections are refused, and open ones stand still. */
  cutOff(): Promise<void>
  /** Passes everything on again, also what was sent meanwhile. */
  restore(): Promise<void>
  /** Delays every call and every answer. */
  delay(ms: number): void
}

/** Strings that an engine may misinterpret or change. */
export const oddTexts = [
  '',
  ' ',
  '%',
  '_',
  '*',
  '\\',
  "'",
  '"; DROP TABLE stored; --',
  '\0',
  'before\0after',
  '\r\n',
  '\ufeff',
  'e\u0301',
  '\u00e9',
  '\ud83d\ude00',
  '\ud83d',
  '\ude00',
  '\ude00\ud83d',
  '\uffff',
  '\uffff\uffff',
] as const

/** Throws unless both are equal as JSON. `what` starts the message. */
export function requireEqual(found: unknown, expected: unknown, what: string): void {
  const one = shortJson(found)
  const other = shortJson(expected)
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${what}: found ${one}, expected ${other}.`)
}

/** Commits, and throws unless it is done. */
export async function commitDone(store: Store, writes: readonly Write[], lease?: StoreLease): Promise<void> {
  requireEqual(await store.commit(writes, lease), { type: 'done' }, 'A commit')
}

/** Commits, and throws unless the write at `index` conflicts. */
export async function requireConflict(store: Store, writes: readonly Write[], index = 0): Promise<void> {
  requireEqual(await store.commit(writes), { type: 'conflict', index }, 'A commit')
}

/**
 * Beats as a member that wants the lease `bridge`, and resolves with that lease, taken or renewed. Undefined if another member
 * holds it, also if the engine then refuses this one.
 */
export async function beatForLease(store: Store, member: string, forMs = 1000): Promise<StoreLease | undefined> {
  const beat = await store.beat({ member, forMs, layout: '1', wants: { group: ['bridge'] }, budgets: {} })
  return beat.type === 'admitted' ? beat.leases.find(({ name }) => name === 'bridge') : undefined
}

/** Takes the lease `bridge`, or renews the member's own, and returns it. Throws if another holds it. */
export async function takeFreeLease(store: Store, member: string, forMs = 1000): Promise<StoreLease> {
  const lease = await beatForLease(store, member, forMs)
  if (!lease) throw new Error(`${member} got no lease although it is free.`)
  return lease
}

/** Returns a write that sets a value. It does not expire without `expiresInMs`. */
export function put(key: string, value: string, expiresInMs?: number): Write {
  return { type: 'put', key, value, expiresInMs }
}

/** Returns a write that adds an entry to a queue. */
export function enqueue(id: string, value = `value of ${id}`, queue = 'chat'): Write {
  return { type: 'enqueue', queue, id, value }
}

/** Returns a write that removes an entry of a queue. */
export function dequeue(id: string, queue = 'chat'): Write {
  return { type: 'dequeue', queue, id }
}

/** Returns the ids of a queue, in order. */
export async function idsIn(store: Store, queue = 'chat'): Promise<readonly string[]> {
  return (await store.queue(queue)).map(({ id }) => id)
}

/** Returns a value as JSON: at most 500 UTF-16 units, then the length. */
function shortJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'undefined'
  return json.length > 500 ? `${json.slice(0, 500)}… (${json.length})` : json
}
