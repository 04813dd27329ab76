import type { Clock } from '@reply/core'

/** Limits how many messages each actor sends. */
export interface RateLimit {
  /**
   * Whether a message is within the limit. If so, it is counted. One that was counted in the last minute is within the limit, because
   * platforms deliver a message again that was not acknowledged. Up to ten messages of one album count as one. Without a `message`, each
   * call counts.
   */
  countIfAllowed(actor: string, message?: { readonly id: string; readonly albumID?: string | undefined }): boolean
}

/** What counts as one message: a message or an album. */
interface Counted {
  readonly at: number
  readonly ids: readonly string[]
  readonly albumID: string | undefined
}

const minuteMs = 60_000
/** The largest album on any platform. */
const albumLength = 10

/**
 * Creates a limit of `perMinute` messages in any minute, for each actor. Forgets actors without a message in the last minute at
 * the next message after that.
 */
export function createRateLimit(perMinute: number, clock: Clock): RateLimit {
  const countedOf = new Map<string, readonly Counted[]>()
  let sweptAt = clock.now()
  return { countIfAllowed }

  /** Whether the message is within the limit. If so, it is counted, unless it was counted before or is of an album that was. */
  function countIfAllowed(...[actor, message]: Parameters<RateLimit['countIfAllowed']>): boolean {
    const now = clock.now()
    if (now - sweptAt > minuteMs) forgetIdleActors(now)
    const { id, albumID } = message ?? {}
    const recent = (countedOf.get(actor) ?? []).filter(({ at }) => at > now - minuteMs)
    if (id !== undefined && recent.some(({ ids }) => ids.includes(id))) return true
    const album = recent.find((one) => albumID !== undefined && one.albumID === albumID && one.ids.length < albumLength)
    if (!album && recent.length >= perMinute) return false
    const { at, ids }: Pick<Counted, 'at' | 'ids'> = album ?? { at: now, ids: [] }
    const counted = { at, ids: id === undefined ? ids : [...ids, id], albumID }
    countedOf.set(actor, [...recent.filter((one) => one !== album), counted])
    return true
  }

  /** Forgets actors without a message in the last minute. */
  function forgetIdleActors(now: number): void {
    sweptAt = now
    for (const [actor, all] of countedOf) if (all.every(({ at }) => at <= now - minuteMs)) countedOf.delete(actor)
  }
}
