import type { MessageRead, SessionInfo } from '../port.ts'
import { toReadMessages, toReadSessions } from './decode/rest.ts'
import type { ReadingOptions } from './reading.ts'

/**
 * A session's own time may be older than its latest message; so may its parent's. Servers before 1.2 order sessions by
 * their creation, so all are read.
 */
export async function readNewestTime(
  { rest, places, onError }: Pick<ReadingOptions, 'rest' | 'places' | 'onError'>,
  directory: string | undefined,
): Promise<number | undefined> {
  const isOrdered = !(await places.keepsProjectsApart())
  const listed = await (isOrdered ? rest.newestSession(directory) : rest.sessions(undefined, directory))
  const newest = newestOf(toReadSessions(listed, onError))
  const ids = [newest?.sessionID, newest?.parentID].filter((id) => id !== undefined)
  const home = newest?.directory ?? directory
  const read = ids.map((sessionID) => rest.newestMessage({ sessionID, directory: home }).catch(() => []))
  const times = (await Promise.all(read)).flatMap((value) => toReadMessages(value, onError).flatMap(timesOf))
  const all = [...times, ...(newest?.updatedAt === undefined ? [] : [newest.updatedAt])]
  return all.length === 0 ? undefined : Math.max(...all)
}

/** The most recently updated session. */
function newestOf(sessions: readonly SessionInfo[]): SessionInfo | undefined {
  return sessions.reduce<SessionInfo | undefined>(
    (newest, session) => ((session.updatedAt ?? 0) > (newest?.updatedAt ?? -1) ? session : newest),
    undefined,
  )
}

function timesOf({ head: { createdAt, completedAt } }: MessageRead): readonly number[] {
  return [createdAt, completedAt].filter((time) => time !== undefined)
}
