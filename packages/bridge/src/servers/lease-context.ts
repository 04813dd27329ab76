import { AsyncLocalStorage } from 'node:async_hooks'
import type { Client } from '@reply/core'
import type { SteadyClock } from '@reply/core/source'
import type { HeldLease } from '../members/membership.ts'

/** Until when a call may begin. */
interface CallLimit {
  /** Throws once it may not. */
  readonly requireDue: () => void
  /** Whether a request of it was sent. It then has begun, and its further requests are sent at any time. */
  hasBegun: boolean
  /** What `requireDue` threw. */
  refusal?: unknown
}

/** A call of a shard to a server. All shards share one client for each server. */
interface ShardCall extends Pick<HeldLease, 'whenHeld'> {
  readonly limit: CallLimit | undefined
}

/** The call that the current code is part of. */
const calls = new AsyncLocalStorage<ShardCall>()
/** The limit of the calls that the current code makes itself. */
const limits = new AsyncLocalStorage<CallLimit>()

/** Says when the requests of a call may be sent. */
export interface CallPermit {
  /** As `HeldLease.whenHeld`. Also rejects if the call has not begun and may not begin any more. */
  whenHeld(): Promise<AbortSignal>
  /** Call it right before a request is sent. */
  onSend(): void
}

/**
 * Returns the permit of the call that the current code is part of: by the lease of its shard, or by `whenHeld` outside the calls
 * of `withLeasedCalls`.
 */
export function callPermit(whenHeld: HeldLease['whenHeld']): CallPermit {
  const { limit, ...lease } = calls.getStore() ?? { whenHeld }
  return {
    whenHeld: async () => {
      const signal = await lease.whenHeld()
      if (limit && !limit.hasBegun) requireDue(limit)
      return signal
    },
    onSend: () => {
      if (limit) limit.hasBegun = true
    },
  }
}

/** Throws like the function of the limit, and remembers the error. */
function requireDue(limit: CallLimit): void {
  try {
    limit.requireDue()
  } catch (error) {
    limit.refusal = error
    throw error
  }
}

/**
 * Makes a call to a server, and calls `requireDue` before that and right before the first request that changes something is sent.
 * If it throws, that request is not sent, and this rejects with the same error. Otherwise resolves and rejects like the call.
 */
export async function callWhileDue<Result>(requireDue: () => void, call: () => Promise<Result>): Promise<Result> {
  requireDue()
  const limit: CallLimit = { requireDue, hasBegun: false }
  try {
    return await limits.run(limit, call)
  } catch (error) {
    throw limit.refusal ?? error
  }
}

/**
 * Returns the clock for a client of all shards, whose timers call servers for none of them. For example, a timer that aborts a late
 * run is set whenever an event arrives, under the lease of the shard that happened to open the event stream.
 */
export function withoutCallLease(clock: SteadyClock): SteadyClock {
  return { ...clock, after: (delayMs, run) => clock.after(delayMs, () => calls.exit(run)) }
}

/** Returns the client for one shard: each call runs under the shard's lease, which `leasedFetch` then asks for. */
export function withLeasedCalls(client: Client, { whenHeld }: Pick<HeldLease, 'whenHeld'>): Client {
  return new Proxy(client, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: readonly unknown[]): unknown => {
        const call: ShardCall = { whenHeld, limit: limits.getStore() }
        // What the call begins, such as observers, has no limit.
        return limits.exit(() => calls.run(call, () => Reflect.apply(member, target, given)))
      }
    },
  })
}
