import type { SessionInfo } from '../../port.ts'
import { sessionSchema } from './schema.ts'

/** What a session's own fields say. */
export function toSessionInfo(wire: object, sessionID: string): SessionInfo {
  const read = sessionSchema.partial().safeParse(wire)
  if (!read.success) return { sessionID }
  const { parentID, title, location, time, revert } = read.data
  return {
    sessionID,
    ...(location?.directory !== undefined && { directory: location.directory }),
    parentID: parentID ?? undefined,
    title: title ?? undefined,
    createdAt: time?.created,
    updatedAt: time?.updated,
    revertedTo: revert?.messageID,
  }
}
