import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SnapshotEvent } from '../../event.ts'
import { promptText } from '../../track/written-text.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import type { RunServer } from './run-server.ts'
import { requireRoot } from './sessions.ts'

/** A posted prompt that the server has. */
export interface FoundPrompt {
  readonly sessionID: string
  readonly messageID: string
  /** Its session, read back to the prompt's run. Absent if the prompt is waiting and has no run yet. */
  readonly read?: SnapshotEvent | undefined
}

/** How long after the request a server has stored the prompt, in ms. */
export const storedMs = 10_000

/** The delay before the second look, in ms. Doubles each time. */
const lookMs = 250

/**
 * How far an agent's clock may be behind ours, in ms. Wide, because a prompt that is taken for an older one may be posted
 * twice.
 */
const clockSkewMs = 60_000

/** Matches no message, so the session is read to its beginning. */
const noMessage = ''

/**
 * Looks for a posted prompt until the server would have stored it, and resolves with it. Resolves with undefined if it
 * isn't there, and with `unclear` if it may be one of several prompts with the same text, or one that the source no
 * longer keeps. Rejects if the session can't be read, and with `closed` once `over` aborts.
 */
export async function findPosted(
  server: RunServer,
  posted: PostedPrompt,
  over: AbortSignal,
): Promise<FoundPrompt | 'unclear' | undefined> {
  const { clock } = server
  const now = clock.now()
  const until = Math.min(posted.at, now) + storedMs
  for (let look = 0; ; look++) {
    const found = await lookOnce(server, posted)
    const leftMs = until - clock.now()
    if (found || leftMs <= 0) return found
    await pause(clock, Math.min(leftMs, lookMs * 2 ** look), over)
    if (over.aborted)
      throw new ReplyError('closed', 'The connection was closed before the prompt was found. Create a new one.')
  }
}

/**
 * Reads the session once and resolves with the prompt if it is there, or waits in the inbox. Finds it by its id, or
 * without one by its text. Undefined if it isn't there, and `unclear` if the source may no longer keep it. Rejects if
 * the session can't be read.
 */
