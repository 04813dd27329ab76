import type { ReplyEvent } from '../../event.ts'
import type { Engine } from '../engine.ts'

/**
 * Holds back the events of sessions whose run is about to be read, because they would be taken for its beginning.
 */
export interface UnreadSessions {
  /**
   * Begins to hold back the events of this session and its sub-agents, or of all sessions without one. Those with an
   * open reply are left out: it already has their run.
   */
  hold(sessionID?: string): UnreadHold
  /** Returns the events to apply now, in order. Keeps the others. */
  withoutHeld(events: readonly ReplyEvent[]): readonly ReplyEvent[]
  /**
   * The newest time that had been received when the first hold began, in ms since the epoch by the server's clock. What is kept is
   * newer. Undefined without a hold.
   */
  heldSince(): number | undefined
  /** Ends all holds and returns their events. Called when a connection ends. */
  take(): readonly ReplyEvent[]
}

/** The hold of one watch. Its calls do nothing once `take` was called. */
export interface UnreadHold {
  /** Holds back the events of these sessions and their sub-agents alone. Applies those of others. */
  keepOnly(sessionIDs: readonly string[]): void
  /** Ends the hold of one session, and applies its events. Call it once the session was read. */
  release(sessionID: string): void
  /** Ends the hold, and applies its events. */
  releaseAll(): void
}

/** As many as a connection holds back while it reads. Beyond that, all are applied. */
const maxHeld = 500_000

/** Creates the holds of a client. It holds nothing back before `hold`. */
export function createUnreadSessions(
  engine: Pick<Engine, 'apply' | 'rootOf' | 'openReply' | 'newestAt'>,
): UnreadSessions {
  /** The roots of each hold. Undefined for all sessions. */
  const holds = new Map<UnreadHold, Set<string> | undefined>()
  /** The parents of sub-agents that the engine doesn't know yet. */
  const parents = new Map<string, string>()
  let held: ReplyEvent[] = []
  /** The sessions of `held`, whose later events must not overtake them. */
  const waiting = new Set<string>()
  let heldSince: number | undefined
  return { hold, withoutHeld, heldSince: () => (holds.size === 0 ? undefined : heldSince), take }

  /** Begins a hold of one session, or of all. */
  function hold(sessionID?: string): UnreadHold {
    const own: UnreadHold = { keepOnly, release, releaseAll }
    if (holds.size === 0) heldSince = engine.newestAt() ?? 0
    holds.set(own, sessionID === undefined ? undefined : new Set(withoutOpen([sessionID])))
    return own

    function keepOnly(sessionIDs: readonly string[]): void {
      if (!holds.has(own)) return
      holds.set(own, new Set(withoutOpen(sessionIDs)))
      applyReleased()
    }

    function release(id: string): void {
      if (holds.get(own)?.delete(id)) applyReleased()
    }

    function releaseAll(): void {
      if (holds.delete(own)) applyReleased()
    }
  }

  /** The sessions without an open reply. */
  function withoutOpen(sessionIDs: readonly string[]): readonly string[] {
    return sessionIDs.filter((id) => !engine.openReply(id))
  }

  /** Returns the events that no hold keeps, and adds the others to `held`. */
  function withoutHeld(events: readonly ReplyEvent[]): readonly ReplyEvent[] {
    if (holds.size === 0) return events
    // A session may have begun a reply since its first events were held.
    const isReleased = [...waiting].some((id) => !isHeld(rootIDOf(id)))
    const free = [...(isReleased ? takeHeld() : []), ...events].filter((event) => !keep(event))
    if (held.length <= maxHeld) return free
    holds.clear()
    return [...takeHeld(), ...free]
  }

  /** Keeps the event if a hold covers its session. Returns whether it does. */
  function keep(event: ReplyEvent): boolean {
    if (!('sessionID' in event)) return false
    const { sessionID } = event
    if (event.type === 'session' && event.parentID !== undefined) parents.set(sessionID, event.parentID)
    if (!waiting.has(sessionID) && !isHeld(rootIDOf(sessionID))) return false
    held.push(event)
    waiting.add(sessionID)
    return true
  }

  /** Whether a hold covers the root session. */
  function isHeld(rootID: string): boolean {
    return [...holds.values()].some((roots) => (roots ? roots.has(rootID) : !engine.openReply(rootID)))
  }

  /** The root of a session, as far as it is known. */
  function rootIDOf(sessionID: string): string {
    const seen = new Set<string>()
    let id = sessionID
    for (let parentID = parents.get(id); parentID !== undefined && !seen.has(id); parentID = parents.get(id)) {
      seen.add(id)
      id = parentID
    }
    return engine.rootOf(id) ?? id
  }

  /** Applies the events that no hold keeps any longer. */
  function applyReleased(): void {
    const released = withoutHeld(takeHeld())
    if (holds.size === 0) parents.clear()
    if (released.length > 0) engine.apply(released)
  }

  /** Empties `held`, and returns what was in it. */
  function takeHeld(): readonly ReplyEvent[] {
    const taken = held
    held = []
    waiting.clear()
    return taken
  }

  /** Ends all holds, and returns their events. */
  function take(): readonly ReplyEvent[] {
    holds.clear()
    parents.clear()
    return takeHeld()
  }
}
