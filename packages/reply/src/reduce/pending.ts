import type { Ask } from '../ask.ts'

const known = new WeakMap<readonly Ask[], number>()

/** Whether any ask is pending. Cached, because it runs on every event and the list can be long. */
export function isAnyPending(asks: readonly Ask[]): boolean {
  return asks.length > 0 && pendingCount(asks) > 0
}

/** Carries the cached count over to a list in which the ask at `changed` was replaced or added. */
export function keepPendingCount(before: readonly Ask[], after: readonly Ask[], changed: number): void {
  const count = before.length === 0 ? 0 : known.get(before)
  if (count === undefined) return
  known.set(after, count - weight(before[changed]) + weight(after[changed]))
}

function pendingCount(asks: readonly Ask[]): number {
  const count = known.get(asks) ?? asks.reduce((sum, ask) => sum + weight(ask), 0)
  known.set(asks, count)
  return count
}

function weight(ask: Ask | undefined): number {
  return ask?.status === 'pending' ? 1 : 0
}
