import { ReplyError } from '@reply/core'
import type { SessionInfo } from '@reply/core/source'
import type { RunningAgent } from './connection.ts'
import { sessionList } from './decode/schema.ts'

/** The most pages that are read of a list. */
const maxPages = 100

/** Lists an agent's sessions of a folder, or of all folders. Empty if it can't list them. */
export async function listSessions(
  { agent, connection }: RunningAgent,
  directory: string | undefined,
): Promise<readonly SessionInfo[]> {
  if (!agent.listsSessions) return []
  const listed: SessionInfo[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const params = { ...(directory !== undefined && { cwd: directory }), ...(cursor !== undefined && { cursor }) }
    const { data } = sessionList.safeParse(await connection.call('session/list', params))
    if (!data) throw new ReplyError('malformed', 'The agent answered "session/list" with a malformed list. Update it.')
    for (const { sessionId, cwd, title, updatedAt } of data.sessions) {
      const at = updatedAt ? Date.parse(updatedAt) : Number.NaN
      const info = { sessionID: sessionId, directory: cwd, title: title ?? undefined }
      listed.push(Number.isNaN(at) ? info : { ...info, updatedAt: at })
    }
    cursor = data.nextCursor ?? undefined
    if (cursor === undefined) return listed
  }
  return listed
}
