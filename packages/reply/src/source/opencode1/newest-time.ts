import type { MessageRead, SessionInfo } from '../port.ts'
import { toReadMessages, toReadSessions } from './decode/rest.ts'
import type { ReadingOptions } from './reading.ts'

/** A session's own time may be older than its latest message; so may its parent's. */
export async function readNewestTime(
  { rest, onError }: Pick<ReadingOptions, 'rest' | 'onError'>,
  directory: string | undefined,
): Promise<number | undefined> {
  const newest = newestOf(toReadSessions(await rest.newestSession(directory)))
  const ids = [newest?.sessionID, newest?.parentID].filter((id) => id !== undefined)
  const home = newest?.directory ?? directory
  const read = ids.map((sessionID) => rest.newestMessage({ sessionID, directory: home }).catch(() => []))
  const times = (await Promise.all(read)).flatMap((value) => toReadMessages(value, onError).flatMap(timesOf))
  const all = [...times, ...(newest?.updatedAt === undefined ? [] : [newest.updatedAt])]
  return all.length === 0 ? undefined : Math.max(...all)
}

/** The most recently updated session. Old servers list all of them, in their own order. */
function newestOf(sessions: readonly SessionInfo[]): SessionInfo | undefined {
  return sessions.reduce<SessionInfo | undefined>(
    (newest, session) => ((session.updatedAt ?? 0) > (newest?.updatedAt ?? -1) ? session : newest),
    undefined,
  )
}

function timesOf({ head: { createdAt, completedAt } }: MessageRead): readonly number[] {
  return [createdAt, completedAt].filter((time) => time !== undefined)
}
