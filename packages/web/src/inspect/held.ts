import type { ReplyEvent, TrackState } from '@reply/core'
import { heldEventsOf } from '@reply/core/internal'
import type { HeldFrame } from './frame.ts'

/** Follows which frames have events that `track` holds, and which later frames place them. */
export interface HeldFrames {
  /** Compares what `track` holds before and after an event of the frame. `dropped`: as `track` reported. */
  record(before: TrackState, after: TrackState, frame: number, dropped: number): void
  /** What became of the frame's events. Undefined if none was held. */
  of(frame: number): HeldFrame | undefined
  /** The frames whose events this one placed. */
  releasedBy(frame: number): readonly number[]
}

export function createHeldFrames(): HeldFrames {
  /** The frames of each event that is held. Joined deltas are one event of several frames. */
  const framesOf = new Map<ReplyEvent, readonly number[]>()
  const ends = new Map<number, HeldFrame>()
  const released = new Map<number, number[]>()
  return {
    record,
    of: (frame) => ends.get(frame),
    releasedBy: (frame) => released.get(frame) ?? [],
  }

  function record(before: TrackState, after: TrackState, frame: number, dropped: number): void {
    if (before.waiting.length === 0 && after.waiting.length === 0) return
    for (const sessionID of new Set([...before.waiting, ...after.waiting])) {
      const held = heldEventsOf(before, sessionID)
      const now = heldEventsOf(after, sessionID)
      if (held !== now) compare(held, now, frame, dropped)
    }
  }

  function compare(held: readonly ReplyEvent[], now: readonly ReplyEvent[], frame: number, dropped: number): void {
    const last = held.length - 1
    const lastHeld = held[last]
    const added = now.at(-1)
    // Nearly always one event is added to the end, or joined with the last one.
    if (added && now.length === held.length + 1 && (last < 0 || now[last] === lastHeld)) return hold(added, frame, [])
    if (added && lastHeld && now.length === held.length && added !== lastHeld && isJoined(lastHeld, added)) {
      const frames = framesOf.get(lastHeld) ?? []
      framesOf.delete(lastHeld)
      return hold(added, frame, frames)
    }
    const kept = new Set(now)
    for (const event of held) if (!kept.has(event)) release(event, frame, dropped > 0)
    const known = new Set(held)
    for (const event of now) if (!known.has(event)) hold(event, frame, [])
  }

  function hold(event: ReplyEvent, frame: number, joined: readonly number[]): void {
    framesOf.set(event, joined.includes(frame) ? joined : [...joined, frame])
    if (!ends.has(frame)) ends.set(frame, { dropped: false })
  }

  function release(event: ReplyEvent, frame: number, dropped: boolean): void {
    const frames = framesOf.get(event) ?? []
    framesOf.delete(event)
    for (const one of frames) ends.set(one, { until: frame, dropped })
    if (!dropped) released.set(frame, [...new Set([...(released.get(frame) ?? []), ...frames])])
  }
}

/** Whether the second event can only be the first one with more text: it replaced it at the end of what is held. */
function isJoined(first: ReplyEvent, second: ReplyEvent): boolean {
  if (first.type !== 'delta' || second.type !== 'delta') return false
  return first.partID === second.partID && first.delta.length < second.delta.length
}
