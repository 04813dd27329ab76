import { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import type { Source } from '../../source/port.ts'
import { maxSessionDepth } from '../../track/state.ts'

/** A session and all sub-agents below it, found over REST. Sessions are only added, never removed. */
export interface Tree {
  /** Adds sessions that belong to the tree. */
  add(sessionIDs: Iterable<string>): void
  /** The sessions found so far, the top one first. */
  found(): readonly string[]
  /**
   * Lists the children of every session in the tree, at all levels. Rejects with `gone` if the server doesn't know the
   * top session.
   */
  walk(): Promise<void>
  /**
   * Whether the session belongs to the tree. Checks its ancestors, which also finds sessions that are in no list of
   * children.
   */
  holds(sessionID: string): Promise<boolean>
}

/** `place` is the top session. Calls `onFound` with each batch of new sessions. */
export function createTree(
  source: Pick<Source, 'children'>,
  place: SessionRef,
  parentOf: (place: SessionRef) => Promise<string | undefined>,
  onFound: (sessionIDs: Iterable<string>) => void,
): Tree {
  const topID = place.sessionID
  const sessionIDs = new Set([topID])
  return { add, found: () => [...sessionIDs], walk, holds }

  function add(found: Iterable<string>): void {
    const ids = [...found].filter((id) => !sessionIDs.has(id))
    for (const id of ids) sessionIDs.add(id)
    if (ids.length > 0) onFound(ids)
  }

  async function walk(): Promise<void> {
    const seen = new Set<string>()
    let level: readonly string[] = [...sessionIDs]
    for (let depth = 0; depth < maxSessionDepth && level.length > 0; depth++) {
      for (const id of level) seen.add(id)
      const below = await Promise.all(level.map(childrenOf))
      add(below.flat())
      level = [...new Set(below.flat())].filter((id) => !seen.has(id))
    }
  }

  async function childrenOf(id: string): Promise<readonly string[]> {
    const list = await source.children({ ...place, sessionID: id }).catch((error: unknown) => {
      // A sub-agent may have been deleted in the meantime. If the top session is gone, that is an error.
      if (id !== topID && error instanceof ReplyError && error.type === 'gone') return []
      throw error
    })
    return list.map((child) => child.sessionID)
  }

  async function holds(id: string): Promise<boolean> {
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

/** Reads each session's parent once, because it never changes. Undefined for a root, and for a session that is gone. */
export function createParents(source: Pick<Source, 'session'>): (place: SessionRef) => Promise<string | undefined> {
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
