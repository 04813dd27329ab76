import { type Ask, pendingAsks, type Reply } from '@reply/core'
import { oneLine } from '@reply/sink/internal'
import type { Execution } from '../state/execution.ts'
import { texts } from '../texts.ts'
import type { FollowTarget } from './follow-target.ts'

/** The author of prompts that were written elsewhere. Not a person of any config, so it has no rights. */
const unknownAuthor = { id: '', name: '', isAnonymous: true } as const

/** How much of the name of a person is shown, in UTF-16 units. */
const nameLength = 60

/** Returns the execution of a run that was started elsewhere and is followed by a chat. */
export function followedExecution(
  server: string,
  reply: Reply,
  { place: { channel, chat }, follows, author }: FollowTarget,
  now: number,
): Execution {
  const { sessionID, agent } = reply
  const message = { id: '', messageRef: { id: '' }, text: '', files: [], isCommand: false, receivedAt: now }
  return {
    id: '',
    prompt: { ...message, channel, chat, actor: unknownAuthor },
    server,
    sessionID,
    agent,
    followed: follows,
    author,
    origin: originOf(server, reply, author),
    ...(follows === 'all' && { quoted: { promptIDs: [], origin: terminalOf(server, reply) } }),
    // Only people with `approve` may steer it.
    isByApprovers: true,
    phase: 'delivering',
    status: 'running',
    startedAt: now,
  }
}

/** Returns where a run was started. Of one without a prompt, only the folder is known. */
function originOf(server: string, reply: Reply, author: string | undefined): string {
  const where = whereOf(server, reply)
  if (author !== undefined) return texts.fromChat(oneLine(author, nameLength), where)
  return reply.prompt ? texts.fromTerminal(where) : texts.fromUnknown(where)
}

/** Returns where a prompt was typed that no chat wrote. */
export function terminalOf(server: string, reply: Reply): string {
  return texts.fromTerminal(whereOf(server, reply))
}

/** Returns the name of the session's folder, or of its server. */
function whereOf(server: string, { directory }: Reply): string {
  return folderName(directory) ?? server
}

/** Returns the last name in a path. Undefined without one. */
function folderName(directory: string | undefined): string | undefined {
  return directory?.split(/[/\\]/).findLast((name) => name !== '')
}

/** Whether only the end of an ask is known, because it was answered before this process could see it. */
export function isUnseen(ask: Ask): boolean {
  return ask.status !== 'pending' && (ask.type === 'permission' ? ask.permission === '' : ask.questions.length === 0)
}

/** Returns the asks to store of a reply: those that are pending. Undefined without any. */
export function asksToStore(reply: Reply): readonly Ask[] | undefined {
  const pending = pendingAsks(reply)
  return pending.length === 0 ? undefined : pending
}

/** Whether two lists have the same asks, with the same content. The input of a call may come later than its ask. */
export function areSameAsks(some: readonly Ask[] = [], others: readonly Ask[] = []): boolean {
  return some.length === others.length && some.every((ask, index) => ask === others[index])
}

/**
 * Returns the reply with what an earlier process knew of its asks. Those that the reply does not have are withdrawn, because the
 * server does not tell how they ended. Those that it saw end, and nothing else of, have what they asked, so that the chat keeps it.
 */
export function withEarlierAsks(reply: Reply, earlier: readonly Ask[], at: number): Reply {
  const over = closedAsks(earlier, reply, at)
  const asks = reply.asks.map((ask) => {
    const before = isUnseen(ask) ? earlier.find(({ requestID }) => requestID === ask.requestID) : undefined
    return before ? withEndOf(before, ask) : ask
  })
  const isSame = over.length === 0 && asks.every((ask, index) => ask === reply.asks[index])
  return isSame ? reply : { ...reply, asks: [...over, ...asks] }
}

/** Returns an ask with the end of another one. */
function withEndOf(ask: Ask, end: Ask): Ask {
  const { status, closedAt } = end
  if (ask.type === 'permission')
    return { ...ask, status, closedAt, ...(end.type === 'permission' && { reply: end.reply }) }
  return { ...ask, status, closedAt, ...(end.type === 'question' && { answers: end.answers }) }
}

/** Returns the earlier asks that the reply does not have, as withdrawn ones. Empty while the reply may still have them. */
export function closedAsks(earlier: readonly Ask[], reply: Reply, at: number): readonly Ask[] {
  const known = new Set([...reply.asks, ...pendingAsks(reply)].map(({ requestID }) => requestID))
  return earlier
    .filter(({ requestID }) => !known.has(requestID))
    .map((ask): Ask => ({ ...ask, status: 'withdrawn', closedAt: at }))
}