async function lookOnce(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | 'unclear' | undefined> {
  const { sessionID, messageID, after } = posted
  if (server.info.current().keepsPromptIDs === false) return await lookByText(server, posted)
  const backTo = after ?? messageID ?? noMessage
  const read = await readBackTo(server, posted, backTo)
  const id = messageID === undefined ? idByText(read, posted) : hasMessage(read, messageID) ? messageID : undefined
  if (id === undefined && !hasMessage(read, backTo) && mayBeDropped(read, posted)) return 'unclear'
  if (id === undefined) return await findWaiting(server, posted)
  const hasAll = hasMessage(read, backTo)
  return { sessionID, messageID: id, read: hasAll ? read : await readBackTo(server, posted, id) }
}

/**
 * Looks once for the prompt on a server that has its own ids for it. Resolves with the prompt under the id that it was
 * posted with, also if it waits. Otherwise with the first prompt with the same text that was added since the post, unless it is older. If
 * the number of added ones is unknown, it is the newest prompt if that has the same text and isn't older. It then needs
 * a time, or must be the only one with the text. Resolves with undefined if ours isn't there, and with `unclear` if
 * that can't be told.
 */
async function lookByText(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | 'unclear' | undefined> {
  const { sessionID, messageID } = posted
  const read = await readBackTo(server, posted, noMessage)
  // This program posted it.
  if (messageID !== undefined && hasMessage(read, messageID)) return { sessionID, messageID, read }
  const waiting = await findWaiting(server, posted)
  if (waiting) return waiting
  const prompts = promptsIn(read.messages)
  const newest = prompts.at(-1)
  // A session that had messages and shows none can't be trusted.
  if (!newest) return posted.after === undefined ? undefined : 'unclear'
  if (posted.text === undefined) return 'unclear'
  const text = posted.text.trim()
  const added = await countAdded(server, posted, text)
  const sameText = prompts.filter((prompt) => prompt.text === text)
  const isOlder = (prompt: typeof newest): boolean => (prompt.createdAt ?? posted.at) < posted.at - clockSkewMs
  if (added !== undefined && added > 0) {
    // Prompts that wait are counted and not read, so they hide which one is ours.
    if (await hasWaiting(server, posted)) return 'unclear'
    // The others were posted after it.
    const ours = sameText.at(-added)
    return ours && !isOlder(ours) ? { sessionID, messageID: ours.id, read } : 'unclear'
  }
  if (added === undefined && newest.text === text && !isOlder(newest)) {
    const isOurs = newest.createdAt !== undefined || sameText.length === 1
    return isOurs ? { sessionID, messageID: newest.id, read } : 'unclear'
  }
  // Some agents repeat two prompts without an answer in between as one.
  if (newest.text.endsWith(text) && !isOlder(newest)) return 'unclear'
  if (added === 0) return undefined
  const isAmbiguous = added !== undefined || sameText.some((prompt) => prompt !== newest)
  return isAmbiguous || mayBeDropped(read, posted) ? 'unclear' : undefined
}

/** Whether prompts of the session wait. False if the server has no queue. */
async function hasWaiting({ source, info }: RunServer, { sessionID, directory }: PostedPrompt): Promise<boolean> {
  if (!info.current().queuesPrompts) return false
  return ((await source.waiting?.({ sessionID, directory })) ?? []).length > 0
}

/** Counts how many more prompts with the text the session has than before the post. Undefined if either is unknown. */
async function countAdded(server: RunServer, posted: PostedPrompt, text: string): Promise<number | undefined> {
  const { sessionID, directory, sameTextBefore } = posted
  if (sameTextBefore === undefined) return undefined
  const count = await server.source.countPrompts?.({ sessionID, directory }, text)
  return count === undefined ? undefined : count - sameTextBefore
}

/**
 * Whether the source keeps only the last runs, and the prompt may belong to an earlier one: the oldest message that was
 * read isn't older than the post, or has no time.
 */
function mayBeDropped({ partial, messages }: SnapshotEvent, { at }: PostedPrompt): boolean {
  const { createdAt = at } = messages[0]?.head ?? {}
  return partial === true && createdAt >= at - clockSkewMs
}

/**
 * Resolves with the prompt if it is waiting, or has begun since the read, with a new read in that case. Undefined if it
 * has no id, if the server has no queue, and if it isn't there.
 */
async function findWaiting(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | undefined> {
  const { sessionID, directory, messageID } = posted
  if (messageID === undefined || !server.info.current().queuesPrompts) return undefined
  const where = await server.inbox.whereIs({ sessionID, directory }, messageID)
  if (where === 'gone') return undefined
  if (where !== undefined) return { sessionID, messageID }
  const read = await readBackTo(server, posted, messageID)
  return hasMessage(read, messageID) ? { sessionID, messageID, read } : undefined
}

/**
 * Reads the session and resolves with the id of the only prompt with a text that it got since `after`. Undefined if there
 * are none or several. Rejects if the session can't be read.
 */
export async function findOnlyPrompt(
  server: RunServer,
  posted: Pick<PostedPrompt, 'sessionID' | 'directory' | 'after'>,
): Promise<string | undefined> {
  const { messages } = await readBackTo(server, posted, posted.after ?? noMessage)
  const [first, second] = promptsIn(messagesAfter(messages, posted.after)).filter(({ text }) => text !== '')
  return second ? undefined : first?.id
}

/**
 * Resolves with a session's read back to the run of a message, including the sub-agents since then. Doesn't apply the
 * read. Rejects with `invalid` for a sub-agent's session, and if the session can't be read.
 */
export async function readBackTo(
  { engine, reader }: RunServer,
  { sessionID, directory }: Pick<PostedPrompt, 'sessionID' | 'directory'>,
  messageID: string,
): Promise<SnapshotEvent> {
  const known = engine.placeOf(sessionID)
  const reply = engine.openReply(sessionID)
  const read = await reader.read({
    sessionID,
    directory: known.directory ?? directory,
    reply,
    gap: true,
    backTo: messageID,
  })
  requireRoot(sessionID, read.session.parentID)
  return read
}

function hasMessage({ messages }: SnapshotEvent, messageID: string): boolean {
  return messages.some(({ head }) => head.id === messageID)
}

/**
 * The id of the first prompt after `after` with the same text, or else of the first that contains it, because servers
 * may add to it. Without a text, the first prompt's. Undefined if there is none.
 */
function idByText({ messages }: SnapshotEvent, { after, text }: PostedPrompt): string | undefined {
  const texts = promptsIn(messagesAfter(messages, after))
  if (text === undefined) return texts[0]?.id
  const wanted = text.trim()
  return (texts.find((each) => each.text === wanted) ?? texts.find((each) => each.text.includes(wanted)))?.id
}

/**
 * The prompts that people wrote, oldest first, with their texts without white space at both ends. Leaves out user
 * messages without parts, and those that the server inserted.
 */
function promptsIn(messages: SnapshotEvent['messages']) {
  return messages.flatMap((message) => {
    const text = promptText(message)
    const { id, createdAt } = message.head
    return text === undefined ? [] : [{ id, createdAt, text }]
  })
}

/**
 * The messages after that one, all if it is undefined. If it was removed, those with a higher id, because servers make
 * ids that rise.
 */
function messagesAfter(messages: SnapshotEvent['messages'], after: string | undefined): SnapshotEvent['messages'] {
  if (after === undefined) return messages
  const index = messages.findIndex(({ head }) => head.id === after)
  return index === -1 ? messages.filter(({ head }) => head.id > after) : messages.slice(index + 1)
}
