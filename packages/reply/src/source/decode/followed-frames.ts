import type { ReplyEvent } from '../../event.ts'
import { childSessionOf } from '../../reduce/child.ts'
import type { FrameDecoder } from '../../wire/reader.ts'
import type { AddedSession, Following } from '../port.ts'
import { setNewest } from './newest.ts'

/** A frame that was skipped, and may turn out to be a sub-agent's that is followed. */
interface SkippedFrame {
  readonly data: string
  readonly at: number
  /** Its events, if it had to be decoded to see that it is not followed. */
  readonly events?: readonly ReplyEvent[] | undefined
}

/** How many skipped frames are kept, and their whole length in UTF-16 units: about a second of a busy server. */
const maxSkipped = 2048
const maxSkippedUnits = 1024 * 1024

/** For how many sessions it is remembered that their skipped frames were dropped. */
const maxDropped = 10_000

/** The beginning of a JSON string with a session's id. Both generations make ids of sessions with this prefix. */
const idStart = '"ses_'

/** A letter, digit or underscore as an escape, which servers never write. An id that is written so can't be searched. */
const escapedLetter = /\\u00[3-7]/

const none: readonly ReplyEvent[] = []

/**
 * Creates a decoder for one connection that skips the frames of sessions that aren't followed, without parsing them.
 *
 * A frame is skipped only if it has the id of a session as a whole string, and none of a session that is followed.
 * That holds for each frame of such a session, in any order of keys, because a JSON string without escapes is its own
 * text. A quote within a text is escaped, so an id that a text mentions doesn't count. The last skipped frames are kept,
 * and decoded when their session turns out to be a sub-agent's that is followed.
 */
export function createFollowedDecoder(decoder: FrameDecoder, following: Following): FrameDecoder {
  let skipped: SkippedFrame[] = []
  let skippedUnits = 0
  /** When the newest frame was received. */
  let lastAt = 0
  /** The sessions whose skipped frames are no longer kept. */
  const dropped = new Map<string, true>()
  /** The sub-agents that the current frame added. */
  let added: AddedSession[] = []
  following.onAdded(releaseSkipped)
  return { decode }

  /** Returns the events of a frame, then those of earlier frames that turn out to be followed. */
  function decode(data: string, at: number): ReturnType<FrameDecoder['decode']> {
    if (following.isEvery()) {
      if (skipped.length > 0) replaceSkipped([])
      return decoder.decode(data, at)
    }
    lastAt = at
    if (skipsFrame(data)) {
      keep({ data, at })
      return undefined
    }
    const events = decodeFollowed(data, at)
    return added.length === 0 ? events : [...events, ...releaseSkipped([])]
  }

  /** Whether the frame can't concern a session that is followed. */
  function skipsFrame(data: string): boolean {
    if (!namesOnlyOthers(data)) return false
    // Rare, so the search for the escape itself is cheap.
    if (!data.includes('\\u00') || !escapedLetter.test(data)) return true
    const plain = withoutEscapes(data)
    return plain !== undefined && namesOnlyOthers(plain)
  }

  /** Whether the text has the id of a session as a whole string, and none of a session that is followed. */
  function namesOnlyOthers(data: string): boolean {
    let start = data.indexOf(idStart)
    if (start === -1) return false
    while (start !== -1) {
      const end = data.indexOf('"', start + idStart.length)
      if (end === -1) return true
      if (following.includes(data.slice(start + 1, end))) return false
      start = data.indexOf(idStart, end)
    }
    return true
  }

  /** Decodes a frame, and returns the events of sessions that are followed. Keeps the others. */
  function decodeFollowed(data: string, at: number): readonly ReplyEvent[] {
    const decoded = decoder.decode(data, at)
    if (decoded === undefined) return none
    const events: readonly ReplyEvent[] = 'type' in decoded ? [decoded] : decoded
    const wanted = events.filter(isFollowed)
    if (wanted.length < events.length) keep({ data, at, events: events.filter((event) => !wanted.includes(event)) })
    return wanted
  }

  /** Whether the event is of a session that is followed, or of none. Follows a sub-agent that it names. */
  function isFollowed(event: ReplyEvent): boolean {
    if (event.type === 'missed') return following.includes(event.inSession)
    if (!('sessionID' in event)) return true
    const { sessionID } = event
    if (event.type === 'session' && event.parentID !== undefined && following.includes(event.parentID))
      addChild(sessionID, event.parentID)
    if (!following.includes(sessionID)) return false
    const childID = event.type === 'part' ? childSessionOf(event.part) : undefined
    if (childID !== undefined) addChild(childID, sessionID)
    return true
  }

  /** Follows a sub-agent's session, whose skipped frames are released after the current one. */
  function addChild(sessionID: string, parentID: string): void {
    if (following.addChild(sessionID, parentID)) added.push({ sessionID })
  }

  /**
   * Returns the events of skipped frames of these sessions and of those that the current frame added, in order, and
   * `missed` for a session that had frames that are no longer kept.
   */
  function releaseSkipped(others: readonly AddedSession[]): readonly ReplyEvent[] {
    const events: ReplyEvent[] = []
    for (let next = [...others, ...added]; next.length > 0; next = added) {
      added = []
      const names = next.map(({ sessionID, since = 0 }) => ({ name: `"${sessionID}"`, since }))
      const isReleased = (frame: SkippedFrame): boolean =>
        names.some(({ name, since }) => frame.at >= since && frame.data.includes(name))
      const released = skipped.filter(isReleased)
      replaceSkipped(skipped.filter((frame) => !released.includes(frame)))
      for (const frame of released)
        events.push(...(frame.events ? frame.events.filter(isFollowed) : decodeFollowed(frame.data, frame.at)))
      for (const { sessionID } of next) if (dropped.delete(sessionID)) events.push(missedEvent(sessionID))
    }
    return events
  }

  /** The event that makes the client read a session again. */
  function missedEvent(inSession: string): ReplyEvent {
    return { type: 'missed', at: lastAt, inSession }
  }

  /** Keeps a skipped frame. Drops the oldest half if there are too many. */
  function keep(frame: SkippedFrame): void {
    skipped.push(frame)
    skippedUnits += frame.data.length
    if (skipped.length <= maxSkipped && skippedUnits <= maxSkippedUnits) return
    const half = Math.ceil(skipped.length / 2)
    for (const { data } of skipped.slice(0, half)) noteDropped(data)
    replaceSkipped(skipped.slice(half))
  }

  /** Remembers the sessions that a dropped frame names. */
  function noteDropped(data: string): void {
    for (let start = data.indexOf(idStart); start !== -1; ) {
      const end = data.indexOf('"', start + idStart.length)
      if (end === -1) return
      setNewest(dropped, data.slice(start + 1, end), true, maxDropped)
      start = data.indexOf(idStart, end)
    }
  }

  /** Sets the frames that are kept. */
  function replaceSkipped(frames: SkippedFrame[]): void {
    skipped = frames
    skippedUnits = frames.reduce((sum, { data }) => sum + data.length, 0)
  }
}

/** Returns the same JSON without escapes of letters. Undefined for a text that isn't JSON. */
function withoutEscapes(data: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(data))
  } catch {
    return undefined
  }
}
