import { type OnError, ReplyError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { track } from '../track.ts'
import type { Tracked, TrackState } from './state.ts'

/**
 * Tracks an event of which nobody vouches that it can be: one that makes the tracking throw is reported and changes
 * nothing, so that one session never costs the others theirs.
 */
export function trackOrSkip(state: TrackState, event: ReplyEvent, onError: OnError | undefined): Tracked {
  try {
    return track(state, event)
  } catch (cause) {
    const whose = 'sessionID' in event ? ` of session ${event.sessionID}` : ''
    onError?.(
      new ReplyError('malformed', `An event "${event.type}"${whose} could not be applied and was skipped.`, { cause }),
    )
    return { state, steps: [], dropped: 0 }
  }
}
