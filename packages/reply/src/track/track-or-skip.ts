import { type OnError, ReplyError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import { track } from '../track.ts'
import type { Tracked, TrackState } from './state.ts'

/**
 * Tracks an event that may be inconsistent: if tracking throws, the error is reported and the event skipped, so that
 * one session's error doesn't affect the others.
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
