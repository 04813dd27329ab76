import type { SnapshotEvent } from '../../event.ts'
import { isEmptyRun, isFinished } from '../../reduce/settle.ts'
import type { Reply } from '../../reply.ts'
import { sessionRefOf } from '../../session-ref.ts'
import { idleChildIDs, isTreeAtWork } from '../connection/newest-run.ts'
import type { Drive } from '../drive.ts'
import type { Settings } from '../options.ts'
import { type ReadEvent, toReplyError } from '../session-reader.ts'

export interface IdleCheck {
  /**
   * Makes the session's newest reply fail as `NeverStarted` unless a run starts for the prompt that was posted for it.
   * If the connection broke after the post, first calls `postAgain`, because the server may have been killed. Pass
   * `connectionBroke` if the connection broke already, for example with a restart of this process.
   */
  expectRun(sessionID: string, postAgain?: PostAgain, connectionBroke?: boolean): void
  /** Expects no run any more, because the newest reply is another client's. */
  expectNone(sessionID: string): void
  /** Restarts the wait for an expected run, because its prompt was posted again. Does nothing if none is expected. */
  restartWait(sessionID: string): void
  /** Stops all checks, so nothing is read or settled any more. */
  stop(): void
}

/** Posts the prompt again if nothing runs for it. Resolves with whether it did. Rejects if the server can't be read. */
type PostAgain = () => Promise<boolean>

interface ExpectedRun {
  readonly postAgain: PostAgain | undefined
  /** How many more times it may be posted. */
  postsLeft: number
  /** Whether the connection is down. */
  isDown: boolean
  /** Whether the connection broke after the last post. */
  connectionBroke: boolean
  /** Whether the server reported the session idle before the reply showed a prompt. */
  wasIdle: boolean
  /** Whether the run was stopped before its first step, as far as is known. */
  isStopped: boolean
}

/** A running check of a session's reply, `waiting` for its first event or `idle` without an end. */
interface OpenCheck {
  readonly reason: 'idle' | 'waiting'
  /** How many times the session was read, successfully or not. */
  reads: number
  failures: number
  stop: () => void
}

/** A connection that keeps breaking must not keep a prompt waiting forever. */
const maxPosts = 3

/** Half a minute in all, with the default `waitMs` of 500. */
const maxReads = 6
/**
 * How many reads after a stop must find that nothing runs for the prompt. 3.5 s in all, because
 * OpenCode 1.1.65 reports idle for a stop that came too early, and then begins the run.
 */
const stoppedReads = 3
const maxDelayMs = 30_000

/** Four minutes with the delays in between, for a server that keeps its stream open but doesn't respond to requests. */
const maxFailures = 10

/**
 * Creates the check that ends replies whose end the stream doesn't report: a run that is idle with an unfinished
 * message, a run that ended in a gap, and a prompt that nothing ran for. Checks each over REST, and settles it only if
 * REST confirms.
 *
 * `graceMs` is the delay after `idle` with an unfinished message, and again after REST confirmed it. `waitMs` is the
 * delay before checking a reply without events, doubling with each further check.
 */
