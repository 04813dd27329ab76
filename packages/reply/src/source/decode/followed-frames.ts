import type { ReplyEvent } from '../../event.ts'
import { childSessionOf } from '../../reduce/child.ts'
import type { FrameDecoder } from '../../wire/reader.ts'
import type { AddedSession, Following } from '../port.ts'
import { copyText } from './json-text.ts'
import { setNewest } from './newest.ts'

/** A frame that was skipped, and may turn out to be a sub-agent's that is followed. */
interface SkippedFrame {
  /** The first session that it names. */
  readonly sessionID: string
  readonly data: string
  readonly at: number
  /** Its events, if it had to be decoded to see that it is not followed. */
  readonly events?: readonly ReplyEvent[] | undefined
}

/**
 * At least how many of the last skipped frames are kept, unless they are longer than this in UTF-16 units. Twice as
 * many at most. An event of a sub-agent comes milliseconds before the one that introduces it, if at all.
 */
const keptFrames = 256
const keptUnits = 256 * 1024

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
  /** The last skipped frames, and before them those of the generation before. */
  let skipped: SkippedFrame[] = []
  let skippedBefore: SkippedFrame[] = []
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
      if (skipped.length > 0) [skippedBefore, skipped] = [[], []]
      return decoder.decode(data, at)
    }
    lastAt = at
    const foreignID = foreignSessionOf(data)
    if (foreignID !== undefined) {
      keep({ sessionID: foreignID, data, at })
      return undefined
    }
    const events = decodeFollowed(data, at)
    return added.length === 0 ? events : [...events, ...releaseSkipped([])]
  }

  /** The first session that the frame names. Undefined if it may concern one that is followed, or no session. */
  function foreignSessionOf(data: string): string | undefined {
    const foreignID = namedSession(data)
    if (foreignID === undefined) return undefined
    // Rare, so that the search for a letter's escape costs nothing for most frames.
    if (!data.includes('\\u00') || !escapedLetter.test(data)) return foreignID
    const plain = withoutEscapes(data)
    return plain === undefined ? undefined : namedSession(plain)
  }

  /** The first session whose id is a whole string in the text. Undefined if there is none, or one is followed. */
  function namedSession(data: string): string | undefined {
    let first: string | undefined
    for (let start = data.indexOf(idStart); start !== -1; ) {
      const end = data.indexOf('"', start + idStart.length)
      if (end === -1) break
      const sessionID = data.slice(start + 1, end)
      if (following.includes(sessionID)) return undefined
      first ??= sessionID
      start = data.indexOf(idStart, end)
    }
    return first
  }

  /** Decodes a frame, and returns the events of sessions that are followed. Keeps the others. */
  function decodeFollowed(data: string, at: number): readonly ReplyEvent[] {
    const decoded = decoder.decode(data, at)
    if (decoded === undefined) return none
    const events: readonly ReplyEvent[] = 'type' in decoded ? [decoded] : decoded
    const wanted = events.filter(isFollowed)
    if (wanted.length === events.length) return wanted
    const others = events.filter((event) => !wanted.includes(event))
    keep({ sessionID: sessionIDOf(others[0]), data, at, events: others })
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
      const released = [...skippedBefore, ...skipped].filter(isReleased)
      skippedBefore = skippedBefore.filter((frame) => !released.includes(frame))
      skipped = skipped.filter((frame) => !released.includes(frame))
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

  /** Keeps a skipped frame. Drops the generation before if there are enough. */
  function keep(frame: SkippedFrame): void {
    skipped.push(frame)
    skippedUnits += frame.data.length
    if (skipped.length < keptFrames && skippedUnits < keptUnits) return
    // Nearly always sessions that are noted.
    for (const { sessionID } of skippedBefore)
      if (!dropped.has(sessionID)) setNewest(dropped, copyText(sessionID), true, maxDropped)
    skippedBefore = skipped
    skipped = []
    skippedUnits = 0
  }
}

/** The session of an event that has one. Otherwise empty. */
function sessionIDOf(event: ReplyEvent | undefined): string {
  if (event?.type === 'missed') return event.inSession
  return event && 'sessionID' in event ? event.sessionID : ''
}

/** Returns the same JSON without escapes of letters. Undefined for a text that isn't JSON. */
function withoutEscapes(data: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(data))
  } catch {
    return undefined
  }
}
