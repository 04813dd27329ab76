import type { SnapshotEvent } from '../../event.ts'
import { isEmptyRun, isFinished } from '../../reduce/settle.ts'
import type { Reply } from '../../reply.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { idleBelow, isTreeAtWork } from '../connection/newest-run.ts'
import type { Drive } from '../drive.ts'
import type { Settings } from '../options.ts'
import { type ReadEvent, toReplyError } from '../session-reader.ts'

export interface IdleCheck {
  /**
   * Call it after posting a prompt for the session's newest reply: the reply fails unless something runs for it. Before
   * that, if the connection broke after the post, `postAgain` is called, because the server may have been killed.
   * `isCut` if the connection broke already, for example with a restart of this process.
   */
  expectRun(sessionID: string, postAgain?: PostAgain, isCut?: boolean): void
  /** Call it when the expected prompt is posted again. Restarts the wait. */
  expectAgain(sessionID: string): void
  stop(): void
}

/** Posts the prompt again if nothing runs for it. Resolves with whether it did. Rejects if the server can't be read. */
type PostAgain = () => Promise<boolean>

interface Expected {
  readonly postAgain: PostAgain | undefined
  /** How many more times it may be posted. */
  left: number
  isDown: boolean
  /** Whether the connection broke after the last post. */
  isCut: boolean
}

interface Case {
  readonly reason: 'idle' | 'waiting'
  looks: number
  failures: number
  stop: () => void
}

/** A connection that keeps breaking must not keep a prompt waiting forever. */
const maxPosts = 3

/** Half a minute in all, with the default `waitMs` of 500. */
const maxLooks = 6
const maxDelayMs = 30_000

/** Four minutes with the delays in between, for a server that keeps its stream open but doesn't respond to requests. */
const maxFailures = 10

/**
 * Ends replies whose end the stream doesn't report: a run that is idle with an unfinished message, a run that ended in
 * a gap, and a prompt that nothing ran for. Checks each over REST, and settles it only if REST confirms.
 *
 * `graceMs` is the delay after `idle` with an unfinished message, and again after REST confirmed it. `waitMs` is the
 * delay before checking a reply without events, doubling with each further check.
 */
export function createIdleCheck(drive: Drive, { graceMs, waitMs }: Pick<Settings, 'graceMs' | 'waitMs'>): IdleCheck {
  const { clock, engine, onError } = drive
  const cases = new Map<string, Case>()
  const expected = new Map<string, Expected>()
  engine.onStep(({ reply: { phase, sessionID, connection }, run }) => {
    const prompt = expected.get(sessionID)
    if (!prompt || engine.replies.newest(sessionID)?.run !== run) return
    if (phase === 'settled') return void expected.delete(sessionID)
    // After failed looks, the next one would come late.
    if (connection === 'live' && prompt.isDown && cases.get(sessionID)?.failures) forget(sessionID)
    prompt.isDown = connection === 'lost'
    prompt.isCut ||= prompt.isDown
  })
  engine.onSessionChanged(review)
  return { expectRun, expectAgain, stop }

  function expectRun(sessionID: string, postAgain?: PostAgain, isCut = false): void {
    expected.set(sessionID, { postAgain, left: maxPosts, isDown: false, isCut })
  }

  function expectAgain(sessionID: string): void {
    if (!expected.has(sessionID)) return
    forget(sessionID)
    review(sessionID)
  }

  /** Schedules a check if the session's reply may have ended unnoticed. */
  function review(sessionID: string): void {
    const reply = engine.openReply(sessionID)
    // The abort waits for the end itself.
    if (!reply || reply.aborting) return forget(sessionID)
    // A background sub-agent's end arrives on the stream.
    if (reply.children.some((child) => child.background && child.reply.phase !== 'settled')) return
    // Servers from 1.17 on report `connected` too early, so events right after it are lost.
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
    const hasNoEvents = engine.openReply(sessionID)?.phase === 'waiting'
    const delayMs = hasNoEvents || open.reason === 'waiting' ? waitMs * 2 ** open.looks : graceMs
    open.stop = clock.after(delayMs, () => void look(sessionID, open))
  }

  async function look(sessionID: string, open: Case): Promise<void> {
    if (cases.get(sessionID) !== open) return
    const reply = engine.openReply(sessionID)
    if (!reply) return forget(sessionID)
    open.looks += 1
    let read: ReadEvent | undefined
    try {
      // If only REST reports the end of an open text, the stream missed it.
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

  /** Schedules another look after a failed read. The connection handles its own loss. */
  function retry(sessionID: string, open: Case, error: unknown): void {
    onError(toReplyError(error))
    if (cases.get(sessionID) !== open) return
    open.failures += 1
    // The run has ended, or none was ever seen, and the outcome can't be determined any more.
    const reply = engine.openReply(sessionID)
    const isUnseen = expected.has(sessionID) && reply !== undefined && isWaiting(reply)
    if (open.failures > maxFailures && (isUnseen || engine.idleOf(sessionID) === 'reported'))
      return engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'lost', reason: 'unreachable' }])
    open.stop = clock.after(Math.min(maxDelayMs, graceMs * 2 ** open.failures), () => void look(sessionID, open))
  }

  /** Decides by the stream alone, for a server that shows no state of sessions. A prompt waits for its events. */
  function decideUnread(sessionID: string, open: Case): void {
    if (open.reason === 'waiting' && open.looks < maxLooks) return schedule(sessionID, open)
    forget(sessionID)
    if (open.reason === 'idle') engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'grace' }])
    else if (expected.has(sessionID)) failUnstarted(sessionID)
  }

  function isWaiting(reply: Reply): boolean {
    return reply.phase === 'waiting' || (expected.has(reply.sessionID) && isEmptyRun(reply))
  }

  function failUnstarted(sessionID: string): void {
    const message = `No run started for the prompt within ${waitMs * (2 ** maxLooks - 1)} ms.`
    const error = { name: 'NeverStarted', message, raw: undefined }
    const at = clock.now()
    engine.apply([{ type: 'error', sessionID, at, error }])
    // An error alone only ends a reply that has no events.
    if (engine.openReply(sessionID)) engine.apply([{ type: 'settle', sessionID, at, by: 'rest' }])
  }

  /** Decides after REST showed the session idle. */
  function decide(reply: Reply, open: Case, snapshot: SnapshotEvent): void {
    const { sessionID } = reply
    const at = clock.now()
    const prompt = expected.get(sessionID)
    if (isWaiting(reply) && prompt?.isCut && prompt.postAgain && prompt.left > 0)
      return void postAgain(sessionID, open, prompt)
    // A server that was just started may take seconds to begin.
    if (isWaiting(reply) && open.looks < maxLooks) return schedule(sessionID, open)
    if (isWaiting(reply) && expected.has(sessionID)) return failUnstarted(sessionID)
    // Requires two checks, a grace period apart, because a normal end passes through the same state.
    if (!isFinished(reply) && open.looks < 2) return schedule(sessionID, open)
    const by = engine.idleOf(sessionID) === 'reported' ? 'grace' : 'rest'
    const ended = idleBelow(reply, snapshot.children)
    engine.apply(ended.map((id) => ({ type: 'settle', sessionID: id, at, by })))
    const after = engine.openReply(sessionID)
    if (!after || snapshot.children.some(isTreeAtWork)) return forget(sessionID)
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
