/**
 * Stores what must survive a restart of a bridge. Keys and values are opaque strings, and may be empty.
 *
 * Each process that works on the state is a member, and takes leases by `beat`. For example, the member with the lease
 * `shard/07` handles the chats of that shard, and its commits for them carry that lease. Such a commit is only made while the
 * lease is held, so a member that was suspended and resumes too late changes nothing. Reads and commits without a lease need
 * no membership: any process can store a message that it receives.
 *
 * Only the store's clock decides what has expired: processes on several machines may have different times. Calls only reject
 * with a `StoreError`.
 */
export interface Store {
  /** Returns the value of a key. Undefined if the key has none, or if it has expired. */
  read(key: string): Promise<string | undefined>
  /** Returns the keys that begin with a prefix and their values, ordered by key (by UTF-16 units), without expired ones. */
  list(prefix: string): Promise<readonly StoredValue[]>
  /** Returns the entries of a queue, oldest first. Empty if the queue does not exist. */
  queue(name: string): Promise<readonly QueuedValue[]>
  /** Returns the names of the non-empty queues that begin with a prefix, in any order. */
  queues(prefix: string): Promise<readonly string[]>
  /**
   * Applies all writes in order, each seeing those before it, or none of them.
   *
   * - `done`: all are applied, and survive a crash of the process and of the machine unless `options` ask for less.
   * - `conflict`: nothing was written. `index` is that of the first write that could not be applied.
   * - `fenced`: nothing was written, because the lease is no longer held. Takes precedence over `late`.
   * - `late`: nothing was written, because more than `withinMs` have passed. Takes precedence over `conflict`.
   *
   * Without writes, it checks whether the lease is held. If it rejects, nothing was written, and nothing will be after a
   * crash. A store that loses the response of its engine must find out whether the commit succeeded before it settles. Only one
   * that is closed before that rejects with `closed` without knowing.
   */
  commit(writes: readonly Write[], lease?: StoreLease, options?: CommitOptions): Promise<Committed>
  /**
   * Admits a member or renews it, renews its leases, takes free ones up to its share, and divides budgets: one call, about once
   * a second. A member that does not call for `forMs` is gone, and its leases are free. Call it again with what the member
   * wants at that time.
   *
   * Sends the hint `demand` if the member begins to use a budget, or demands at least twice as much as before, and others have to
   * free it first.
   *
   * A renewal keeps the fence, so the lease from before it can still write. A crash of the machine may undo a renewal. An expired
   * lease is taken with the next fence, even by its last holder. One that expires more than a minute from now counts as expired,
   * because then the clock was set back.
   */
  beat(request: BeatRequest): Promise<Beat>
  /** Ends a lease immediately, and sends the hint `free`. Does nothing if it is no longer held. */
  release(lease: StoreLease): Promise<void>
  /**
   * Removes a member, ends its leases, and sends the hint `free`. Does nothing for a member that is gone. Its calls of each
   * budget stay reserved for as long as they count. Default: all that it had, for one window.
   */
  leave(member: string, used?: UsedCalls): Promise<void>
  /**
   * Calls the listener with hints that stores of this state send, perhaps also this one. Hints may be lost, so look again from
   * time to time. The hint '' means that any may have been lost. Returns a function that stops it.
   */
  watch(onHint: (hint: string) => void): () => void
  /** Deletes expired values, which other calls already omit. Resolves with how many. Requires no lease. */
  sweep(): Promise<number>
  /** Closes the store. Later calls reject with a `StoreError` of type `closed`. Closing it again does nothing. */
  close(): Promise<void>
}

/** A key with its value. */
export interface StoredValue {
  /** The key. */
  readonly key: string
  /** The value that was put last. */
  readonly value: string
  /** In how many ms it expires, by the store's clock. Undefined if it does not expire. */
  readonly expiresInMs?: number | undefined
}

/** One entry of a queue. */
export interface QueuedValue {
  /** Unique in its queue. */
  readonly id: string
  /** The value that was enqueued, or that replaced it. */
  readonly value: string
}

