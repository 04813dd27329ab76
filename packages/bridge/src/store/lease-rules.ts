import type { StoreLease } from './store.ts'

/** A lease as an engine stores it. */
export interface StoredLease extends Pick<StoreLease, 'name' | 'holder' | 'fence'> {
  /** When it expires unless it is renewed, in ms since the epoch by the store's clock. */
  readonly expiresAt: number
}

/**
 * How far the clock may be set back before times that were stored earlier no longer count, in ms. Otherwise a lease would be held,
 * and a budget frozen, until the clock catches up.
 */
export const clockStepMs = 60_000

/** Whether a time of expiry counts: it has not passed, and is not too far ahead. */
export function isValidUntil(expiresAt: number, now: number): boolean {
  return expiresAt > now && expiresAt - now <= clockStepMs
}

/**
 * Returns the lease that a member has after it asked for it, valid for `forMs`: renewed with the same fence if it holds it, or
 * with the next fence if it was free or has expired. Fences start at 1. Undefined while another member holds it.
 */
export function leaseAfter(
  current: StoredLease | undefined,
  { name, holder, forMs }: { readonly name: string; readonly holder: string; readonly forMs: number },
  now: number,
): StoredLease | undefined {
  const isValid = current !== undefined && isValidUntil(current.expiresAt, now)
  if (isValid && current.holder !== holder) return undefined
  const lastFence = current?.fence ?? 0
  return { name, holder, fence: isValid ? lastFence : lastFence + 1, expiresAt: now + forMs }
}

/**
 * Whether a lease can still write: the stored one has its holder and fence, and has not expired. Its own `validForMs` does not
 * matter, because it may have been renewed since.
 */
export function isCurrentLease(current: StoredLease | undefined, { holder, fence }: StoreLease, now: number): boolean {
  return current !== undefined && current.holder === holder && current.fence === fence && current.expiresAt > now
}
