import type { Clock } from '../../clock.ts'
import type { ReplyEvent, SnapshotEvent } from '../../event.ts'
import type { AddedSession, Following } from '../../source/port.ts'
import type { Engine } from '../engine.ts'

/** What the client works with at the moment, and so which events it needs. */
export interface FollowedSessions extends Following {
  /**
   * Keeps the event stream open until the hold is released, and follows the session if one is passed. Its events from
   * now on are delivered once a read of it was applied.
   */
  hold(sessionID?: string): Hold
  /** Sets the connection. */
  setListeners(listeners: FollowingListeners): void
  /** Follows a held session although it can't be read. */
  noteUnreadable(sessionID: string): void
  /** Drops the skipped events. Called when a connection ends, because the next one reads what they changed. */
  dropSkipped(): void
  /** Forgets the sessions that are no longer held. Called for each connection, which reads again what it needs. */
  forgetReleased(): void
  /** Stops the timer. */
  stop(): void
}

interface FollowingListeners {
  /** Called when the stream is needed. May be called often. */
  readonly needed: () => void
  /** Called when the stream was not needed for `idleMs`. */
  readonly idle: () => void
  /** Receives events that were skipped until their session was followed. */
  readonly receive: (events: readonly ReplyEvent[]) => void
}

/** A part of the client that needs the event stream. */
export interface Hold {
  /** Also follows this session. For one whose state was read or whose reply is open. */
  cover(sessionID: string): void
  /** Follows all sessions. */
  coverEvery(): void
  release(): void
}

/**
 * How long the stream stays open without need, in ms. The title of a session arrives seconds after its first run, and
 * people often write again within that time.
 */
const idleMs = 30_000

/** With more sub-agents than this, those that the engine knows are removed. */
const pruneAt = 1000

interface HeldRoot {
  holds: number
  /** Whether it was read since it is held. Until then, its events would be taken for a new run. */
  isRead: boolean
  /** When it was held, in ms since the epoch. */
  readonly since: number
}

/**
 * Creates the list of what is followed. With `everything`, all sessions always are, and the stream is always needed.
 * Otherwise these are followed: the sessions that are held, those with an open reply, and their sub-agents. The newest
 * `keepReleased` sessions that were released stay followed, so that late events amend their replies.
 */
