import type { Lease, LeaseRequest } from './store.ts'

/** A lease as an engine keeps it. */
export interface KeptLease extends Pick<Lease, 'name' | 'holder' | 'fence'> {
  /** When it runs out unless it is renewed, in ms since the epoch by the store's clock. */
  readonly expiresAt: number
}

/**
 * No lease is asked for as long as this, in ms. One that would run for longer was taken before the computer's clock was
 * set back, and counts as run out: otherwise it would be held until the clock is where it was.
 */
const longestMs = 60_000

/** What a request makes of the lease as it stands; undefined while another holds it. Every engine decides by this. */
export function leaseAfter(stands: KeptLease | undefined, request: LeaseRequest, now: number): KeptLease | undefined {
  const { name, holder, forMs } = request
  const runs = stands !== undefined && stands.expiresAt > now && stands.expiresAt - now <= Math.max(longestMs, forMs)
  if (runs && stands.holder !== holder) return undefined
  const last = stands?.fence ?? 0
  return { name, holder, fence: runs ? last : last + 1, expiresAt: now + forMs }
}

/** What its holder gets of it. */
export function granted({ name, holder, fence }: KeptLease, { forMs }: LeaseRequest): Lease {
  return { name, holder, fence, validForMs: forMs }
}

/** Whether a lease may still write. Its own time doesn't count: it may have been renewed since. */
export function isHeld(stands: KeptLease | undefined, { holder, fence }: Lease, now: number): boolean {
  return stands !== undefined && stands.holder === holder && stands.fence === fence && stands.expiresAt > now
}
