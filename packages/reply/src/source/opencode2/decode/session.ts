import type * as z from 'zod/mini'
import type { SessionInfo } from '../../port.ts'
import type { sessionFieldsSchema } from './schema.ts'

/** Converts a session's own fields, under this id. */
export function toSessionInfo(wire: z.infer<typeof sessionFieldsSchema>, sessionID: string): SessionInfo {
  const { parentID, title, location, time, revert } = wire
  return {
    sessionID,
    directory: location?.directory,
    parentID: parentID ?? undefined,
    title: title ?? undefined,
    createdAt: time?.created,
    updatedAt: time?.updated,
    revertedTo: revert?.messageID,
  }
}
