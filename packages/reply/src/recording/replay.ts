import { createDispatcher, type Dispatcher, observersOf } from '../dispatch.ts'
import { type OnError, ReplyError } from '../error.ts'
import type { ReplyEvent } from '../event.ts'
import type { ReplyObserver } from '../observer.ts'
import type { Reply } from '../reply.ts'
import { emptyTrack, type TrackedStep, type TrackState } from '../track/state.ts'
import { repliesOf, trackOrSkip, unknownSessions } from '../track/track.ts'
import { createRecordingReader, type Recording } from './read-recording.ts'

/** Options of `replay`. */
export interface ReplayOptions {
  /** Called once for each root reply, when it opens. The returned observers observe that reply to its end. */
  readonly observe?: ((reply: Reply) => readonly ReplyObserver[]) | undefined
  /** Receives errors about unreadable frames and failed observers. The replay continues. */
  readonly onError?: OnError | undefined
  /**
   * Called and awaited before each event is applied, with its time in ms since the epoch. Use it to replay at a chosen
   * pace.
   */
  readonly pace?: ((at: number) => Promise<void> | undefined) | undefined
}

/** A recording is finite, so everything in it is remembered. */
export const recordingLimits = { keepSettled: Number.POSITIVE_INFINITY, maxQuiet: Number.POSITIVE_INFINITY }

/** One of the recording's replies: the run of its session, and its index in the result. */
interface OpenedReply {
  readonly sessionID: string
  readonly run: number
  readonly index: number
  readonly dispatcher: Dispatcher
}

/**
 * Runs a recording through the same reducer and observers as a live stream. Resolves with every root reply, settled, in
 * the order in which they opened. Empty if the recording contains none. Rejects only if reading the recording or `pace`
 * fails.
 *
 * Accepts raw server-sent events in any chunking, or JSON lines, wrapped in `{directory, payload}` or not.
 */
export async function replay(recording: Recording, options: ReplayOptions = {}): Promise<readonly Reply[]> {
  const { onError, pace } = options
  const reportError: OnError = (error) => onError?.(error)
  const replies: Reply[] = []
  const openedBySession = new Map<string, OpenedReply[]>()
  let state = emptyTrack(recordingLimits)
  let newestEvent: ReplyEvent | undefined
  /** Whose step came last. */
  let latestOpened: OpenedReply | undefined

  const reader = createRecordingReader(onError)
  const isWhole = typeof recording === 'string' || recording instanceof Uint8Array
  const pieces = isWhole ? [recording] : recording
  if (Symbol.iterator in pieces) {
    for (const piece of pieces) {
      const played = play(reader.push(piece))
      if (played) await played
    }
  } else for await (const piece of pieces) await play(reader.push(piece))
  await play(reader.end())
  settleOpenReplies({ state: () => state, apply: applyEvent, at: newestEvent?.at ?? 0 })
  return replies

  /**
   * Applies the events. Returns a promise only with `pace`, because awaiting nothing for each piece takes longer than
   * applying a few events.
   */
  function play(events: readonly ReplyEvent[]): Promise<void> | undefined {
    if (pace) return playPaced(pace, events)
    for (const event of events) applyEvent(event)
    return undefined
  }

  /** Awaits `wait` before each event. */
  async function playPaced(wait: NonNullable<typeof pace>, events: readonly ReplyEvent[]): Promise<void> {
    for (const event of events) {
      await wait(event.at)
      applyEvent(event)
    }
  }

  /** Applies an event, reports dropped ones, and notifies the observers of each changed reply. */
  function applyEvent(event: ReplyEvent): void {
    newestEvent = event
    const tracked = trackOrSkip(state, event, onError)
    state = tracked.state
    if (tracked.dropped > 0) {
      onError?.(
        new ReplyError(
          'too-large',
          `Dropped ${tracked.dropped} events. The recording lacks the messages they belong to.`,
        ),
      )
    }
    for (const step of tracked.steps) notifyObservers(step)
  }

  /**
   * Stores the reply of a step and notifies its observers. Opens the reply if the step begins it, and ignores other
   * unknown replies.
   */
  function notifyObservers(step: TrackedStep): void {
    const { reply } = step
    const current = findOpened(step) ?? (step.changes[0]?.type === 'replyStarted' ? openReply(step) : undefined)
    if (!current) return
    replies[current.index] = reply
    current.dispatcher.dispatch(step)
  }

  /** The opened reply of this run. Undefined before its first step. */
  function findOpened({ reply, run }: TrackedStep): OpenedReply | undefined {
    // Nearly always.
    if (latestOpened?.run === run && latestOpened.sessionID === reply.sessionID) return latestOpened
    latestOpened = openedBySession.get(reply.sessionID)?.findLast((candidate) => candidate.run === run)
    return latestOpened
  }

  /** Adds a reply to the result, with the observers that `observe` returns for it. Reports an error of `observe`. */
  function openReply({ reply, run }: TrackedStep): OpenedReply {
    const dispatcher = createDispatcher({ onError })
    const next = { sessionID: reply.sessionID, run, index: replies.push(reply) - 1, dispatcher }
    openedBySession.set(reply.sessionID, [...(openedBySession.get(reply.sessionID) ?? []), next])
    for (const observer of observersOf(options.observe, reply, reportError)) dispatcher.observe(observer)
    return next
  }
}

/** A recording that has ended: its newest state, and what applies a further event to it. */
export interface EndedRecording {
  /** Returns the newest state of `track`. */
  readonly state: () => TrackState
  readonly apply: (event: ReplyEvent) => void
  /** The time of the last event, in ms since the epoch. */
  readonly at: number
}

/**
 * Settles open replies at the end of a recording. A session without a known parent counts as a root. Held events are
 * applied first.
 */
export function settleOpenReplies({ state, apply, at }: EndedRecording): void {
  for (const sessionID of unknownSessions(state())) apply({ type: 'session', sessionID, at })
  // Held events open a reply if the stream began mid-run and never sent their message.
  for (const sessionID of state().waiting) apply({ type: 'settle', sessionID, by: 'end', at })
  for (const reply of repliesOf(state())) {
    if (reply.phase !== 'settled') apply({ type: 'settle', sessionID: reply.sessionID, by: 'end', at })
  }
}
