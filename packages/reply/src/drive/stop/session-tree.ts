import { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { Source } from '../../source/port.ts'
import { maxSessionDepth } from '../../track/state.ts'

/** A session and the sub-agents below it that are known so far. Sessions are only added, never removed. */
export interface Tree {
  /** Adds sessions, which must belong to the tree. Ignores those that it has. */
  add(sessionIDs: Iterable<string>): void
  /** The ids of the sessions found so far, the top one first. */
  sessionIDs(): readonly string[]
  /**
   * Lists the children of every session in the tree over REST, at all levels, and adds them. Rejects with `gone` if the
   * server doesn't know the top session.
   */
  addDescendants(): Promise<void>
  /**
   * Adds the session, and the ancestors in between, if one of its ancestors is in the tree. Resolves with whether the
   * session belongs to the tree. Also finds sessions that are in no list of children.
   */
  addIfBelow(sessionID: string): Promise<boolean>
}

/**
 * Creates the tree of sessions that an abort stops, at first with only the top one. Calls `onFound` with each batch of
 * new sessions that are added later.
 */
export function createTree(
  source: Pick<Source, 'children'>,
  place: SessionRef,
  parentOf: (place: SessionRef) => Promise<string | undefined>,
  onFound: (sessionIDs: Iterable<string>) => void,
): Tree {
  const topID = place.sessionID
  const sessionIDs = new Set([topID])
  return { add, sessionIDs: () => [...sessionIDs], addDescendants, addIfBelow }

  /** Adds sessions, and calls `onFound` with those that are new. Does nothing if none is. */
  function add(found: Iterable<string>): void {
    const ids = [...found].filter((id) => !sessionIDs.has(id))
    for (const id of ids) sessionIDs.add(id)
    if (ids.length > 0) onFound(ids)
  }

  /**
   * Adds all sub-agents below the tree's sessions by listing children over REST, level by level down to
   * `maxSessionDepth`. A sub-agent that is gone has no children. Rejects with `gone` if the top session is, and if a
   * list can't be read.
   */
  async function addDescendants(): Promise<void> {
    const seen = new Set<string>()
    let level: readonly string[] = [...sessionIDs]
    for (let depth = 0; depth < maxSessionDepth && level.length > 0; depth++) {
      for (const id of level) seen.add(id)
      const below = await Promise.all(level.map(childrenOf))
      add(below.flat())
      level = [...new Set(below.flat())].filter((id) => !seen.has(id))
    }
  }

  /**
   * The ids of a session's children over REST. Empty for a sub-agent that was deleted. Rejects with any other error.
   */
  async function childrenOf(id: string): Promise<readonly string[]> {
    const list = await source.children({ ...place, sessionID: id }).catch((error: unknown) => {
      if (id !== topID && error instanceof ReplyError && error.type === 'gone') return []
      throw error
    })
    return list.map((child) => child.sessionID)
  }

  /**
   * Adds the session and the ancestors in between if one of these is in the tree. Resolves with whether it is. False
   * for a cycle, and for a chain of more than `maxSessionDepth` parents. Rejects if a parent can't be read.
   */
  async function addIfBelow(id: string): Promise<boolean> {
    const path: string[] = []
    for (let next: string | undefined = id; next !== undefined; next = await parentOf({ ...place, sessionID: next })) {
      if (sessionIDs.has(next)) {
        add(path)
        return true
      }
      if (path.includes(next) || path.length === maxSessionDepth) return false
      path.push(next)
    }
    return false
  }
}

/**
 * Returns a function that resolves with the id of a session's parent, or with undefined for a root and for a session
 * that is gone. Reads each parent once, because it never changes, and keeps the newest 10,000. Rejects with any other
 * error of the source, and the next call reads again.
 */
export function createParentLookup(
  source: Pick<Source, 'session'>,
): (place: SessionRef) => Promise<string | undefined> {
  const known = new Map<string, Promise<string | undefined>>()
  return async (place) => {
    const { sessionID } = place
    const before = known.get(sessionID)
    if (before) return await before
    const asking = source.session(place).then(
      (session) => session.parentID,
      (error: unknown) => {
        if (error instanceof ReplyError && error.type === 'gone') return undefined
        known.delete(sessionID)
        throw error
      },
    )
    known.set(sessionID, asking)
    if (known.size > maxParents) known.delete([...known.keys()][0] ?? sessionID)
    return await asking
  }
}

const maxParents = 10_000
