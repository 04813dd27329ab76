import { emptyTrack, type OnError, type Reply, type ReplyEvent, type TrackState } from '@reply/core'
import { detached, recordingLimits, type Tracked, type TrackedStep, trackOrSkip } from '@reply/core/internal'

/** A reply of a recording at a moment. */
export interface InspectedReply {
  /** The root session. */
  readonly sessionID: string
  /** The number of the reply in its session, from 1. */
  readonly run: number
  /** The reply as it was then. */
  readonly reply: Reply
  /** The frame that opened it. */
  readonly openedAt: number
  /** The newest frame that changed it. */
  readonly changedAt: number
}

/** The state of `track` and all replies at one moment. Kept states share what did not change. */
export interface Kept {
  readonly track: TrackState
  readonly replies: readonly InspectedReply[]
}

/** Applies the events of a recording with the functions of the core. */
export interface Player {
  /** Applies an event of the frame with this number. */
  apply(event: ReplyEvent, frame: number): Tracked
  readonly track: TrackState
  /** The replies now, in the order in which they opened. */
  readonly replies: readonly InspectedReply[]
  /** Returns the state now, to go on from there later. */
  keep(): Kept
}

/** The state before the first frame. */
export const nothingKept: Kept = { track: emptyTrack(recordingLimits), replies: [] }

/** Creates a player that goes on from a kept state. Reports what can't be applied to `onError`. */
export function createPlayer(from: Kept, onError?: OnError): Player {
  let track = detached(from.track)
  const replies = [...from.replies]
  /** The positions of each session's replies. */
  const positions = new Map<string, number[]>()
  for (const [position, { sessionID }] of replies.entries()) note(sessionID, position)
  return {
    apply,
    get track() {
      return track
    },
    replies,
    keep: () => ({ track: detached(track), replies: [...replies] }),
  }

  function apply(event: ReplyEvent, frame: number): Tracked {
    const tracked = trackOrSkip(track, event, onError)
    track = tracked.state
    for (const step of tracked.steps) place(step, frame)
    return tracked
  }

  /** Stores the reply of a step. As in `replay`, only a reply that was seen to begin is one of the recording's. */
  function place({ reply, run, changes }: TrackedStep, frame: number): void {
    const { sessionID } = reply
    const position = positions.get(sessionID)?.findLast((one) => replies[one]?.run === run)
    const before = position === undefined ? undefined : replies[position]
    if (position !== undefined && before) replies[position] = { ...before, reply, changedAt: frame }
    else if (changes[0]?.type === 'replyStarted') {
      note(sessionID, replies.length)
      replies.push({ sessionID, run, reply, openedAt: frame, changedAt: frame })
    }
  }

  function note(sessionID: string, position: number): void {
    const known = positions.get(sessionID)
    if (known) known.push(position)
    else positions.set(sessionID, [position])
  }
}
