import { type OnError, ReplyError } from '../error.ts'
import type { MessageHead, ReplyEvent, SnapshotEvent } from '../event.ts'
import type { Reply } from '../reply.ts'
import type { SessionRef } from '../session-ref.ts'
import { emptyTrack, type Idle, type TrackedStep } from '../track/state.ts'
import {
  directoryOf,
  idleOf,
  isRunOpen,
  retainedReplies,
  rootOf,
  trackOrSkip,
  unknownSessions,
} from '../track/track.ts'
import { createReplies, type Replies } from './replies.ts'

/** Holds the state of one server's sessions. Only this file applies events to it. */
export interface Engine {
  readonly replies: Replies
  /**
   * Applies events in order. Events that an observer applies are queued until all observers have received the current
   * one.
   */
  apply(events: readonly ReplyEvent[]): void
  /** Makes `apply` ignore all further events. */
  stop(): void
  /** Called with each step, after the reply's observers. */
  onStep(listener: (step: TrackedStep) => void): void
  /** Called for each root session whose run may have changed its state, on every event but a delta. */
  onSessionChanged(listener: (sessionID: string) => void): void
  /** Called after each snapshot. */
  onSnapshot(listener: (snapshot: SnapshotEvent) => void): void
  /** Called after each batch of events. */
  onApplied(listener: () => void): void
  /** The ids of sessions whose events can't be assigned to a root, and of missing parents. */
  unassignedSessions(): readonly string[]
  /** Whether events are held for a message or session that isn't known yet. */
  hasHeldEvents(): boolean
  /** The sessions whose events are held. */
  sessionsWithHeldEvents(): readonly string[]
  /** Whether the session is idle, and according to what: the stream, or only REST. */
  idleOf(sessionID: string): Idle | undefined
  /** The root of the session's tree. Undefined while the session or a session above it is unknown. */
  rootOf(sessionID: string): string | undefined
  /** The session with its directory, which is undefined if unknown. */
  placeOf(sessionID: string): SessionRef
  /** The retained replies of a root session, oldest first. */
  retainedReplies(sessionID: string): readonly Reply[]
  /** The newest time on the server when this client began to listen, in ms since the epoch by the server's clock. */
  listeningFrom(): number | undefined
  /** The newest time in any event, in ms since the epoch by the server's clock. */
  newestAt(): number | undefined
  /** The root replies that have not settled. */
  openReplies(): readonly Reply[]
  /**
   * Whether the session's own run is open. False while its newest reply only shows sub-agents that went on in the
   * background: the next prompt gets a reply of its own.
   */
  isRunOpen(sessionID: string): boolean
  /** The session's newest reply, if it has not settled. */
  openReply(sessionID: string): Reply | undefined
  /** The newest reply of a session, whether open or settled. */
  newestReply(sessionID: string): Reply | undefined
}

/**
 * Creates an engine without sessions, which keeps all open replies and the newest `keepSettled` settled ones. Errors of
 * observers, and events that can't be applied, go to `onError`.
 */
export function createEngine(onError: OnError, keepSettled: number): Engine {
  const replies = createReplies(onError, keepSettled)
  const stepListeners: ((step: TrackedStep) => void)[] = []
  const sessionListeners: ((sessionID: string) => void)[] = []
  const snapshotListeners: ((snapshot: SnapshotEvent) => void)[] = []
  const appliedListeners: (() => void)[] = []
  let state = emptyTrack({ keepSettled })
  let newestAt: number | undefined
  let pending: ReplyEvent[] = []
  let isApplying = false
  let isStopped = false
  return {
    replies,
    apply,
    stop: () => {
      isStopped = true
    },
    onStep: (listener) => stepListeners.push(listener),
    onSessionChanged: (listener) => sessionListeners.push(listener),
    onSnapshot: (listener) => snapshotListeners.push(listener),
    onApplied: (listener) => appliedListeners.push(listener),
    unassignedSessions: () => unknownSessions(state),
    hasHeldEvents: () => state.waiting.length > 0,
    sessionsWithHeldEvents: () => state.waiting,
    idleOf: (sessionID) => idleOf(state, sessionID),
    rootOf: (sessionID) => rootOf(state, sessionID),
    placeOf: (sessionID) => ({ sessionID, directory: directoryOf(state, sessionID) }),
    retainedReplies: (sessionID) => retainedReplies(state, sessionID),
    listeningFrom: () => state.listeningFrom,
    newestAt: () => newestAt,
    openReplies: () => replies.open().map((live) => live.reply()),
    isRunOpen: (sessionID) => isRunOpen(state, sessionID),
    openReply,
    newestReply: (sessionID) => replies.newest(sessionID)?.reply(),
  }

  /**
   * Applies events in order and calls the listeners. Called from a listener or an observer, it only queues the events
   * for the running call. Does nothing once stopped.
   */
  function apply(events: readonly ReplyEvent[]): void {
    if (isStopped) return
    // One by one, because a call takes a limited number of arguments and a resync may have held back more events.
    for (const event of events) pending.push(event)
    if (isApplying) return
    isApplying = true
    try {
      while (pending.length > 0) {
        const batch = pending
        pending = []
        for (const event of batch) applyOne(event)
      }
    } finally {
      isApplying = false
    }
    for (const listener of appliedListeners) listener()
  }

  /**
   * Applies one event and calls the observers and listeners. Session listeners aren't called for a delta. Reports an
   * event that can't be applied, and held events that were dropped, without throwing.
   */
  function applyOne(event: ReplyEvent): void {
    const tracked = trackOrSkip(state, event, onError)
    state = tracked.state
    if (tracked.dropped > 0) {
      const message = `Dropped ${tracked.dropped} events that waited too long for their message or session.`
      onError(new ReplyError('too-large', message))
    }
    for (const step of tracked.steps) {
      replies.apply(step)
      for (const listener of stepListeners) listener(step)
    }
    if (event.type === 'delta') return
    newestAt = latest(newestAt, newestServerTimeOf(event))
    const changed = new Set(tracked.steps.map((step) => step.reply.sessionID))
    if (event.type === 'status' || event.type === 'snapshot') changed.add(event.sessionID)
    if (event.type === 'snapshot') for (const listener of snapshotListeners) listener(event)
    for (const sessionID of changed) for (const listener of sessionListeners) listener(sessionID)
  }

  /** The session's newest reply. Undefined if it has settled, or none is known. */
  function openReply(sessionID: string): Reply | undefined {
    const reply = replies.newest(sessionID)?.reply()
    return reply?.phase === 'settled' ? undefined : reply
  }
}

/** The later of two times. Undefined if both are undefined. */
function latest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.max(a, b)
}

/**
 * The newest time by the server's clock: of the messages in a `message` or `snapshot`, or the `from` of `listening`.
 * Undefined for other events. Ignores times of parts and sessions, and `event.at`, which is by our clock.
 */
function newestServerTimeOf(event: ReplyEvent): number | undefined {
  switch (event.type) {
    case 'listening':
      return event.from
    case 'message':
      return newestTimeOfHead(event.message)
    case 'snapshot':
      return event.messages.reduce<number | undefined>(
        (newest, { head }) => latest(newest, newestTimeOfHead(head)),
        undefined,
      )
    default:
      return undefined
  }
}

/** When the message was completed or created, whichever is later. Undefined if neither is known. */
function newestTimeOfHead({ createdAt, completedAt }: MessageHead): number | undefined {
  return latest(createdAt, completedAt)
}
