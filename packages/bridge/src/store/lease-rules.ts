import type { LeaseRequest, StoreLease } from './store.ts'

/** A lease as an engine stores it. */
export interface StoredLease extends Pick<StoreLease, 'name' | 'holder' | 'fence'> {
  /** When it expires unless it is renewed, in ms since the epoch by the store's clock. */
  readonly expiresAt: number
}

/**
 * The longest lease that counts as valid, in ms. One that would run for longer was taken before the computer's clock was
 * set back. It counts as expired: otherwise it would be held until the clock catches up.
 */
const longestMs = 60_000

/** Returns the lease after a request, or undefined while another process holds it. Every engine uses this. */
export function leaseAfter(
  stands: StoredLease | undefined,
  request: LeaseRequest,
  now: number,
): StoredLease | undefined {
  const { name, holder, forMs } = request
  const runs = stands !== undefined && stands.expiresAt > now && stands.expiresAt - now <= Math.max(longestMs, forMs)
  if (runs && stands.holder !== holder) return undefined
  const last = stands?.fence ?? 0
  return { name, holder, fence: runs ? last : last + 1, expiresAt: now + forMs }
}

/** The lease as its holder receives it. */
export function granted({ name, holder, fence }: StoredLease, { forMs }: LeaseRequest): StoreLease {
  return { name, holder, fence, validForMs: forMs }
}

/** Whether a lease can still write. Its own `validForMs` does not matter: it may have been renewed since. */
export function isHeld(stands: StoredLease | undefined, { holder, fence }: StoreLease, now: number): boolean {
  return stands !== undefined && stands.holder === holder && stands.fence === fence && stands.expiresAt > now
}
