import type { Lease, LeaseRequest } from './store.ts'

/**
 * No lease is asked for as long as this, in ms. One that would run for longer was taken before the computer's clock was
 * set back, and counts as run out: otherwise it would be held until the clock is where it was.
 */
const longestMs = 60_000

/** What a request makes of the lease as it stands; undefined while another holds it. Every engine decides by this. */
export function leaseAfter(stands: Lease | undefined, request: LeaseRequest, now: number): Lease | undefined {
  const { name, holder, forMs } = request
  const runs = stands !== undefined && stands.expiresAt > now && stands.expiresAt - now <= Math.max(longestMs, forMs)
  if (runs && stands.holder !== holder) return undefined
  const last = stands?.fence ?? 0
  return { name, holder, fence: runs ? last : last + 1, expiresAt: now + forMs }
}

/** Whether a lease may still write. Its own `expiresAt` doesn't count: it may have been renewed since. */
export function isHeld(stands: Lease | undefined, { holder, fence }: Lease, now: number): boolean {
  return stands !== undefined && stands.holder === holder && stands.fence === fence && stands.expiresAt > now
}
