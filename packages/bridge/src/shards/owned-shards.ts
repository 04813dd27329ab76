import type { Clock, Reply, ReplyObserver } from '@reply/core'
import { pause } from '@reply/core/internal'
import { isTakenOver, toError } from '../error.ts'
import type { HeldLease } from '../members/membership.ts'
import { listenerLeaseName } from '../state/shard-of.ts'
import { waitAtMost } from '../timers.ts'
import type { Shard } from './shard.ts'

/** The shards that this process owns. That of the channels that post only where they listen is not counted. */
export interface OwnedShards {
  /** Creates the shard of a lease, and restores it once the process's earlier shard of that name has stopped. */
  add(lease: HeldLease): void
  /** Stops the shard of a lease that another process has. */
  drop(lease: HeldLease): void
  /**
   * Stops a number of counted shards, those with the fewest runs first, and releases their leases. Returns at once. A shard whose
   * chats lack something is stopped once they show it, see `mostUnshownMs`.
   */
  giveBack(count: number): void
  /** Returns a shard that is restored and not stopping. */
  find(name: string): Shard | undefined
  /** Returns all of them. */
  all(): readonly Shard[]
  /** Returns the names of the counted shards that this process has a lease on. */
  owned(): readonly string[]
  /** Returns the names of those that don't take messages yet, counted or not. */
  restoring(): readonly string[]
  /** Returns what changed since the last call. Undefined if nothing did. */
  takeChanges(): ShardChanges | undefined
  /** Returns the observers of a reply, of the shards that want to show it. */
  observe(server: string, reply: Reply): readonly ReplyObserver[]
  /** Resolves when all shards of now are restored. Rejects with the error of the first one that could not be. */
  whenRestored(): Promise<void>
  /**
   * Stops all shards at the same time and undoes their tries. Keeps the leases. Also waits for shards that are being given back.
   * Takes at most `mostMs`.
   */
  stopAll(mostMs: number): Promise<void>
  /**
   * Stops and releases one shard after the other like `giveBack`, so that other processes go on with each at once. Also waits for
   * shards that are being given back. Takes at most `mostMs`.
   */
  handOver(mostMs: number): Promise<void>
}

/**
 * How long a shard may take to stop before its lease is released, in ms. Most need a few. A post that the platform has not
 * confirmed by then is in doubt.
 */
const stopMs = 5000
/** How much of the time of a handover is kept for the shards that are left then, in ms. They stop together. */
const leftMs = 2500
/** How long a shard waits at most for prompts that are being posted before its lease is released, in ms. */
const postedMs = 1000
/** How long stopping waits at most until a lease is released, in ms. It then expires by itself. */
const releaseMs = 1000
/** How long stopping waits at most until the tries of what is left over are undone, in ms. */
const undoMs = 1000
/** How many shards are handed over at the same time. */
const atOnce = 4
/** How long a shard that is to be handed over waits at most until its chats lack little of what they are to show, in ms. */
const shownMs = 2000
/** How often it looks, in ms. */
const lookMs = 25

/**
 * Returns for how long a chat may lack something when its shard is handed over, in ms. Its next edit is made by the next owner, so
 * it is best right after an edit. Several chats are edited at different times: the longer it waits, the more they may lack.
 */
function mostUnshownMs(waitedMs: number): number {
  return 100 + waitedMs / 2
}
/** How long after a failure a shard is restored again, in ms. */
const restoreAgainMs = 1000

/** Numbers of shards. */
export interface ShardChanges {
  /** Those that this process took. */
  readonly taken: number
  /** Those of them that a process had before. */
  readonly takenOver: number
  /** Those that take messages now, because this process has read what earlier owners left. */
  readonly restored: number
  /** Those that this process gave back. */
  readonly givenBack: number
  /** Those that another process took before this one gave them back. */
  readonly lost: number
}

const noChanges: ShardChanges = { taken: 0, takenOver: 0, restored: 0, givenBack: 0, lost: 0 }

/** A shard of this process. */
interface Owned {
  readonly lease: HeldLease
  readonly shard: Shard
  /** Resolves when it is restored, and rejects if it could not be. */
  restored: Promise<void>
  isRestored: boolean
  isStopping: boolean
}

/** Whether a shard is one of those that the members share evenly. */
function isCounted({ name }: HeldLease): boolean {
  return name !== listenerLeaseName
}

