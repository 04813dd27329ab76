import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SessionRef } from '../../session-ref.ts'
import { wasNeverSent } from '../never-sent.ts'
import type { LiveReply } from '../replies.ts'
import type { LeftPrompt } from './inbox.ts'
import { recognizeByID, recognizeByText, type Start } from './recognize.ts'
import type { RunServer } from './run-server.ts'

export interface JoinOptions {
  readonly server: RunServer
  readonly place: SessionRef
  /** The id of the prompt's message, if the server accepts one. */
  readonly messageID: string | undefined
  /** What the person said, if the server keeps it verbatim; it wraps a command's text in other words. */
  readonly text: string | undefined
  readonly post: () => Promise<void>
  /** Aborts when the run must end, even if its reply was not found yet. A prompt that waits is taken back instead. */
  readonly unwanted: AbortSignal
  /** Aborts when the prompt need not run, but a run that it joined must go on. */
  readonly dropped: AbortSignal
  /** Aborts when the search is pointless. */
  readonly over: AbortSignal
  /** Called once, with the reply that took the prompt, within the step that shows it. */
  readonly found: (live: LiveReply, start: Start) => void
}

/** The checks for a prompt without events: half a minute in all. One that waits for its turn is checked on and on. */
const lookMs = 1000
const maxLooks = 5

/**
 * Posts into a busy session and finds the reply that takes the prompt: the running one, or the next if that ends
 * before. Others may prompt the session at the same moment, so ours is recognized by its id or its text. Resolves with
 * `how` if the prompt waited and does not run. Rejects if nothing ran for it.
 */
export async function join(options: JoinOptions): Promise<LeftPrompt['how'] | undefined> {
  const { server, place, messageID, unwanted, dropped, over } = options
  const { inbox } = server
  const current = server.engine.replies.newest(place.sessionID)
  let end: 'found' | LeftPrompt['how'] | undefined
  let isPosted = false
  /** Aborts when nothing is left to look for. */
  const done = new AbortController()
  const search = { server, place, over, found }
  const recognizer = messageID === undefined ? recognizeByText(search, options.text) : recognizeByID(search, messageID)
  const stopInbox = inbox.onLeft((left) => {
    if (left.messageID === messageID) leave(left.how)
  })
  over.addEventListener('abort', finish, { once: true })
  try {
    await post()
    if (unwanted.aborted) void takeBackOrCurrent()
    else unwanted.addEventListener('abort', takeBackOrCurrent, { once: true })
    if (dropped.aborted) void takeBack()
    else dropped.addEventListener('abort', takeBack, { once: true })
    await lookForEvents()
  } finally {
    over.removeEventListener('abort', finish)
    unwanted.removeEventListener('abort', takeBackOrCurrent)
    dropped.removeEventListener('abort', takeBack)
    stopInbox()
    recognizer.stop()
  }
  if (end === undefined && !unwanted.aborted)
    throw new ReplyError('refused', 'The server accepted the prompt, but no run started for it.')
  return end === 'found' ? undefined : end

  async function post(): Promise<void> {
    try {
      await options.post()
      isPosted = true
    } catch (error) {
      if (!isUncertain(error)) throw error
    }
  }

  /** Reads the session until a reply has taken the prompt: its events may be on no stream. */
  async function lookForEvents(): Promise<void> {
    let wasParked = false
    for (let look = 0; look < maxLooks && !isDone(); ) {
      await pause(server.clock, lookMs * 2 ** look, done.signal)
      if (isDone()) return
      const where = messageID === undefined ? undefined : await inbox.find(place, messageID)
      if (!isDone()) await server.sessions.refresh(place)
      await recognizer.settled()
      if (isDone() || unwanted.aborted) return
      if (where === 'gone' && isPosted) return leave('withdrawn')
      // Twice: a run may be about to begin.
      if (where === 'parked' && wasParked) return leave('parked')
      wasParked = where === 'parked'
      look = where === 'waiting' ? Math.min(look + 1, maxLooks - 1) : look + 1
    }
  }

  async function takeBack(): Promise<void> {
    if (messageID !== undefined && !isDone()) await inbox.withdraw(place, messageID)
  }

  /** Takes the prompt back, else the running reply, whether it contains the prompt already or that follows it. */
  async function takeBackOrCurrent(): Promise<void> {
    await takeBack()
    const reply = current?.reply()
    if (current && reply && reply.phase !== 'settled' && !isDone()) found(current, { reply, joined: true })
  }

  function found(live: LiveReply, start: Start): void {
    if (isDone()) return
    end = 'found'
    finish()
    recognizer.stop()
    options.found(live, start)
  }

  function leave(how: LeftPrompt['how']): void {
    if (isDone()) return
    end = how
    finish()
  }

  function finish(): void {
    done.abort()
  }

  function isDone(): boolean {
    return done.signal.aborted || over.aborted
  }
}

/** Whether the failure of a post leaves open if the server took it. */
export function isUncertain(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'unreachable' && !wasNeverSent(error)
}