/**
 * One change of the store. The key has no value any more once `expiresInMs` have passed since the commit, by the store's
 * clock. Each write replaces the expiry, and without `expiresInMs` the value does not expire. Entries of queues don't
 * expire.
 */
export type Write =
  /** Sets the value, or replaces it. */
  | { readonly type: 'put'; readonly key: string; readonly value: string; readonly expiresInMs?: number | undefined }
  /** Conflicts if the key has a value. */
  | {
      readonly type: 'put-if-absent'
      readonly key: string
      readonly value: string
      readonly expiresInMs?: number | undefined
    }
  /** Conflicts if the key's value is not `expected` (undefined: no value). An undefined `value` removes the key. */
  | {
      readonly type: 'compare-and-set'
      readonly key: string
      readonly expected: string | undefined
      readonly value: string | undefined
      readonly expiresInMs?: number | undefined
    }
  /** Does nothing if the key has no value. */
  | { readonly type: 'remove'; readonly key: string }
  /** Appends an entry. Conflicts if the queue has one with that id. */
  | { readonly type: 'enqueue'; readonly queue: string; readonly id: string; readonly value: string }
  /** Replaces the value of an entry, which keeps its position. Conflicts if the queue has no such entry. */
  | { readonly type: 'replace'; readonly queue: string; readonly id: string; readonly value: string }
  /** Removes an entry at any position. Conflicts if the queue has no such entry. */
  | { readonly type: 'dequeue'; readonly queue: string; readonly id: string }

/** The options of `Store.commit`. */
export interface CommitOptions {
  /**
   * Which crash the writes survive. `process` may be faster: the writes survive a crash of the process, but a crash of
   * the machine may undo them and all later ones, until a later commit with `machine` is done. That is a crash that ends the
   * process, too. While a process goes on, it builds on each commit that was done, so an engine on another machine keeps
   * them all. Default: `machine`.
   */
  readonly survives?: 'machine' | 'process' | undefined
  /**
   * Sent to all watchers of the state once the commit is done, and only then. At most 1000 UTF-16 units. Costs all stores of a
   * server a wait for each other, so send one only where a watcher waits for it.
   */
  readonly hint?: string | undefined
  /**
   * Within how many ms of the call the writes are made, or else never: also if the call is held up on its way to the engine, or
   * repeated. An engine on another machine decides by its own clock. Default: at any time.
   */
  readonly withinMs?: number | undefined
}

/** The result of a commit. */
export type Committed =
  | { readonly type: 'done' }
  | { readonly type: 'conflict'; readonly index: number }
  | { readonly type: 'fenced' }
  | { readonly type: 'late' }

/** The right to write, for a limited time. */
export interface StoreLease {
  /** The name of the lease. */
  readonly name: string
  /** The member that holds it. */
  readonly holder: string
  /**
   * Increases by one each time the lease is taken, and stays the same when it is renewed. Its holder can thus tell whether
   * another member held it in between.
   */
  readonly fence: number
  /**
   * How long it is valid unless it is renewed, in ms. Its holder counts from before the call that returned it, by a
   * monotonic clock.
   */
  readonly validForMs: number
}

/** The argument of `Store.beat`. */
export interface BeatRequest {
  /** The holder of its leases. Unique for each process. */
  readonly member: string
  /** How long the member and its leases are valid, in ms. At most a minute: a longer time counts as expired. */
  readonly forMs: number
  /** Members with another layout are not admitted while this one is. */
  readonly layout: string
  /** Admits this member only without others, and no others while it is admitted. */
  readonly isAlone?: true | undefined
  /**
   * The names of the leases in each group. A name is in one group. Members that want a group share its leases evenly. Without a group, the member keeps
   * the leases that it has until it releases them.
   */
  readonly wants: Readonly<Record<string, readonly string[]>>
  /** The limits that members share, by name. */
  readonly budgets: Readonly<Record<string, BudgetRequest>>
}