/** Creates the list of a process, which is empty. */
export function createOwnedShards({
  create,
  clock,
  onRestored,
  onDropped,
  onError,
}: {
  readonly create: (lease: HeldLease) => Shard
  readonly clock: Clock
  /** Called when a shard takes messages. */
  readonly onRestored: (shard: Shard) => void
  /** Called when a shard no longer counts. */
  readonly onDropped: (shard: Shard) => void
  readonly onError: (error: Error) => void
}): OwnedShards {
  /** By the name of the lease. */
  const owned = new Map<string, Owned>()
  /** By the name of the lease: resolves when the earlier shard of that name has stopped. */
  const stopped = new Map<string, Promise<void>>()
  /** Those that were chosen to be given back, until their leases are released. */
  const leaving = new Set<Owned>()
  /** The calls of `handOverAll` that are in progress. */
  const handovers = new Set<Promise<void>>()
  let changes = noChanges
  return {
    add,
    drop,
    giveBack,
    find: (name) => ready().find((shard) => shard.name === name),
    all: ready,
    owned: () => namesOf(({ lease }) => isCounted(lease)),
    restoring: () => namesOf(({ isRestored }) => !isRestored),
    takeChanges,
    observe: (server, reply) => ready().flatMap((shard) => shard.observe(server, reply)),
    whenRestored,
    stopAll,
    handOver,
  }

  /** Adds one to numbers of changes, if the shard of the lease counts. */
  function note(lease: HeldLease, ...names: readonly (keyof ShardChanges)[]): void {
    if (!isCounted(lease)) return
    for (const name of names) changes = { ...changes, [name]: changes[name] + 1 }
  }

  /** Returns the changes, and begins anew. */
  function takeChanges(): ShardChanges | undefined {
    const taken = changes
    changes = noChanges
    return taken === noChanges ? undefined : taken
  }

  /** Returns the names of some of the shards. */
  function namesOf(isMeant: (one: Owned) => boolean): readonly string[] {
    return [...owned.values()]
      .filter(isMeant)
      .map(({ shard }) => shard.name)
      .toSorted()
  }

  /** Returns the shards that are restored and not stopping. */
  function ready(): readonly Shard[] {
    return [...owned.values()].flatMap(({ shard, isRestored, isStopping }) =>
      isRestored && !isStopping ? [shard] : [],
    )
  }

  /** Creates a shard, and restores it in the background. */
  function add(lease: HeldLease): void {
    const one: Owned = {
      lease,
      shard: create(lease),
      restored: Promise.resolve(),
      isRestored: false,
      isStopping: false,
    }
    owned.set(lease.name, one)
    // The first process that ever takes a lease has the fence 1.
    note(lease, 'taken', ...((lease.current()?.fence ?? 1) > 1 ? (['takenOver'] as const) : []))
    one.restored = restore(one)
    one.restored.catch((error) => onRestoreFailed(one, error))
  }

  /** Restores a shard after the earlier one of its name. */
  async function restore(one: Owned): Promise<void> {
    await stopped.get(one.lease.name)
    if (one.isStopping) return
    await one.shard.restore()
    one.isRestored = true
    note(one.lease, 'restored')
    if (!one.isStopping) onRestored(one.shard)
  }

  /** Waits for the shards of now. Ignores one that another process took meanwhile, because that process restores it. */
  async function whenRestored(): Promise<void> {
    await Promise.all(
      [...owned.values()].map(
        async (one) =>
          await one.restored.catch((error) => {
            if (!one.isStopping && !isTakenOver(error)) throw error
          }),
      ),
    )
  }

  /** Reports why a shard could not be restored, and gives it back, so that another process or this one tries again. */
  function onRestoreFailed(one: Owned, error: unknown): void {
    if (one.isStopping || isTakenOver(error)) return
    onError(toError(error))
    clock.after(restoreAgainMs, () => void stopAndRelease(one, stopMs))
  }

  /** Stops a shard that was lost. */
  function drop(lease: HeldLease): void {
    const one = owned.get(lease.name)
    if (!one) return
    note(lease, 'lost')
    void stop(one)
  }

  /** Stops a shard, which takes no more messages from now on. */
  function stop(one: Owned, mostMs = stopMs): Promise<void> {
    const { lease, shard } = one
    one.isStopping = true
    if (owned.get(lease.name) === one) owned.delete(lease.name)
    onDropped(shard)
    const stopping = shard.stop(mostMs).catch((error) => onError(toError(error)))
    stopped.set(lease.name, stopping)
    void stopping.then(() => stopped.get(lease.name) === stopping && stopped.delete(lease.name))
    return stopping
  }

  /**
   * Stops shards, those with the fewest runs first and those that are being restored last. Those that are being stopped count until
   * their leases are released.
   */
  function giveBack(count: number): void {
    const stillHeld = [...leaving].filter(({ lease }) => lease.current())
    const divided = idleFirst().filter(({ lease }) => isCounted(lease))
    const chosen = divided.slice(0, Math.max(0, count - stillHeld.length))
    for (const one of chosen) leaving.add(one)
    void handOverAll(chosen, Number.POSITIVE_INFINITY)
  }

  /** Returns the shards that are not being handed over, those with the fewest runs first. */
  function idleFirst(): Owned[] {
    return [...owned.values()].filter((one) => !leaving.has(one)).toSorted((a, b) => runsOf(a) - runsOf(b))
  }

  /** Returns how many runs a shard follows. Infinity until it is restored, because that is not known. */
  function runsOf({ shard, isRestored }: Owned): number {
    return isRestored ? shard.runs() : Number.POSITIVE_INFINITY
  }

  /** Like `handOverInTurn`, and remembers that it is in progress. Never rejects. */
  async function handOverAll(chosen: readonly Owned[], until: number): Promise<void> {
    const handover = handOverInTurn(chosen, until)
    handovers.add(handover)
    await handover.finally(() => handovers.delete(handover))
  }

  /**
   * Stops and releases shards, `atOnce` at the same time. Those that follow runs come once the others were begun, each when its chats
   * lack little, so that they then need not wait for a turn. Begins none from `until` on, in ms since the epoch.
   */
  async function handOverInTurn(chosen: readonly Owned[], until: number): Promise<void> {
    const takeTurn = createTurns(atOnce)
    const handOverOne = async (one: Owned, endTurn: () => void): Promise<void> => {
      if (clock.now() < until) {
        await stopAndRelease(one, Math.min(stopMs, until - clock.now()))
        leaving.delete(one)
      }
      endTurn()
    }
    const all: Promise<void>[] = []
    const idle = chosen.filter((one) => runsOf(one) === 0)
    for (const one of idle) all.push(handOverOne(one, await takeTurn()))
    for (const one of chosen) {
      if (idle.includes(one)) continue
      const shown = whenShown(one, Math.min(until, clock.now() + shownMs))
      all.push(shown.then(async () => await handOverOne(one, await takeTurn())))
    }
    await Promise.all(all)
  }

  /** Resolves when the chats of a shard lack little of what they are to show, or when it stops, at the latest at `until`. */
  async function whenShown(one: Owned, until: number): Promise<void> {
    const began = clock.now()
    while (!one.isStopping && clock.now() < until && one.shard.unshownForMs() > mostUnshownMs(clock.now() - began))
      await pause(clock, lookMs)
  }

  /** Stops a shard and undoes its tries. Also undoes them if it takes too long: that is when messages are left over. */
  async function stopAndUndo(one: Owned, mostMs: number): Promise<void> {
    await stop(one, mostMs)
    if (one.lease.current()) await waitAtMost(one.shard.undoTries().catch(onError), undoMs, clock)
  }

  /** Stops a shard and releases its lease. If that fails, reports why, and the lease expires by itself. */
  async function stopAndRelease(one: Owned, mostMs: number): Promise<void> {
    if (one.isStopping) return
    note(one.lease, 'givenBack')
    await stopAndUndo(one, mostMs)
    await waitAtMost(one.shard.whenPosted(), postedMs, clock)
    await waitAtMost(one.lease.release().catch(onError), releaseMs, clock)
  }

  /** Stops all shards at the same time. Keeps their leases. */
  async function stopAll(mostMs: number): Promise<void> {
    const stops = [...owned.values()].map(async (one) => await stopAndUndo(one, Math.max(0, mostMs - undoMs)))
    await waitAtMost(Promise.all([...stops, ...handovers]), mostMs, clock)
  }

  /** Hands over a few shards at a time, the idle ones first, and stops the rest together when the time is over. */
  async function handOver(mostMs: number): Promise<void> {
    const forMs = Math.max(0, mostMs - leftMs)
    void handOverAll(idleFirst(), clock.now() + forMs)
    await waitAtMost(Promise.all(handovers), forMs, clock)
    await stopAll(leftMs)
  }
}

/**
 * Returns a function that waits for a turn, and resolves with the function that ends it. `count` turns are taken at the same time, and
 * those that wait come in their order.
 */
function createTurns(count: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let free = count
  return async () => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free -= 1
    return () => {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}
