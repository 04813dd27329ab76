import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { SessionInfo, SessionQuery } from '../port.ts'
import type { LocalAgentOptions } from './agent-options.ts'
import type { EventQueue } from './event-queue.ts'

/** The sessions of one local agent: those that this program has stored, and those that the agent finds and lists. */
export interface LocalSessions {
  /** Returns a stored session. Undefined if it isn't stored. */
  get(sessionID: string): SessionInfo | undefined
  /** Stores these fields of a session over its earlier ones, emits it and returns it. */
  store(info: SessionInfo): SessionInfo
  /** Sets the time of a stored session's last change to now, without emitting it. Does nothing for others. */
  touch(sessionID: string): void
  /**
   * Returns a session. An unknown one is looked up with the agent and stored. Simultaneous calls share one look-up. Rejects
   * with `gone` if the agent doesn't know it either.
   */
  find(place: SessionRef): Promise<SessionInfo>
  /**
   * Lists the agent's root sessions, and the stored ones that match the query. A stored session that the agent has listed
   * before is left out if the agent no longer lists it, for example because it was archived. Fields that are stored replace
   * the agent's.
   */
  list(query: SessionQuery): Promise<readonly SessionInfo[]>
  /** Lists the stored sessions that this one is the parent of. */
  childrenOf(sessionID: string): readonly SessionInfo[]
  /** Whether the session is a sub-agent of the other one, at any depth. */
  isBelow(sessionID: string, ancestorID: string): boolean
}

/**
 * Creates the sessions of a local agent, with none stored. It finds, lists and stores them, and emits stored ones to `events`.
 * `start` starts the agent if needed.
 */
export function createLocalSessions(
  agent: Pick<LocalAgentOptions, 'name' | 'find' | 'sessions'>,
  clock: Clock,
  events: Pick<EventQueue, 'push'>,
  start: () => Promise<void>,
): LocalSessions {
  const sessions = new Map<string, SessionInfo>()
  /** The ids of the sessions that the agent has listed. */
  const listedOnce = new Set<string>()
  /** Sessions that are being looked up with the agent. */
  const finds = new Map<string, Promise<SessionInfo>>()
  return {
    get: (sessionID) => sessions.get(sessionID),
    store,
    touch: (sessionID) => {
      const info = sessions.get(sessionID)
      if (info) sessions.set(sessionID, { ...info, updatedAt: clock.now() })
    },
    find,
    list,
    childrenOf: (sessionID) => [...sessions.values()].filter(({ parentID }) => parentID === sessionID),
    isBelow,
  }

  /** Stores the fields over the session's earlier ones, emits the session and returns it. */
  function store(info: SessionInfo): SessionInfo {
    const next = { ...sessions.get(info.sessionID), ...info }
    sessions.set(info.sessionID, next)
    const { sessionID, directory, parentID, title, createdAt } = next
    events.push([{ type: 'session', at: clock.now(), sessionID, directory, parentID, title, createdAt }])
    return next
  }

  /** Returns the stored session, or shares the look-up that runs, or starts one. */
  async function find(place: SessionRef): Promise<SessionInfo> {
    const stored = sessions.get(place.sessionID)
    if (stored) return stored
    // Two at once would confuse an agent that repeats the session's content while it opens it.
    const finding = finds.get(place.sessionID) ?? findAndStore(place).finally(() => finds.delete(place.sessionID))
    finds.set(place.sessionID, finding)
    return await finding
  }

  /** Looks a session up with the agent and stores it. Rejects with `gone` if the agent doesn't know it. */
  async function findAndStore(place: SessionRef): Promise<SessionInfo> {
    await start()
    const found = await agent.find?.(place)
    if (!found) throw new ReplyError('gone', `${agent.name} has no session ${place.sessionID}. Start a new one.`)
    return sessions.get(place.sessionID) ?? store(found)
  }

  /**
   * Returns the agent's list, if it has one, and the stored sessions that match the query. Leaves out a stored one that the
   * agent has listed before, but not this time.
   */
  async function list(query: SessionQuery): Promise<readonly SessionInfo[]> {
    if (agent.sessions) await start()
    const listed = new Map<string, SessionInfo>()
    for (const info of (await agent.sessions?.(query)) ?? []) {
      listed.set(info.sessionID, info)
      listedOnce.add(info.sessionID)
    }
    for (const stored of sessions.values()) {
      const ofAgent = listed.get(stored.sessionID)
      if (ofAgent) listed.set(stored.sessionID, withDefaults(stored, ofAgent))
      else if (!listedOnce.has(stored.sessionID) && matchesQuery(stored, query)) listed.set(stored.sessionID, stored)
    }
    return [...listed.values()]
  }

  /** Whether the session is below the other one. Follows its parents up to the root. */
  function isBelow(sessionID: string, ancestorID: string): boolean {
    const parentID = sessions.get(sessionID)?.parentID
    return parentID !== undefined && (parentID === ancestorID || isBelow(parentID, ancestorID))
  }
}

/** Whether a query for root sessions includes this one. A session without a directory or a time counts as included. */
function matchesQuery({ parentID, directory, updatedAt }: SessionInfo, query: SessionQuery): boolean {
  const isThere = query.everywhere === true || query.directory === undefined || directory === undefined
  if (parentID !== undefined || !(isThere || directory === query.directory)) return false
  return query.since === undefined || updatedAt === undefined || updatedAt >= query.since
}

/** Returns the session with the agent's fields where it has none itself, and the later time of both. */
function withDefaults(stored: SessionInfo, { directory, title, createdAt, updatedAt }: SessionInfo): SessionInfo {
  return {
    ...stored,
    directory: stored.directory ?? directory,
    title: stored.title ?? title,
    createdAt: stored.createdAt ?? createdAt,
    updatedAt: newestOf([stored.updatedAt, updatedAt]),
  }
}

/** Returns the latest time. Undefined if none is known. */
export function newestOf(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
