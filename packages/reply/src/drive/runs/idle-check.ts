import type { SnapshotEvent } from '../../event.ts'
import { isEmpty, isFinished } from '../../reduce/settle.ts'
import type { Reply } from '../../reply.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { endedBelow, isAtWork } from '../connection/newest-run.ts'
import { type ReadEvent, toReplyError } from '../connection/session-reader.ts'
import type { Drive } from '../drive.ts'
import type { Settings } from '../options.ts'

export interface IdleCheck {
  /**
   * A prompt was posted for the session's newest reply from here, so something has to run for it: otherwise the reply
   * fails. `postAgain` is called first, if the connection has broken off since the post, as the server may have been
   * killed; `isCut` if it did already, as after a restart of this process.
   */
  expectRun(sessionID: string, postAgain?: PostAgain, isCut?: boolean): void
  /** The prompt that a run is expected for is posted once more: the time for it begins anew. */
  expectAgain(sessionID: string): void
  stop(): void
}

/** Posts a prompt again for which nothing runs; resolves with whether it did. Rejects if the server can't be read. */
type PostAgain = () => Promise<boolean>

interface Expected {
  readonly postAgain: PostAgain | undefined
  /** How often it may be posted again. */
  left: number
  isDown: boolean
  /** The connection has broken off since the last post. */
  isCut: boolean
}

interface Case {
  readonly reason: 'idle' | 'waiting'
  looks: number
  failures: number
  stop: () => void
}

/** A connection that breaks off again and again must not keep a prompt waiting for ever. */
const mostPosts = 3

/** With the default of 500 ms, they take half a minute. */
const maxLooks = 6
const maxDelayMs = 30_000

/** For a server that keeps its stream open but doesn't answer requests: with the delays in between, four minutes. */
const maxFailures = 10

/**
 * Ends replies that the stream doesn't end: a run that is idle with an unfinished message, a run whose end fell into a
 * gap, and a prompt for which nothing ever ran. Checks each over REST and settles it only if REST confirms.
 */
/**
 * `graceMs` is the wait after idle was seen with an unfinished message, and again after REST confirmed it. `waitMs` is the
 * delay before checking a reply without events, which doubles with each further check.
 */