/** What a member asks of one budget. */
export interface BudgetRequest {
  /** What all members together may use within `windowMs`. A whole number. */
  readonly total: number
  /** The time in which the limit counts, in ms. */
  readonly windowMs: number
  /** How many calls the member would make within `windowMs`. Rounded up to a whole number. */
  readonly demand: number
  /** How many of these are for growing texts, which get what other calls leave. Default: all, as some older bridges don't say. */
  readonly growing?: number | undefined
  /** How many calls growing texts of all members together may use within `windowMs`, the same for all. Default: `total`. */
  readonly mostGrowing?: number | undefined
  /**
   * The most calls of the member that count within any `windowMs` until it has the answer: those that it made in the last one or
   * has in flight, or its present share if that is larger, because it goes on using that. 0 before its first share.
   */
  readonly used: number
  /**
   * The calls of the member that count now, by how long they do at most. Each entry counts for longer than its time less a thirtieth
   * of the window. With them, fewer calls stay reserved after its death. Default: as some older bridges don't say, all that
   * it had stays reserved.
   */
  readonly usedFor?: readonly CountedCalls[] | undefined
  /** Stops all members for this time from now, in ms, and sends the hint `frozen`. A longer stop stays. */
  readonly freezeForMs?: number | undefined
}

/** By budget: the calls of a member that count, by how long they do. */
export type UsedCalls = Readonly<Record<string, readonly CountedCalls[]>>

/** A number of calls, and how long they still count against a budget. */
export interface CountedCalls {
  readonly calls: number
  /** In ms, at most the budget's `windowMs`. */
  readonly forMs: number
}

/** The result of `Store.beat`. */
export type Beat =
  /**
   * The member has no lease and no budget. `alone`: it or another one wants to be alone. `layout`: another member has another
   * layout. `full`: the engine admits one member at a time, and another one is admitted.
   */
  | { readonly type: 'refused'; readonly reason: 'alone' | 'layout' | 'full' }
  | {
      readonly type: 'admitted'
      /** All leases that the member holds, ordered by name. */
      readonly leases: readonly StoreLease[]
      /**
       * By group, how many leases the member holds above its share: the number of names, divided by the members that want the
       * group and have beaten within half of `forMs`, rounded up. A group without excess is missing.
       */
      readonly excess: Readonly<Record<string, number>>
      /** How many other members want leases. */
      readonly others: number
      readonly budgets: Readonly<Record<string, BudgetShare>>
    }

/** A member's part of one budget. */
export interface BudgetShare {
  /**
   * The member's part: what it demands if all demands fit, else a part by demand, and the rest evenly. At least 1 each if the total is
   * large enough. Never more than what others left: of each other member, all calls that may count until it beats again. Those of
   * a dead one stay reserved until they no longer count: those that it told of for as long as it said, and what it may have made
   * since then until one window after it expired.
   */
  readonly share: number
  /** What the share is to be once others no longer use it. At least the share. */
  readonly target: number
  /**
   * The most calls that may count until the next beat: those that do, and at the rate of the share as many as fit into twice
   * `forMs`, or what the member demands for other calls than growing texts if that is more. At most the share, and all of it if the
   * member did not tell what counts.
   */
  readonly most: number
  /** For how long nothing may be used, in ms. 0 if it is not frozen. */
  readonly frozenForMs: number
}

/**
 * What went wrong:
 * - `closed`: the store is closed.
 * - `newer`: a newer version wrote the state.
 * - `busy`: another process keeps the state locked, or its server can't be reached. Nothing was written. A retry may succeed.
 * - `failed`: the engine or its disk failed.
 */
export type StoreErrorType = 'closed' | 'newer' | 'busy' | 'failed'

/** The only error that a store throws. Its message names the failure and the fix. */
export class StoreError extends Error {
  /** What went wrong. Check this, not the message. */
  readonly type: StoreErrorType

  constructor(type: StoreErrorType, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreError'
    this.type = type
  }
}
