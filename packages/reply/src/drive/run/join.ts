import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { Place } from '../../place.ts'
import type { LiveReply } from '../store/replies.ts'
import { recognizeByID, recognizeByText, type Start } from './recognize.ts'
import type { RunServer } from './run-server.ts'

export interface JoinOptions {
  readonly server: RunServer
  readonly place: Place
  /** The id of the prompt's message, if the server accepts one. */
  readonly messageID: string | undefined
  /** What the person said, if the server keeps it verbatim; it wraps a command's text in other words. */
  readonly text: string | undefined
  readonly post: () => Promise<void>
  /** Aborts when the run must end, even if its reply was not found yet. */
  readonly unwanted: AbortSignal
  /** Aborts when the search is pointless. */
  readonly over: AbortSignal
  /** Called once, with the reply that took the prompt, within the step that shows it. */
  readonly found: (live: LiveReply, start: Start) => void
}

/** The checks for a prompt without events: half a minute in all. */
const lookMs = 1000
const maxLooks = 5

/**
 * Posts into a busy session and finds the reply that takes the prompt: the running one, or the next if that ends
 * before. Others may prompt the session at the same moment, so ours is recognized by its id or its text. Rejects if
 * nothing ran for it.
 */
export async function join(options: JoinOptions): Promise<void> {
  const { server, place, messageID, unwanted, over } = options
  const current = server.engine.replies.newest(place.sessionID)
  let isFound = false
  const search = { server, place, over, found }
  const recognizer = messageID === undefined ? recognizeByText(search, options.text) : recognizeByID(search, messageID)
  try {
    await post()
    if (unwanted.aborted) takeCurrent()
    else unwanted.addEventListener('abort', takeCurrent, { once: true })
    await lookForEvents()
  } finally {
    unwanted.removeEventListener('abort', takeCurrent)
    recognizer.stop()
  }
  if (!isFound && !unwanted.aborted)
    throw new ReplyError('refused', 'The server accepted the prompt, but no run started for it.')

  async function post(): Promise<void> {
    try {
      await options.post()
    } catch (error) {
      if (!isUncertain(error)) throw error
    }
  }

  /** Reads the session until a reply has taken the prompt: its events may be on no stream. */
  async function lookForEvents(): Promise<void> {
    for (let look = 0; look < maxLooks && !isFound && !over.aborted; look++) {
      await pause(server.clock, lookMs * 2 ** look, over)
      if (!isFound && !over.aborted) await server.sessions.refresh(place)
      await recognizer.settled()
      if (unwanted.aborted) return
    }
  }

  /** Takes the running reply, whether it contains our prompt already or ours follows it. */
  function takeCurrent(): void {
    const reply = current?.reply()
    if (current && reply && reply.phase !== 'settled') found(current, { reply, joined: true })
  }

  function found(live: LiveReply, start: Start): void {
    recognizer.stop()
    if (isFound) return
    isFound = true
    options.found(live, start)
  }
}

/** Whether the failure of a post leaves open if the server took it. */
export function isUncertain(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'unreachable'
}
