import type { SnapshotEvent } from '../../event.ts'
import type { Capabilities } from '../../source/port.ts'
import { isTreeAtWork, replyOfPrompt } from '../connection/newest-run.ts'
import { type FoundPrompt, findPosted } from './find-posted.ts'
import { mayHaveReachedServer } from './join.ts'
import { postPrompt } from './post-prompt.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import type { RunRequest, RunServer, StoredParts } from './run-server.ts'
import { toFailure } from './stand-in.ts'

/** A prompt that may have to be posted again. */
export interface PromptToRepost {
  readonly server: RunServer
  readonly posted: PostedPrompt
  /** Creates the request. If it fails, the reply fails. */
  readonly request: () => RunRequest | Promise<RunRequest>
  /** Aborts when the stream has ended. */
  readonly over: AbortSignal
  /** Whether the prompt is no longer wanted. */
  readonly isPointless: () => boolean
}

/** The id under which a prompt may be posted again, and what the server has stored under it. */
interface RepostTarget {
  readonly messageID: string | undefined
  readonly directory: string | undefined
  readonly stored?: StoredParts | undefined
}

/**
 * Looks for a prompt on the server, and posts it again unless it could then run twice. A prompt is posted if the server
 * doesn't have it, or has it as a message that the post replaces and that nothing ran for, for example because the
 * server was killed. Resolves with whether it was posted, also if the server refused it, which fails the session's open
 * reply. False if it could run twice, can't be told apart, or is no longer wanted. Rejects if the server can't be read.
 */
export async function postAgain(options: PromptToRepost): Promise<boolean> {
  const { server, posted, over, isPointless } = options
  const { sessionID } = posted
  const found = await findPosted(server, posted, over)
  const target = found === 'unclear' ? undefined : repostTargetOf(server, posted, found)
  if (!target || isPointless()) return false
  const { messageID, directory, stored } = target
  try {
    const request = await options.request()
    if (isPointless()) return false
    await postPrompt({ server, request, place: { sessionID, directory }, messageID, stored, isPointless, over })
  } catch (error) {
    if (!mayHaveReachedServer(error))
      server.engine.apply([{ type: 'error', sessionID, at: server.clock.now(), error: toFailure(error) }])
  }
  return true
}

/**
 * The id and directory to post under: as before if the server doesn't have the prompt, as found if it waits or is a
 * message that the post replaces. Undefined if the post could make the prompt run twice: a post only replaces a
 * prompt without a later step, or one that waits in the inbox of an idle session.
 */
function repostTargetOf(
  { info }: RunServer,
  posted: PostedPrompt,
  found: FoundPrompt | undefined,
): RepostTarget | undefined {
  if (!found) return { messageID: posted.messageID, directory: posted.directory }
  const { messageID, read } = found
  if (!read) return { messageID, directory: posted.directory }
  if (isTreeAtWork(read) || !mayRunAgain(info.current(), read, messageID)) return undefined
  const { parts = [] } = read.messages.find(({ head }) => head.id === messageID) ?? {}
  const text = parts.find((part) => part.type === 'text' && part.text === posted.text)
  const hasFiles = parts.some(({ type }) => type === 'file')
  return { messageID, directory: read.session.directory, stored: { textPartID: text?.id, hasFiles } }
}

/**
 * Whether the server runs a stored prompt if it is posted again: nothing ran for it, and no step is behind it. OpenCode 1.1.65
 * and 1.2.27 compare the ids of the last prompt and the last step, and run nothing if the step's is higher. If other prompts are
 * behind it, one step answers all of them (measured on both, and on 1.18.34).
 */
export function mayRunAgain(
  { repeatsPrompts = false, namesNewestPrompt }: Capabilities,
  read: SnapshotEvent,
  messageID: string,
): boolean {
  const isStored = read.messages.some(({ head }) => head.id === messageID)
  if (!repeatsPrompts || !isStored || hasStepBehind(read, messageID)) return false
  return !replyOfPrompt(read, messageID, namesNewestPrompt)
}

/** Whether a step comes after the prompt in a read. False if the read lacks the prompt. */
export function hasStepBehind({ messages }: SnapshotEvent, messageID: string): boolean {
  const promptIndex = messages.findIndex(({ head }) => head.id === messageID)
  return promptIndex !== -1 && messages.slice(promptIndex).some(({ head }) => head.role === 'assistant')
}
