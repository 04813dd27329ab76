/**
 * Where a bridge keeps what must survive a restart. Keys and values are any texts, also empty ones; what they mean is the
 * bridge's. One process works with it at a time: the one that holds the lease. Every write carries that lease, so that a
 * process that was stopped and woke up too late changes nothing. Time is the store's clock. Calls reject with a
 * `StoreError` alone.
 */
export interface Store {
  /** The value of a key; undefined if there is none, or if it has expired. */
  read(key: string): Promise<string | undefined>
  /** The keys that begin with a prefix, with their values, ordered by key (by UTF-16 units). Expired ones are left out. */
  list(prefix: string): Promise<readonly StoredValue[]>
  /** The entries of a queue, oldest first. Empty if there is no such queue. */
  queue(name: string): Promise<readonly QueuedValue[]>
  /** The names of the queues that begin with a prefix and have entries, in any order. */
  queues(prefix: string): Promise<readonly string[]>
  /**
   * Makes all writes in their order, each seeing those before it, or none: `conflict` names the first that could not be
   * made, by its index. `fenced`: the lease is no longer held, whatever the writes are, and nothing was written. What was
   * `done` survives a crash of the process and of the machine, unless `options` ask for less. Without writes it tells
   * whether the lease is held. After a rejection surely nothing was written, now or after a crash: a store that lost the
   * answer of its engine finds out what became of the commit before it resolves or rejects.
   */
  commit(writes: readonly Write[], lease?: Lease, options?: CommitOptions): Promise<Committed>
  /**
   * Takes a lease that is free or has run out, or renews the holder's own: for `forMs` from now. Resolves with undefined
   * while another holds it. One that would run for more than a minute counts as run out: the clock was set back. A
   * renewal keeps the fence, so that the lease from before it can still write; a crash of the machine may undo it. A
   * lease that ran out is taken anew, with the next fence, even by its last holder.
   */
  lease(request: LeaseRequest): Promise<Lease | undefined>
  /** Gives a lease back at once. Does nothing if it is no longer held. */
  release(lease: Lease): Promise<void>
  /** Removes what has expired, which no call shows any more. Resolves with the number of values. Needs no lease. */
  sweep(): Promise<number>
  /** Closes the store. Later calls reject with a `StoreError` of type `closed`; closing it again does nothing. */
  close(): Promise<void>
}

/** A key with its value. */
export interface StoredValue {
  /** The key. */
  readonly key: string
  /** What was put there last. */
  readonly value: string
}

/** One entry of a queue. */
export interface QueuedValue {
  /** Unique in its queue. */
  readonly id: string
  /** What was enqueued, or what replaced it. */
  readonly value: string
}

/**
 * One change of the store. `expiresAt` is in ms since the epoch: from then on the key has no value. Each write sets it
 * anew, and without it the value stays. Entries of queues don't expire.
 */
export type Write =
  /** Sets the value, also over another. */
  | { readonly type: 'put'; readonly key: string; readonly value: string; readonly expiresAt?: number | undefined }
  /** Conflicts if the key has a value. */
  | {
      readonly type: 'put-if-absent'
      readonly key: string
      readonly value: string
      readonly expiresAt?: number | undefined
    }
  /** Conflicts if the key's value is not `expected`; undefined stands for none. An undefined `value` removes the key. */
  | {
      readonly type: 'compare-and-set'
      readonly key: string
      readonly expected: string | undefined
      readonly value: string | undefined
      readonly expiresAt?: number | undefined
    }
  /** Does nothing if the key has no value. */
  | { readonly type: 'remove'; readonly key: string }
  /** Adds an entry at the end. Conflicts if the queue has one with that id. */
  | { readonly type: 'enqueue'; readonly queue: string; readonly id: string; readonly value: string }
  /** Replaces an entry's value in its place. Conflicts if the queue has no such entry. */
  | { readonly type: 'replace'; readonly queue: string; readonly id: string; readonly value: string }
  /** Removes an entry, wherever it stands. Conflicts if the queue has no such entry. */
  | { readonly type: 'dequeue'; readonly queue: string; readonly id: string }

/** The options of `Store.commit`. */
export interface CommitOptions {
  /**
   * What the writes survive. `process`: a crash of the process, but a crash of the machine may undo them, with all that
   * came after them, until a later commit that survives `machine` is done; an engine may then be quicker. Default
   * `machine`.
   */
  readonly survives?: 'machine' | 'process' | undefined
}

/** What became of a commit. */
export type Committed =
  | { readonly type: 'done' }
  | { readonly type: 'conflict'; readonly index: number }
  | { readonly type: 'fenced' }

/** A right to write, for a limited time. */
export interface Lease {
  /** What it is for. */
  readonly name: string
  /** Who has it. */
  readonly holder: string
  /**
   * One more than the last of that name, each time the lease is taken; the same while it is renewed. So its holder can
   * tell whether another had it in between.
   */
  readonly fence: number
  /**
   * How long it is valid unless it is renewed, in ms. Its holder counts from before the call that gave it, by a clock
   * that no one sets.
   */
  readonly validForMs: number
}

/** What `Store.lease` asks for. */
export interface LeaseRequest {
  /** What it is for. */
  readonly name: string
  /** Who asks; unique for each process. */
  readonly holder: string
  /** For how long, in ms: at most a minute, as a longer one counts as run out. */
  readonly forMs: number
}

/**
 * What went wrong: `closed`; `newer` (a newer version wrote the state); `busy` (another process kept the state locked:
 * a later try may succeed); or `failed` (the engine or its disk).
 */
export type StoreErrorType = 'closed' | 'newer' | 'busy' | 'failed'

/** The only error of a store. Its message says what failed and the cure. */
export class StoreError extends Error {
  /** Decide by it, not by the message. */
  readonly type: StoreErrorType

  constructor(type: StoreErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.type = type
  }
}
