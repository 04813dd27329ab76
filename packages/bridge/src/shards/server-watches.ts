import { randomUUID } from 'node:crypto'
import { type Client, type Clock, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { createRecent } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { BridgeObserver } from '../events/emit.ts'
import type { HeldLease } from '../members/membership.ts'
import type { ChatPlace } from '../place.ts'
import { createFollowers, type FindFollowTarget, type Followers } from '../runs/follow-target.ts'
import { isUnprompted } from '../runs/unprompted-runs.ts'
import { homeKey } from '../state/registry.ts'
import { keyInShard, wakePrefix } from '../state/shard-of.ts'
import type { SharedState } from '../state/state.ts'
import type { OwnedShards } from './owned-shards.ts'

/**
 * Watches servers for runs without a prompt of this process, and for those that were started elsewhere. Of all members, the one with
 * the lease `server/<name>` watches that server. What belongs to a chat of another member is handed to it.
 */
export interface ServerWatches {
  /** Returns the names of the leases. */
  names(): readonly string[]
  /** Starts watching the server of a lease. */
  add(lease: HeldLease): void
  /** Stops watching the server of a lease. */
  drop(lease: HeldLease): void
  /** As in `Followers`, for the watch of a server, if this process has it. */
  lookAgain(server: string, sessionID?: string): void
  /** Stops all watches, and releases their leases, so that others watch at once. Does not wait for that, and reports errors. */
  stop(): void
}

/** The prefix of the names of the leases on servers. */
export const serverLeasePrefix = 'server/'
/** How long a handed session waits for the member of its shard, in ms: longer than any takeover lasts. */
const wakeMs = 600_000
/** How many requests that no chat could show are remembered for each server, so that each is told once. */
const mostUnshown = 1000

/** Creates the watches of a process. It watches nothing before `add`. */
export function createServerWatches({
  servers,
  directoryOf,
  shards,
  shardOf,
  findFollowTarget,
  state,
  clock,
  emit,
  onError,
}: {
  readonly servers: ReadonlyMap<string, Client>
  /** Returns the directory of a server in the config. */
  readonly directoryOf: (server: string) => string | undefined
  /** The shards of this process. */
  readonly shards: Pick<OwnedShards, 'observe' | 'find'>
  readonly shardOf: (place: ChatPlace) => string
  readonly findFollowTarget: FindFollowTarget
  readonly state: Pick<SharedState, 'read' | 'commitWithoutLease' | 'withRetries'>
  readonly clock: Clock
  readonly emit: BridgeObserver
  readonly onError: (error: Error) => void
}): ServerWatches {
  /** By the names of the leases. */
  const watches = new Map<
    string,
    { readonly lease: HeldLease; readonly followers: Followers; readonly stop: () => void }
  >()
  return {
    names: () => [...servers.keys()].map((name) => `${serverLeasePrefix}${name}`),
    add,
    drop,
    lookAgain: (server, sessionID) => watches.get(`${serverLeasePrefix}${server}`)?.followers.lookAgain(sessionID),
    stop,
  }

  /** Watches the whole server, or the directory that the config names. */
  function add(lease: HeldLease): void {
    const server = lease.name.slice(serverLeasePrefix.length)
    const client = servers.get(server)
    if (!client) return
    const target = { directory: directoryOf(server) }
    const followers = createFollowers(followFor(server), onError)
    const stopWatch = client.watch(target, {
      observe: (reply) => {
        const own = shards.observe(server, reply)
        return [...(own.length > 0 ? own : [handOver(server)]), followers.observe()]
      },
    })
    watches.set(lease.name, { lease, followers, stop: stopWatch })
  }

  /** Stops a watch. */
  function drop({ name }: HeldLease): void {
    watches.get(name)?.stop()
    watches.delete(name)
  }

  /** Stops all watches, and begins to release their leases. */
  function stop(): void {
    for (const watch of watches.values()) {
      watch.stop()
      void watch.lease.release().catch((error: unknown) => onError(toError(error)))
    }
    watches.clear()
  }

  /** Returns an observer that hands the session of a reply to its shard once it is known that no prompt began the reply. */
  function handOver(server: string): ReplyObserver {
    let isDecided = false
    return observerOf(({ reply }) => {
      if (isDecided) return
      const isWake = isUnprompted(reply)
      isDecided = isWake !== undefined
      if (isWake) void handToShard(server, reply.sessionID).catch((error) => onError(toError(error)))
    })
  }

  /**
   * Returns a function that shows a reply in the chat that follows it, if this process has that chat. Otherwise it hands the session
   * to the member that has it. Emits `unshown` once for each request that no chat could show.
   */
  function followFor(server: string): (reply: Reply) => Promise<ReplyObserver | undefined> {
    const unshown = createRecent<true>(mostUnshown)
    return async (reply) => {
      const target = await state.withRetries(() => findFollowTarget(server, reply))
      if (!target) return undefined
      if (target.type === 'no-chat') {
        for (const { requestID, sessionID, type: askType } of pendingAsks(reply)) {
          if (unshown.has(requestID)) continue
          unshown.set(requestID, true)
          emit({ type: 'unshown', at: clock.now(), server, sessionID, askType, requestID })
        }
        return undefined
      }
      const name = shardOf(target.place)
      const shard = shards.find(name)
      if (shard) return await shard.follow(server, reply, target)
      await wake(name, server, reply.sessionID)
      return undefined
    }
  }

  /** Hands a session to the shard that had its last run. Does nothing for a session that no chat has used. */
  async function handToShard(server: string, sessionID: string): Promise<void> {
    const shard = await state.withRetries(() => state.read(homeKey(server, sessionID)))
    if (shard !== undefined && !shards.find(shard)) await wake(shard, server, sessionID)
  }

  /** Stores that a shard of another member is to follow a session. */
  async function wake(shard: string, server: string, sessionID: string): Promise<void> {
    const key = keyInShard(shard, `${wakePrefix}${encodeURIComponent(server)}/${sessionID}`)
    // The shard removes only the value that it has seen, because what it looks at then may be older than the next one.
    const put = { type: 'put', key, value: randomUUID(), expiresInMs: wakeMs } as const
    await state.withRetries(() => state.commitWithoutLease([put], { hint: `wake/${shard}` }))
  }
}
