import * as z from 'zod/mini'
import { checkOf } from '../../decode/check.ts'
import type { SessionInfo } from '../../port.ts'
import { sessionSchema } from './schema.ts'

const fieldsSchema = z.partial(sessionSchema)
const isSound = checkOf(fieldsSchema)

/** What a session's own fields say. */
export function toSessionInfo(wire: object, sessionID: string): SessionInfo {
  // Parsing would copy it.
  const fields = isSound(wire) ? (wire as z.infer<typeof fieldsSchema>) : fieldsSchema.safeParse(wire).data
  if (!fields) return { sessionID }
  const { parentID, title, location, time, revert } = fields
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
