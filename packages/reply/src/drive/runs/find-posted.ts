import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SnapshotEvent } from '../../event.ts'
import { isInserted } from '../../track/run-boundaries.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import type { RunServer } from './run-server.ts'
import { requireRoot, writtenText } from './sessions.ts'

/** A posted prompt that the server has. */
export interface FoundPrompt {
  readonly sessionID: string
  readonly messageID: string
  /** Its session, read back to the prompt's run. Absent if the prompt is waiting and has no run yet. */
  readonly read?: SnapshotEvent | undefined
}

/** How long after the request a server has stored the prompt, in ms. */
const storedMs = 10_000

/** The delay before the second look, in ms. Doubles each time. */
const lookMs = 250

/** How far an agent's clock may be behind ours, in ms. */
const clockSkewMs = 60_000

/** Matches no message, so the session is read to its beginning. */
const noMessage = ''

/**
 * Looks for the prompt until the server would have stored it. Undefined if it isn't there, `unclear` if it may be one of
 * several prompts with the same text, or one that the source no longer keeps. Rejects if the session can't be read, and with `closed` once `over` aborts.
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

async function lookOnce(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | 'unclear' | undefined> {
  const { sessionID, messageID, after } = posted
  if (server.info.current().keepsPromptIDs === false) return await lookByText(server, posted)
  const backTo = after ?? messageID ?? noMessage
  const read = await readBackTo(server, posted, backTo)
  const id = messageID === undefined ? idByText(read, posted) : idIn(read, messageID)
  if (id === undefined && idIn(read, backTo) === undefined && mayBeDropped(read, posted)) return 'unclear'
  if (id === undefined) return await findWaiting(server, posted)
  const hasAll = idIn(read, backTo) !== undefined
  return { sessionID, messageID: id, read: hasAll ? read : await readBackTo(server, posted, id) }
}

/**
 * Looks for the prompt on a server that has its own ids for it. Only the newest prompt of the session counts as this one,
 * because an earlier one with the same text may have been answered long ago.
 */
async function lookByText(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | 'unclear' | undefined> {
  const { sessionID, messageID, text } = posted
  const read = await readBackTo(server, posted, noMessage)
  // This program posted it.
  if (messageID !== undefined && idIn(read, messageID)) return { sessionID, messageID, read }
  const prompts = promptsIn(read.messages)
  const newest = prompts.at(-1)
  if (!newest) return undefined
  if (text === undefined) return 'unclear'
  const { id, createdAt = posted.at } = newest
  if (newest.text.trim() === text.trim() && createdAt >= posted.at - clockSkewMs)
    return { sessionID, messageID: id, read }
  const hasSameText = prompts.some((prompt) => prompt !== newest && prompt.text.trim() === text.trim())
  return hasSameText || mayBeDropped(read, posted) ? 'unclear' : undefined
}

/** Whether the source keeps only the last runs, and the prompt may belong to an earlier one. */
function mayBeDropped({ partial, messages }: SnapshotEvent, { at }: PostedPrompt): boolean {
  const { createdAt = at } = messages[0]?.head ?? {}
  return partial === true && createdAt >= at - clockSkewMs
}

/** Looks for a prompt that is waiting or has begun since the read. */
async function findWaiting(server: RunServer, posted: PostedPrompt): Promise<FoundPrompt | undefined> {
  const { sessionID, directory, messageID } = posted
  if (messageID === undefined || !server.info.current().queuesPrompts) return undefined
  const where = await server.inbox.find({ sessionID, directory }, messageID)
  if (where === 'gone') return undefined
  if (where !== undefined) return { sessionID, messageID }
  const read = await readBackTo(server, posted, messageID)
  return idIn(read, messageID) === undefined ? undefined : { sessionID, messageID, read }
}

/** Reads a session back to the run of a message, including the sub-agents since then. */
export async function readBackTo(
  { engine, reader }: RunServer,
  { sessionID, directory }: Pick<PostedPrompt, 'sessionID' | 'directory'>,
  backTo: string,
): Promise<SnapshotEvent> {
  const known = engine.place(sessionID)
  const reply = engine.openReply(sessionID)
  const read = await reader.read({ sessionID, directory: known.directory ?? directory, reply, gap: true, backTo })
  requireRoot(sessionID, read.session.parentID)
  return read
}

function idIn({ messages }: SnapshotEvent, messageID: string): string | undefined {
  return messages.find(({ head }) => head.id === messageID)?.head.id
}

/** Finds the first prompt with the same text, or else the first that contains it, because servers may add to it. */
function idByText({ messages }: SnapshotEvent, { after, text }: PostedPrompt): string | undefined {
  const texts = promptsIn(messagesAfter(messages, after))
  if (text === undefined) return texts[0]?.id
  const wanted = text.trim()
  return (texts.find((each) => each.text.trim() === wanted) ?? texts.find((each) => each.text.includes(wanted)))?.id
}

/** The prompts that people wrote, with their texts. */
function promptsIn(messages: SnapshotEvent['messages']) {
  return messages
    .filter(({ head, parts }) => head.role === 'user' && parts.length > 0 && !isInserted(parts))
    .map(({ head: { id, createdAt }, parts }) => ({ id, createdAt, text: writtenText(parts) }))
}

/** If that message was removed, compares ids, because servers make ids that rise. */
function messagesAfter(messages: SnapshotEvent['messages'], after: string | undefined): SnapshotEvent['messages'] {
  if (after === undefined) return messages
  const at = messages.findIndex(({ head }) => head.id === after)
  return at === -1 ? messages.filter(({ head }) => head.id > after) : messages.slice(at + 1)
}
