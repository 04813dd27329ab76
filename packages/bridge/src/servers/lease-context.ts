import { AsyncLocalStorage } from 'node:async_hooks'
import type { Client } from '@reply/core'
import type { SteadyClock } from '@reply/core/source'
import type { HeldLease } from '../members/membership.ts'

/** The lease of the shard on whose behalf the current code calls a server. All shards share one client for each server. */
const leases = new AsyncLocalStorage<Pick<HeldLease, 'whenHeld'>>()

/** Returns the lease under which the current code calls a server. Undefined outside the calls of `withLeasedCalls`. */
export function callLease(): Pick<HeldLease, 'whenHeld'> | undefined {
  return leases.getStore()
}

/**
 * Returns the clock for a client of all shards, whose timers call servers for none of them. For example, a timer that aborts a late
 * run is set whenever an event arrives, under the lease of the shard that happened to open the event stream.
 */
export function withoutCallLease(clock: SteadyClock): SteadyClock {
  return { ...clock, after: (delayMs, run) => clock.after(delayMs, () => leases.exit(run)) }
}

/** Returns the client for one shard: each call runs under the shard's lease, which `leasedFetch` then asks for. */
export function withLeasedCalls(client: Client, lease: Pick<HeldLease, 'whenHeld'>): Client {
  return new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: readonly unknown[]): unknown => leases.run(lease, () => Reflect.apply(member, target, given))
    },
  })
}
