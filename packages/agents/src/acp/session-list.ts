import { ReplyError } from '@reply/core'
import type { SessionInfo } from '@reply/core/source'
import type { RunningAgent } from './connection.ts'
import { sessionList } from './decode/schema.ts'

/** The most pages that are read of a list. */
const maxPages = 100

/**
 * Lists an agent's sessions of a folder, or of all folders without one, in the agent's order. `spelled` returns the path of a
 * folder without links, which is how `directory` is given. With `since`, lists only those that changed then or later, in ms
 * since the epoch. A session whose time the agent doesn't tell counts as unchanged. Empty if the agent lists none. Reads 100
 * pages at most. Rejects with `malformed` for a list that can't be read.
 */
export async function listSessions(
  { agent, connection }: RunningAgent,
  directory: string | undefined,
  since: number | undefined,
  spelled: (directory: string) => Promise<string>,
): Promise<readonly SessionInfo[]> {
  if (!agent.listsSessions) return []
  const listed: SessionInfo[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages; page++) {
    const params = { ...(directory !== undefined && { cwd: directory }), ...(cursor !== undefined && { cursor }) }
    const { data } = sessionList.safeParse(await connection.call('session/list', params))
    if (!data) throw new ReplyError('malformed', 'The agent answered "session/list" with a malformed list. Update it.')
    for (const { sessionId: sessionID, cwd, title, updatedAt } of data.sessions) {
      // An agent may ignore the folder.
      if (directory !== undefined && cwd !== directory && (await spelled(cwd)) !== directory) continue
      const at = updatedAt ? Date.parse(updatedAt) : Number.NaN
      const info = { sessionID, directory: cwd, title: title ?? undefined }
      if (Number.isNaN(at) && since === undefined) listed.push(info)
      if (at >= (since ?? Number.NEGATIVE_INFINITY)) listed.push({ ...info, updatedAt: at })
    }
    cursor = data.nextCursor ?? undefined
    if (cursor === undefined) return listed
  }
  return listed
}