export function createIdleCheck(drive: Drive, { graceMs, waitMs }: Pick<Settings, 'graceMs' | 'waitMs'>): IdleCheck {
  const { clock, engine, onError } = drive
  const checks = new Map<string, OpenCheck>()
  const expected = new Map<string, ExpectedRun>()
  engine.onStep(({ reply: { phase, sessionID, connection }, run }) => {
    const prompt = expected.get(sessionID)
    if (!prompt || engine.replies.newest(sessionID)?.run !== run) return
    if (phase === 'settled') return void expected.delete(sessionID)
    // After failed reads, the next one would come late.
    if (connection === 'live' && prompt.isDown && checks.get(sessionID)?.failures) stopCheck(sessionID)
    prompt.isDown = connection === 'lost'
    prompt.connectionBroke ||= prompt.isDown
  })
  engine.onSessionChanged(startOrStopCheck)
  return {
    expectRun,
    expectNone: (sessionID) => void expected.delete(sessionID),
    restartWait,
    stop: stopAllChecks,
  }

  /**
   * Makes the session's newest reply fail unless a run starts for it. After a broken connection, or with
   * `connectionBroke`, `postAgain` comes first. Replaces an earlier expectation of the session, and ends when the reply
   * settles.
   */
  function expectRun(sessionID: string, postAgain?: PostAgain, connectionBroke = false): void {
    expected.set(sessionID, {
      postAgain,
      postsLeft: maxPosts,
      isDown: false,
      connectionBroke,
      wasIdle: false,
      isStopped: false,
    })
    startOrStopCheck(sessionID)
  }

  /** Restarts the wait for an expected run from its beginning. Does nothing if none is expected. */
  function restartWait(sessionID: string): void {
    if (!expected.has(sessionID)) return
    stopCheck(sessionID)
    startOrStopCheck(sessionID)
  }

  /**
   * Starts a check if the session's open reply has no events, doesn't show its expected prompt, or is idle. Otherwise
   * stops a running check, also while an abort waits for the end itself. While a background sub-agent is running, it
   * only checks for events and for the expected prompt.
   */
  function startOrStopCheck(sessionID: string): void {
    const reply = engine.openReply(sessionID)
    // The abort waits for the end itself.
    if (!reply || reply.aborting) return stopCheck(sessionID)
    // Servers from 1.17 on report `connected` too early, so events right after it are lost.
    const prompt = expected.get(sessionID)
    const isUnreported = prompt !== undefined && reply.promptIDs.length === 0
    if (isUnreported && engine.idleOf(sessionID) === 'reported') prompt.wasIdle = true
    const isStopped = isStoppedEarly(reply)
    // Only reads after the stop tell whether the run begins nevertheless.
    if (isStopped && !prompt?.isStopped) stopCheck(sessionID)
    if (prompt) prompt.isStopped = isStopped
    if (reply.startedAt !== undefined && (reply.phase === 'waiting' || isUnreported))
      return startCheck(sessionID, 'waiting')
    if (checks.get(sessionID)?.reason === 'waiting') stopCheck(sessionID)
    // A background sub-agent's end arrives on the stream.
    if (reply.children.some((child) => child.background && child.reply.phase !== 'settled')) return
    if (engine.idleOf(sessionID)) startCheck(sessionID, 'idle')
    else stopCheck(sessionID)
  }

  /** Starts a check, in place of one for another reason. Does nothing if one runs for the same reason. */
  function startCheck(sessionID: string, reason: OpenCheck['reason']): void {
    const known = checks.get(sessionID)
    if (known?.reason === reason) return
    known?.stop()
    const next: OpenCheck = { reason, reads: 0, failures: 0, stop: () => {} }
    checks.set(sessionID, next)
    scheduleRead(sessionID, next)
  }

  /**
   * Sets the timer of the check's next read. The delay is `waitMs`, doubled with each earlier read, for a reply without
   * events or an expected prompt. Otherwise it is `graceMs`.
   */
  function scheduleRead(sessionID: string, check: OpenCheck): void {
    const hasNoEvents = engine.openReply(sessionID)?.phase === 'waiting'
    const delayMs = hasNoEvents || check.reason === 'waiting' ? waitMs * 2 ** check.reads : graceMs
    check.stop = clock.after(delayMs, () => void readAndDecide(sessionID, check))
  }

  /**
   * Reads and applies the session. Then settles its reply, schedules another read, or stops the check if the session is
   * busy. A session that is gone ends its reply. A failed read is reported and retried. Does nothing if the check was
   * stopped or replaced.
   */
  async function readAndDecide(sessionID: string, check: OpenCheck): Promise<void> {
    if (checks.get(sessionID) !== check) return
    const reply = engine.openReply(sessionID)
    if (!reply) return stopCheck(sessionID)
    check.reads += 1
    let read: ReadEvent | undefined
    try {
      // If only REST reports the end of an open text, the stream missed it.
      ;[read] = await drive.reader.readEvents({ ...sessionRefOf(reply), reply, gap: true })
    } catch (error) {
      return retryOrGiveUp(sessionID, check, error)
    }
    if (!read) return decideWithoutRead(sessionID, check)
    if (read.type === 'session-removed') return engine.apply([read])
    if (checks.get(sessionID) !== check) return
    engine.apply([read])
    if (checks.get(sessionID) !== check) return
    const after = engine.openReply(sessionID)
    if (!after) return stopCheck(sessionID)
    if (read.status !== 'idle') return stopCheck(sessionID)
    settlePostOrCheckAgain(after, check, read)
  }

  /**
   * Reports a failed read and schedules another, after twice the delay each time, up to `maxDelayMs`. After more than
   * `maxFailures` failures of the check, settles the reply as lost instead if its run has ended or was never seen. Only
   * reports if the check was stopped.
   */
  function retryOrGiveUp(sessionID: string, check: OpenCheck, error: unknown): void {
    onError(toReplyError(error))
    if (checks.get(sessionID) !== check) return
    check.failures += 1
    // The run has ended, or none was ever seen, and the outcome can't be determined any more.
    const reply = engine.openReply(sessionID)
    const isUnseen = expected.has(sessionID) && reply !== undefined && hasNothingRun(reply)
    if (check.failures > maxFailures && (isUnseen || engine.idleOf(sessionID) === 'reported'))
      return engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'lost', reason: 'unreachable' }])
    check.stop = clock.after(
      Math.min(maxDelayMs, graceMs * 2 ** check.failures),
      () => void readAndDecide(sessionID, check),
    )
  }

  /**
   * Ends a check without a read, for a server that shows no state of sessions. Settles an idle reply. A prompt without
   * events is checked up to `maxReads` times, and then fails if a run was expected.
   */
  function decideWithoutRead(sessionID: string, check: OpenCheck): void {
    if (check.reason === 'waiting' && check.reads < maxReads) return scheduleRead(sessionID, check)
    stopCheck(sessionID)
    if (check.reason === 'idle') engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'grace' }])
    else if (expected.has(sessionID)) failAsNeverStarted(sessionID)
  }

  /**
   * Whether nothing has run for the reply's prompt yet: it has no events, or a run is expected and it has no answer.
   * Sub-agents in it are then of an earlier run.
   */
  function hasNothingRun(reply: Reply): boolean {
    return reply.phase === 'waiting' || (expected.has(reply.sessionID) && isEmptyRun({ ...reply, children: [] }))
  }

  /**
   * Whether the run of an expected prompt was stopped elsewhere before its first step: the server reported idle after it
   * had shown the prompt. OpenCode 1.18.34 tells nothing else of that.
   */
  function isStoppedEarly({ sessionID, promptIDs, messages, error, compaction }: Reply): boolean {
    const prompt = expected.get(sessionID)
    if (!prompt || prompt.wasIdle || engine.idleOf(sessionID) !== 'reported') return false
    return promptIDs.length > 0 && messages.length === 0 && error === undefined && compaction === undefined
  }

  /** Settles the reply as failed with `NeverStarted`, because no run started. */
  function failAsNeverStarted(sessionID: string): void {
    settleWithError(
      sessionID,
      'NeverStarted',
      `No run started for the prompt within ${waitMs * (2 ** maxReads - 1)} ms.`,
    )
  }

  /** Settles a reply that has no step, with this error. */
  function settleWithError(sessionID: string, name: string, message: string): void {
    const error = { name, message, raw: undefined }
    const at = clock.now()
    engine.apply([{ type: 'error', sessionID, at, error }])
    // An error alone only ends a reply that has no events.
    if (engine.openReply(sessionID)) engine.apply([{ type: 'settle', sessionID, at, by: 'rest' }])
  }

  /**
   * Settles the reply and its idle sub-agents, because REST showed the session idle. The reply stays open while a
   * sub-agent is running. For a prompt that nothing ran for, posts it again or fails it, unless it was stopped
   * elsewhere. Schedules another read if it is too early for that.
   */
  function settlePostOrCheckAgain(reply: Reply, check: OpenCheck, snapshot: SnapshotEvent): void {
    const { sessionID } = reply
    const at = clock.now()
    const prompt = expected.get(sessionID)
    if (isStoppedEarly(reply)) {
      if (check.reads < stoppedReads) return scheduleRead(sessionID, check)
      return settleWithError(sessionID, 'MessageAbortedError', 'The run was stopped before its first step.')
    }
    if (hasNothingRun(reply) && prompt?.connectionBroke && prompt.postAgain && prompt.postsLeft > 0)
      return void postAgainAndCheck(sessionID, check, prompt)
    // A server that was just started may take seconds to begin.
    if (hasNothingRun(reply) && check.reads < maxReads) return scheduleRead(sessionID, check)
    if (hasNothingRun(reply) && expected.has(sessionID)) return failAsNeverStarted(sessionID)
    // Requires two checks, a grace period apart, because a normal end passes through the same state.
    if (!isFinished(reply) && check.reads < 2) return scheduleRead(sessionID, check)
    const by = engine.idleOf(sessionID) === 'reported' ? 'grace' : 'rest'
    const idleIDs = idleChildIDs(reply, snapshot.children)
    engine.apply(idleIDs.map((id) => ({ type: 'settle', sessionID: id, at, by })))
    const after = engine.openReply(sessionID)
    if (!after || snapshot.children.some(isTreeAtWork)) return stopCheck(sessionID)
    engine.apply([{ type: 'settle', sessionID, at, by }])
  }

  /**
   * Calls `prompt.postAgain`. Then restarts the wait if it posted, and otherwise schedules another read. An error
   * counts as a failed read.
   */
  async function postAgainAndCheck(sessionID: string, check: OpenCheck, prompt: ExpectedRun): Promise<void> {
    prompt.connectionBroke = false
    try {
      const isPosted = (await prompt.postAgain?.()) === true
      if (isPosted) prompt.postsLeft -= 1
      if (checks.get(sessionID) !== check) return
      if (isPosted) restartWait(sessionID)
      else scheduleRead(sessionID, check)
    } catch (error) {
      prompt.connectionBroke = true
      retryOrGiveUp(sessionID, check, error)
    }
  }

  /** Stops and drops the session's check, if any. */
  function stopCheck(sessionID: string): void {
    checks.get(sessionID)?.stop()
    checks.delete(sessionID)
  }

  /** Stops and drops all checks that are running. */
  function stopAllChecks(): void {
    for (const sessionID of [...checks.keys()]) stopCheck(sessionID)
  }
}
