import { isAtWork, replyOfPrompt } from '../connection/newest-run.ts'
import { type FoundPrompt, findPosted } from './find-posted.ts'
import { isUncertain } from './join.ts'
import { postPrompt } from './post-prompt.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import type { RunRequest, RunServer, StoredParts } from './run-server.ts'
import { toFailure } from './stand-in.ts'

export interface PostAgainOptions {
  readonly server: RunServer
  readonly posted: PostedPrompt
  /** Makes the request. Its failure is the reply's. */
  readonly request: () => RunRequest | Promise<RunRequest>
  /** Aborts when nothing follows the run any more. */
  readonly over: AbortSignal
  /** Whether the prompt need not be posted any more. */
  readonly isPointless: () => boolean
}

/** Under which id a prompt may be posted again, and what the server has there already. */
interface Room {
  readonly messageID: string | undefined
  readonly directory: string | undefined
  readonly stored?: StoredParts | undefined
}

/**
 * Posts a prompt again for which nothing runs, as when the server was killed after it took the prompt: if the server lacks
 * it, or has it as a message that the post replaces. Resolves with whether it did. Rejects if the server can't be read.
 */
export async function postAgain(options: PostAgainOptions): Promise<boolean> {
  const { server, posted, over, isPointless } = options
  const { sessionID } = posted
  const room = roomFor(server, posted, await findPosted(server, posted, over))
  if (!room || isPointless()) return false
  const { messageID, directory, stored } = room
  try {
    const request = await options.request()
    if (isPointless()) return false
    await postPrompt({ server, request, place: { sessionID, directory }, messageID, stored, isPointless, over })
  } catch (error) {
    if (!isUncertain(error))
      server.engine.apply([{ type: 'error', sessionID, at: server.clock.now(), error: toFailure(error) }])
  }
  return true
}

/** Only the newest message of a session is replaced by a post under its id, or what waits in the inbox of an idle session. */
function roomFor({ info }: RunServer, posted: PostedPrompt, found: FoundPrompt | undefined): Room | undefined {
  if (!found) return { messageID: posted.messageID, directory: posted.directory }
  const { messageID, read } = found
  const newest = read?.messages.at(-1)
  if (!read) return { messageID, directory: posted.directory }
  if (newest?.head.id !== messageID || !info.current().repeatsPrompts) return undefined
  if (isAtWork(read) || replyOfPrompt(read, messageID)) return undefined
  const text = newest.parts.find((part) => part.type === 'text' && part.text === posted.text)
  const hasFiles = newest.parts.some(({ type }) => type === 'file')
  return { messageID, directory: read.session.directory, stored: { textPartID: text?.id, hasFiles } }
}
