import type { Clock } from '@reply/core'

/** Limits how many messages each actor sends. */
export interface RateLimit {
  /** Whether a message is within the limit. If so, it is counted. Up to ten messages of one album count as one. */
  countIfAllowed(actor: string, albumID?: string): boolean
}

const minuteMs = 60_000
/** The largest album on any platform. */
const albumLength = 10

/**
 * Creates a limit of `perMinute` messages in any minute, for each actor. Forgets actors without a message in the last minute at
 * the next message after that.
 */
export function createRateLimit(perMinute: number, clock: Clock): RateLimit {
  const times = new Map<string, readonly number[]>()
  /** The last album of each actor, and how many more of its messages are not counted. */
  const albums = new Map<string, { readonly id: string; readonly left: number }>()
  let sweptAt = clock.now()
  return { countIfAllowed }

  /**
   * Whether the message is within the limit. If so, it is counted. Further messages of the actor's last album are within the
   * limit and not counted, at most `albumLength` with the first.
   */
  function countIfAllowed(actor: string, albumID?: string): boolean {
    const now = clock.now()
    if (now - sweptAt > minuteMs) forgetIdleActors(now)
    const album = albums.get(actor)
    if (album && album.id === albumID && album.left > 0) {
      albums.set(actor, { ...album, left: album.left - 1 })
      return true
    }
    const recent = (times.get(actor) ?? []).filter((at) => at > now - minuteMs)
    if (recent.length >= perMinute) return false
    times.set(actor, [...recent, now])
    if (albumID !== undefined) albums.set(actor, { id: albumID, left: albumLength - 1 })
    return true
  }

  /** Forgets actors without a message in the last minute. */
  function forgetIdleActors(now: number): void {
    sweptAt = now
    for (const [actor, all] of times) {
      if ((all.at(-1) ?? 0) > now - minuteMs) continue
      times.delete(actor)
      albums.delete(actor)
    }
  }
}
