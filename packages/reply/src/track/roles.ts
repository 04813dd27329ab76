import type { MessageHead } from '../event.ts'
import type { ReadFrom } from './state.ts'

/** The run of a message that was removed, or of an earlier run without a reply here. Its events are ignored. */
export const goneRun = -1

/** A message's role and run. */
export interface MessageRole {
  readonly messageID: string
  readonly role: 'user' | 'assistant' | 'summary'
  readonly run: number
}

/**
 * In order of arrival. A list instead of a map, because it is copied for each new message, and nearly always read at
 * its end.
 */
export type MessageRoles = readonly MessageRole[]

/** How many messages of a session are remembered, so that late events of an old one don't open a reply. */
const maxRoles = 5000

/** The role of the message with this id. Undefined for a message that is not in the list. */
export function roleIn(roles: MessageRoles, messageID: string): MessageRole | undefined {
  // Nearly every event is about the newest message, and most of the rest about the one before.
  const last = roles.length - 1
  for (let at = last; at >= 0 && at > last - 2; at--) if (roles[at]?.messageID === messageID) return roles[at]
  const search = searches.get(roles)
  if (search?.index) return search.index.get(messageID)
  for (let at = last - 2; at >= 0; at--) if (roles[at]?.messageID === messageID) return roles[at]
  if (roles.length > 64) searches.set(roles, afterMiss(roles, search))
  return undefined
}

/**
 * How often a list was searched without a result. A read of a long session looks up each of its messages, several times
 * per run.
 */
interface Search {
  readonly misses: number
  readonly index?: ReadonlyMap<string, MessageRole>
}

const searches = new WeakMap<MessageRoles, Search>()

/**
 * Counts a search without a result, and adds an index at the 16th. A new message is looked up a few times before the
 * next list contains it: an index pays off after that.
 */
function afterMiss(roles: MessageRoles, search: Search | undefined): Search {
  const misses = (search?.misses ?? 0) + 1
  return misses < 16 ? { misses } : { misses, index: new Map(roles.map((role) => [role.messageID, role])) }
}

/**
 * The role of a session's message. A message from before the read history belongs to a run that is gone. Undefined for
 * any other unknown message.
 */
export function roleOfMessage(
  { roles, readFrom }: { readonly roles: MessageRoles; readonly readFrom?: ReadFrom | undefined },
  messageID: string,
): MessageRole | undefined {
  const known = roleIn(roles, messageID)
  if (known || !readFrom || !isBefore({ id: messageID }, readFrom)) return known
  return { messageID, role: 'assistant', run: goneRun }
}

/**
 * Whether the first known message of the current run is an answer, because its prompt was sent before we listened.
 * False if no message of it is known.
 */
export function beginsWithAnswer({ roles, run }: { readonly roles: MessageRoles; readonly run: number }): boolean {
  return roles.find((role) => role.run === run)?.role === 'assistant'
}

/**
 * Whether the message is from before the read history, by the server's clock if known, otherwise by the ids, which rise
 * with it.
 */
export function isBefore(
  { id, createdAt }: { readonly id: string; readonly createdAt?: number | undefined },
  from: ReadFrom,
): boolean {
  if (createdAt === undefined || from.createdAt === undefined) return id < from.messageID
  return createdAt < from.createdAt
}

/** Sets a message's role and run, in its place if it is in the list. Drops the oldest role beyond `maxRoles`. */
export function withRole(roles: MessageRoles, role: MessageRole): MessageRoles {
  const known = roles.findLastIndex(({ messageID }) => messageID === role.messageID)
  if (known !== -1) return roles.with(known, role)
  return [...(roles.length < maxRoles ? roles : roles.slice(1 - maxRoles)), role]
}

/** `summary` for a summary, and otherwise the head's role. */
export function roleOfHead(head: MessageHead): MessageRole['role'] {
  return head.summary ? 'summary' : head.role
}
