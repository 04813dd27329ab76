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
const longestLeaseMs = 60_000

/** Whether a time of expiry counts: it has not passed, and is not too far ahead. */
export function isValidUntil(expiresAt: number, now: number, longestMs = longestLeaseMs): boolean {
  return expiresAt > now && expiresAt - now <= longestMs
}

/**
 * Returns the lease after a request: renewed with the same fence for its holder, or with the next fence if it was free or has
 * expired. Fences start at 1. Undefined while another process holds it. Every engine uses this.
 */
export function leaseAfter(
  current: StoredLease | undefined,
  request: LeaseRequest,
  now: number,
): StoredLease | undefined {
  const { name, holder, forMs } = request
  const isValid = current !== undefined && isValidUntil(current.expiresAt, now, Math.max(longestLeaseMs, forMs))
  if (isValid && current.holder !== holder) return undefined
  const lastFence = current?.fence ?? 0
  return { name, holder, fence: isValid ? lastFence : lastFence + 1, expiresAt: now + forMs }
}

/** Returns the lease as its holder receives it, valid for as long as it requested. */
export function grantedLease({ name, holder, fence }: StoredLease, { forMs }: LeaseRequest): StoreLease {
  return { name, holder, fence, validForMs: forMs }
}

/**
 * Whether a lease can still write: the stored one has its holder and fence, and has not expired. Its own `validForMs` does not
 * matter, because it may have been renewed since.
 */
export function isCurrentLease(current: StoredLease | undefined, { holder, fence }: StoreLease, now: number): boolean {
  return current !== undefined && current.holder === holder && current.fence === fence && current.expiresAt > now
}