export function createIdleCheck(drive: Drive, { graceMs, waitMs }: Pick<Settings, 'graceMs' | 'waitMs'>): IdleCheck {
  const { clock, engine, onError } = drive
  const cases = new Map<string, Case>()
  const expected = new Map<string, Expected>()
  engine.onStep(({ reply: { phase, sessionID, connection }, run }) => {
    const prompt = expected.get(sessionID)
    if (!prompt || engine.replies.newest(sessionID)?.run !== run) return
    if (phase === 'settled') return void expected.delete(sessionID)
    // Looks that the server did not answer have become rare.
    if (connection === 'live' && prompt.isDown && cases.get(sessionID)?.failures) forget(sessionID)
    prompt.isDown = connection === 'lost'
    prompt.isCut ||= prompt.isDown
  })
  engine.onTurned(review)
  return { expectRun, expectAgain, stop }

  function expectRun(sessionID: string, postAgain?: PostAgain, isCut = false): void {
    expected.set(sessionID, { postAgain, left: mostPosts, isDown: false, isCut })
  }

  function expectAgain(sessionID: string): void {
    if (!expected.has(sessionID)) return
    forget(sessionID)
    review(sessionID)
  }

  /** Checks whether the session's reply may have ended unnoticed, and starts to find out. */
  function review(sessionID: string): void {
    const reply = engine.openReply(sessionID)
    // The abort itself waits for the end.
    if (!reply || reply.aborting) return forget(sessionID)
    // A background sub-agent's end arrives on the stream.
    if (reply.children.some((child) => child.background && child.reply.phase !== 'settled')) return
    // Servers from 1.17 on report `connected` shortly before they are: events in between are lost.
    const isUnreported = expected.has(sessionID) && reply.promptIDs.length === 0
    if (reply.startedAt !== undefined && (reply.phase === 'waiting' || isUnreported)) begin(sessionID, 'waiting')
    else if (engine.idleOf(sessionID)) begin(sessionID, 'idle')
    else forget(sessionID)
  }

  function begin(sessionID: string, reason: Case['reason']): void {
    const known = cases.get(sessionID)
    if (known?.reason === reason) return
    known?.stop()
    const next: Case = { reason, looks: 0, failures: 0, stop: () => {} }
    cases.set(sessionID, next)
    schedule(sessionID, next)
  }

  function schedule(sessionID: string, open: Case): void {
    const isUnheard = engine.openReply(sessionID)?.phase === 'waiting'
    const delayMs = isUnheard || open.reason === 'waiting' ? waitMs * 2 ** open.looks : graceMs
    open.stop = clock.after(delayMs, () => void look(sessionID, open))
  }

  async function look(sessionID: string, open: Case): Promise<void> {
    if (cases.get(sessionID) !== open) return
    const reply = engine.openReply(sessionID)
    if (!reply) return forget(sessionID)
    open.looks += 1
    let read: ReadEvent | undefined
    try {
      // An open text that only REST reports at the end was missed on the stream.
      ;[read] = await drive.reader.readEvents({ ...sessionRefOf(reply), reply, gap: true })
    } catch (error) {
      return retry(sessionID, open, error)
    }
    if (!read) return decideUnread(sessionID, open)
    if (read.type === 'session-removed') return engine.apply([read])
    if (cases.get(sessionID) !== open) return
    engine.apply([read])
    if (cases.get(sessionID) !== open) return
    const after = engine.openReply(sessionID)
    if (!after) return forget(sessionID)
    if (read.status !== 'idle') return forget(sessionID)
    decide(after, open, read)
  }

  /** The server could not be asked. The transport handles the lost connection; this check stays scheduled. */
  function retry(sessionID: string, open: Case, error: unknown): void {
    onError(toReplyError(error))
    if (cases.get(sessionID) !== open) return
    open.failures += 1
    // The run is over, or none was ever seen. What became of it can't be determined any more.
    const reply = engine.openReply(sessionID)
    const isUnseen = expected.has(sessionID) && reply !== undefined && isWaiting(reply)
    if (open.failures > maxFailures && (isUnseen || engine.idleOf(sessionID) === 'heard'))
      return engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'lost', reason: 'unreachable' }])
    open.stop = clock.after(Math.min(maxDelayMs, graceMs * 2 ** open.failures), () => void look(sessionID, open))
  }

  /** The server shows no state of sessions, so only the stream counts. A prompt waits for its events. */
  function decideUnread(sessionID: string, open: Case): void {
    if (open.reason === 'waiting' && open.looks < maxLooks) return schedule(sessionID, open)
    forget(sessionID)
    if (open.reason === 'idle') engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'grace' }])
    else if (expected.has(sessionID)) failUnstarted(sessionID)
  }

  function isWaiting(reply: Reply): boolean {
    return reply.phase === 'waiting' || (expected.has(reply.sessionID) && isEmpty(reply))
  }

  function failUnstarted(sessionID: string): void {
    const message = `No run started for the prompt within ${waitMs * (2 ** maxLooks - 1)} ms.`
    const error = { name: 'NeverStarted', message, raw: undefined }
    const at = clock.now()
    engine.apply([{ type: 'error', sessionID, at, error }])
    // An error alone ends only a reply in which nothing was heard.
    if (engine.openReply(sessionID)) engine.apply([{ type: 'settle', sessionID, at, by: 'rest' }])
  }

  /** REST shows the session idle. */
  function decide(reply: Reply, open: Case, snapshot: SnapshotEvent): void {
    const { sessionID } = reply
    const at = clock.now()
    const prompt = expected.get(sessionID)
    if (isWaiting(reply) && prompt?.isCut && prompt.postAgain && prompt.left > 0)
      return void postAgain(sessionID, open, prompt)
    // A server that has just been started may take seconds before it begins.
    if (isWaiting(reply) && open.looks < maxLooks) return schedule(sessionID, open)
    if (isWaiting(reply) && expected.has(sessionID)) return failUnstarted(sessionID)
    // Requires two checks, a grace period apart: a normal end passes through the same state.
    if (!isFinished(reply) && open.looks < 2) return schedule(sessionID, open)
    const by = engine.idleOf(sessionID) === 'heard' ? 'grace' : 'rest'
    const ended = endedBelow(reply, snapshot.children)
    engine.apply(ended.map((id) => ({ type: 'settle', sessionID: id, at, by })))
    const after = engine.openReply(sessionID)
    if (!after || snapshot.children.some(isAtWork)) return forget(sessionID)
    engine.apply([{ type: 'settle', sessionID, at, by }])
  }

  async function postAgain(sessionID: string, open: Case, prompt: Expected): Promise<void> {
    prompt.isCut = false
    try {
      const isPosted = (await prompt.postAgain?.()) === true
      if (isPosted) prompt.left -= 1
      if (cases.get(sessionID) !== open) return
      if (isPosted) expectAgain(sessionID)
      else schedule(sessionID, open)
    } catch (error) {
      prompt.isCut = true
      retry(sessionID, open, error)
    }
  }

  function forget(sessionID: string): void {
    cases.get(sessionID)?.stop()
    cases.delete(sessionID)
  }

  function stop(): void {
    for (const sessionID of [...cases.keys()]) forget(sessionID)
  }
}