export function createFollowing(
  { engine, clock, keepReleased }: { readonly engine: Engine; readonly clock: Clock; readonly keepReleased: number },
  everything: boolean,
): FollowedSessions {
  const roots = new Map<string, HeldRoot>()
  /** The roots of sub-agents that the engine may not know yet. */
  const rootOfChild = new Map<string, string>()
  let release: Parameters<Following['onAdded']>[0] = () => []
  let holds = 0
  let everyHolds = 0
  let nextPrune = pruneAt
  let stopTimer: (() => void) | undefined
  let isStopped = false
  let listeners: FollowingListeners | undefined
  if (!everything) {
    engine.onSessionChanged(startOrStopTimer)
    engine.onSnapshot(followRead)
  }
  return {
    isEvery: () => everything || everyHolds > 0,
    includes,
    addChild,
    onAdded: (given) => {
      release = given
    },
    hold,
    setListeners: (given) => {
      listeners = given
      startOrStopTimer()
    },
    noteUnreadable: (sessionID) => receiveSkipped(markRead(sessionID)),
    dropSkipped: () => {
      release = () => []
    },
    forgetReleased,
    stop: () => {
      isStopped = true
      stopTimer?.()
    },
  }

  /** Whether the session, or the root that it is known to be below, has an open reply or is held and was read. */
  function includes(sessionID: string): boolean {
    const rootID = rootIDOf(sessionID)
    return roots.get(rootID)?.isRead === true || engine.openReply(rootID) !== undefined
  }

  /** The root of a session. The session itself if it is unknown. */
  function rootIDOf(sessionID: string): string {
    return rootOfChild.get(sessionID) ?? engine.rootOf(sessionID) ?? sessionID
  }

  /** Follows a sub-agent's session. Returns false if it is followed already. */
  function addChild(sessionID: string, parentID: string): boolean {
    if (includes(sessionID)) return false
    rootOfChild.set(sessionID, rootIDOf(parentID))
    if (rootOfChild.size > nextPrune) pruneChildren()
    return true
  }

  /** Removes the sub-agents whose roots the engine knows. */
  function pruneChildren(): void {
    for (const childID of rootOfChild.keys()) if (engine.rootOf(childID) !== undefined) rootOfChild.delete(childID)
    nextPrune = rootOfChild.size + pruneAt
  }

  /** Follows a held root that was read, and the sub-agents in the read of a root that is followed. */
  function followRead(read: SnapshotEvent): void {
    const added = markRead(read.sessionID)
    // The engine knows the sub-agents, but their events until now were skipped.
    receiveSkipped(includes(read.sessionID) ? [...added, ...sessionsBelow(read)] : added)
  }

  /** Follows a held root from when it was held. Returns it, or nothing if it isn't held or is followed already. */
  function markRead(sessionID: string): readonly AddedSession[] {
    const root = roots.get(sessionID)
    if (!root || root.isRead) return []
    root.isRead = true
    return everything ? [] : [{ sessionID, since: root.since }]
  }

  /** Delivers the events of these sessions that were skipped until now. */
  function receiveSkipped(added: readonly AddedSession[]): void {
    if (added.length === 0) return
    const events = release(added)
    if (events.length > 0) listeners?.receive(events)
  }

  /** Forgets all sessions without a hold. */
  function forgetReleased(): void {
    for (const [sessionID, root] of roots) if (root.holds === 0) roots.delete(sessionID)
  }

  /** Holds the stream and the session. */
  function hold(sessionID?: string): Hold {
    const covered = new Set<string>()
    let isEvery = false
    let isReleased = false
    holds += 1
    if (sessionID !== undefined) addRoot(sessionID, false)
    startOrStopTimer()
    return {
      cover: (id) => addRoot(id, true),
      coverEvery: () => {
        if (isEvery || isReleased) return
        isEvery = true
        everyHolds += 1
      },
      release,
    }

    /** Adds a hold of a root, once for each root. */
    function addRoot(id: string, isRead: boolean): void {
      if (isReleased) return
      const root = roots.get(id) ?? { holds: 0, isRead, since: clock.now() }
      root.isRead ||= isRead
      if (!covered.has(id)) root.holds += 1
      covered.add(id)
      roots.set(id, root)
    }

    /** Releases everything that this hold covers. */
    function release(): void {
      if (isReleased) return
      isReleased = true
      holds -= 1
      if (isEvery) everyHolds -= 1
      for (const id of covered) releaseRoot(id)
      startOrStopTimer()
    }
  }

  /** Removes a hold of a root, which then counts as the newest one that was released. Forgets the oldest of those. */
  function releaseRoot(sessionID: string): void {
    const root = roots.get(sessionID)
    if (!root) return
    root.holds -= 1
    if (root.holds > 0) return
    roots.delete(sessionID)
    // One that was never read has no reply to amend.
    if (!root.isRead) return
    roots.set(sessionID, root)
    const released = [...roots].filter(([, { holds: count }]) => count === 0)
    for (const [id] of released.slice(0, Math.max(0, released.length - keepReleased))) roots.delete(id)
  }

  /** Calls the listeners, or starts the timer, when the stream is needed again or no longer. */
  function startOrStopTimer(): void {
    if (everything || isStopped || !listeners) return
    const isNeeded = holds > 0 || engine.replies.hasOpen()
    if (!isNeeded) {
      stopTimer ??= clock.after(idleMs, () => {
        stopTimer = undefined
        listeners?.idle()
      })
      return
    }
    stopTimer?.()
    stopTimer = undefined
    listeners.needed()
  }
}

/** The sub-agents in a read, at all levels. */
function sessionsBelow({ children }: SnapshotEvent): readonly AddedSession[] {
  return children.flatMap((child) => [{ sessionID: child.sessionID }, ...sessionsBelow(child)])
}
