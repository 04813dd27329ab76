import { type Ask, pendingAsks, type Reply } from '@reply/core'
import type { Execution } from '../state/execution.ts'
import { texts } from '../texts.ts'
import type { FollowTarget } from './follow-target.ts'

/** The author of prompts that were written elsewhere. Not a person of any config, so it has no rights. */
const unknownAuthor = { id: '', name: '', isAnonymous: true } as const

/** Returns the execution of a run that was started elsewhere and is followed by a chat. */
export function followedExecution(
  server: string,
  { sessionID, agent, directory }: Reply,
  { place: { channel, chat }, follows }: FollowTarget,
  now: number,
): Execution {
  const message = { id: '', messageRef: { id: '' }, text: '', files: [], isCommand: false, receivedAt: now }
  return {
    id: '',
    prompt: { ...message, channel, chat, actor: unknownAuthor },
    server,
    sessionID,
    agent,
    followed: follows,
    origin: texts.fromTerminal(folderName(directory) ?? server),
    // Only people with `approve` may steer it.
    isByApprovers: true,
    phase: 'delivering',
    status: 'running',
    startedAt: now,
  }
}

/** Returns the last name in a path. Undefined without one. */
function folderName(directory: string | undefined): string | undefined {
  return directory?.split(/[/\\]/).findLast((name) => name !== '')
}

/** Returns the earlier asks that the reply does not have, as withdrawn ones. Empty while the reply may still have them. */
export function closedAsks(earlier: readonly Ask[], reply: Reply, at: number): readonly Ask[] {
  const known = new Set([...reply.asks, ...pendingAsks(reply)].map(({ requestID }) => requestID))
  return earlier
    .filter(({ requestID }) => !known.has(requestID))
    .map((ask): Ask => ({ ...ask, status: 'withdrawn', closedAt: at }))
}
