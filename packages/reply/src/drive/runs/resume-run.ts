import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SnapshotEvent } from '../../event.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { isRunActive } from '../../track/current-run.ts'
import { diff } from '../../track/diff.ts'
import { replyOfPrompt } from '../connection/newest-run.ts'
import type { LeftPrompt } from '../inbox.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import { type FoundPrompt, findPosted, readBackTo } from './find-posted.ts'
import { checkTimeout, createFollowedRun, type FollowedRun } from './followed-run.ts'
import { countFailure, stopMs } from './join.ts'
import { openReplyFor } from './open-reply.ts'
import { postAgain } from './post-again.ts'
import type { PostedPrompt, Resumed } from './posted-prompt.ts'
import { type FoundReply, recognizeByID } from './recognize.ts'
import type { RunOptions } from './run-options.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import { attachOrAnswer } from './unanswered.ts'

/**
 * Finds a prompt that an earlier process posted or was about to post, and follows its run. Resolves once the prompt is
 * found, or is certainly not there, and with `unknown` if that can't be told. Rejects if the connection doesn't come
 * up, if the session can't be read, and with `invalid` for a bad `timeoutMs`.
 *
 * 1. If a reply known here includes the prompt, attaches to it at once.
 * 2. If the prompt's run has ended, makes its reply from the read.
 * 3. If the run is still going, applies the read and attaches to its reply. A prompt that was posted during a step may
 * belong to that run or begin the next, so this keeps looking until the server shows which.
 * 4. If the prompt is queued, keeps looking until it begins or is withdrawn.
 * 5. If nothing has run for the prompt, opens its reply like a new post does. The reply fails if nothing runs. With
 * `again` the prompt is posted once more, under its own id.
 */
export async function resumeRun(server: RunServer, posted: PostedPrompt, options: ResumeRunOptions): Promise<Resumed> {
  checkTimeout(options)
  const hold = server.following.hold(posted.sessionID)
  try {
    return await findAndFollow(server, posted, options)
  } finally {
    // The run that was found has a hold of its own.
    hold.release()
  }
}

/** Does what `resumeRun` does, while the session is held. */
async function findAndFollow(server: RunServer, posted: PostedPrompt, options: ResumeRunOptions): Promise<Resumed> {
  await server.readiness.whenLive()
  const closed = new AbortController()
  const stopClosed = server.onClosed(() => closed.abort())
  try {
    const found = promptInKnownReply(server, posted) ?? (await findPrompt(server, posted, closed.signal))
    if (typeof found === 'string') return { type: found }
    const kind = posted.noReply ? 'note' : 'prompt'
    const run = createFollowedRun(server, { kind, text: posted.text, sessionID: posted.sessionID }, options)
    run.markPosted({ messageID: found.messageID, answered: Promise.resolve(), cancel: () => {} })
    followPrompt(server, { run, posted, found, again: options.again })
    return { type: 'found', stream: run.stream }
  } finally {
    stopClosed()
  }
}

/** The prompt, if a reply known here includes it. Undefined otherwise, and if its id is unknown. */
function promptInKnownReply({ engine }: RunServer, { sessionID, messageID }: PostedPrompt): FoundPrompt | undefined {
  if (messageID === undefined || !engine.replies.withPrompt(sessionID, messageID)) return undefined
  return { sessionID, messageID }
}

/**
 * Looks for the prompt on the server. `absent` if the server doesn't have it. `unknown` if the server can't show
 * whether it has the prompt, or several may be it. Rejects if the session can't be read.
 */
async function findPrompt(
  server: RunServer,
  posted: PostedPrompt,
  over: AbortSignal,
): Promise<FoundPrompt | 'absent' | 'unknown'> {
  const { canRead, showsNotes } = server.info.current()
  if (!canRead) return 'unknown'
  const found = await findPosted(server, posted, over)
  if (found === 'unclear') return 'unknown'
  return found ?? (posted.noReply && !showsNotes ? 'unknown' : 'absent')
}

interface ResumeRunOptions extends RunOptions {
  /** Creates the request that posts the prompt again. */
  readonly again?: (() => Promise<RunRequest>) | undefined
}

interface PromptToFollow extends Pick<ResumeRunOptions, 'again'> {
  readonly run: FollowedRun
  readonly posted: PostedPrompt
  readonly found: FoundPrompt
}

/** The delay before a session is read again, doubling up to the longest, in ms. */
const lookMs = 500
const maxLookMs = 4000

/** How many reads in a row may fail while the connection is up. Four and a half minutes in all, if each fails at once. */
const maxFailures = 70

/**
 * Attaches the run's stream to the reply that includes the prompt, or ends it if nothing runs for the prompt. Does that
 * at once if `found` shows which, otherwise keeps looking in the background.
 */
function followPrompt(server: RunServer, { run, posted, found, again }: PromptToFollow): void {
  const { engine, clock, inbox, onError } = server
  const { sessionID, messageID } = found
  if (posted.noReply) return run.endWithStandIn(sessionID, { type: 'noted' })
  const known = engine.replies.withPrompt(sessionID, messageID)
  if (known) return attachFound(known)
  const place = { sessionID, directory: found.read?.session.directory }
  const recognizer = recognizeByID({ server, place, over: run.over, onFound: (live) => attachOnce(live) }, messageID)
  const stopInbox = inbox.onLeft((left) => {
    if (left.messageID === messageID) endWithoutRun(left.how)
  })
  run.mustEnd.addEventListener('abort', withdrawOrAttach, { once: true })
  run.dropped.addEventListener('abort', withdraw, { once: true })
  if (found.read && decideFate(found.read)) return stopSearch()
  void readUntilDecided().finally(stopSearch)

  /** Attaches the run to a reply that includes the prompt. */
  function attachFound(live: LiveReply, foundReply = foundReplyOf(live, messageID)): void {
    attachOrAnswer({ server, run, posted: { ...posted, messageID }, again }, live, foundReply)
  }

  /** Ends the search and removes its listeners. The stream stays as it is. */
  function stopSearch(): void {
    recognizer.stop()
    stopInbox()
    run.mustEnd.removeEventListener('abort', withdrawOrAttach)
    run.dropped.removeEventListener('abort', withdraw)
  }

  /**
   * Reads the session, with growing pauses, until the prompt's fate is known. Ends the stream if the prompt was
   * withdrawn, or two checks found it parked. Withdraws a waiting prompt again if a stop failed to do so. Fails the
   * stream if the session is gone, or more than `maxFailures` reads in a row fail.
   */
  async function readUntilDecided(): Promise<void> {
    let failures = 0
    let wasParked = false
    for (let look = 0; !isOver(); look++) {
      await pause(clock, Math.min(maxLookMs, lookMs * 2 ** look), run.over)
      if (isOver()) return
      const where = await inbox.whereIs(place, messageID)
      if (where === 'gone') return endWithoutRun('withdrawn')
      // Checks twice, because a run may be about to begin.
      if (where === 'parked' && wasParked) return endWithoutRun('parked')
      wasParked = where === 'parked'
      if (where === 'waiting' && run.isStopped()) await withdraw()
      if (where !== undefined) continue
      try {
        if (decideFate(await readBackTo(server, posted, messageID))) return
        failures = 0
      } catch (error) {
        failures = countFailure(server, failures)
        const isGone = error instanceof ReplyError && error.type === 'gone'
        if (isGone || failures > maxFailures) return run.endAsFailed(sessionID, error)
        onError(toReplyError(error))
      }
    }
  }

  /** Whether the run is attached or its stream has ended. */
  function isOver(): boolean {
    return run.isAttached() || run.over.aborted
  }

  /**
   * Applies a read, then attaches the run to the prompt's reply, ends it with a settled one, or opens a reply if the
   * session is idle. Returns whether the run is attached or its stream has ended. False if the read doesn't show what
   * becomes of the prompt.
   */
  function decideFate(read: SnapshotEvent): boolean {
    if (isOver()) return true
    const reply = replyOfPrompt(read, messageID, server.info.current().namesNewestPrompt)
    if (reply?.phase === 'settled') {
      run.endWithRun({ reply, changes: diff(emptyReply(sessionID), reply) }, hasJoined(reply, messageID))
      return true
    }
    engine.apply([read])
    if (!isOver() && !isRunActive(read) && !engine.isRunOpen(sessionID)) openReplyAndExpectRun(read)
    return isOver()
  }

  /**
   * Opens the prompt's reply, applies the read to it and attaches to it. The reply fails if nothing runs for the
   * prompt, after `again` was tried.
   */
  function openReplyAndExpectRun(read: SnapshotEvent): void {
    const opened = openReplyFor({ type: 'opened', sessionID, text: posted.text, at: clock.now() }, engine)
    engine.apply([read])
    if (!isOver()) attachOnce(opened)
    const isPointless = (): boolean => run.over.aborted || run.isStopped()
    const { over } = run
    server.idleCheck.expectRun(
      sessionID,
      again && (async () => await postAgain({ server, posted, request: again, over, isPointless })),
      true,
    )
  }

  /** Ends the search and attaches the run. Does nothing if it is attached. */
  function attachOnce(live: LiveReply, foundReply = foundReplyOf(live, messageID)): void {
    if (run.isAttached()) return
    stopSearch()
    attachFound(live, foundReply)
  }

  /** Ends the stream as parked, or as aborted for a withdrawn prompt, because nothing runs for it. */
  function endWithoutRun(how: LeftPrompt['how']): void {
    const end = how === 'parked' ? ({ type: 'parked', messageID } as const) : ({ type: 'aborted' } as const)
    run.endWithStandIn(sessionID, end)
  }

  /** Withdraws the prompt if it waits. `onLeft` then ends the stream. */
  async function withdraw(): Promise<void> {
    if (!isOver()) await inbox.withdraw(place, messageID)
  }

  /**
   * Withdraws the prompt, because its run must end. If it no longer waits, attaches to the session's open reply, whose run
   * is then aborted. If there is none, or the prompt still waits, goes on with the search for `stopMs` at most.
   */
  async function withdrawOrAttach(): Promise<void> {
    const stays = !isOver() && (await inbox.staysAfterWithdrawal(place, messageID))
    if (isOver()) return
    const current = engine.openReply(sessionID) && engine.replies.newest(sessionID)
    if (current && !stays) return attachOnce(current, { reply: current.reply(), joined: true })
    await pause(clock, stopMs, run.over)
    if (!isOver()) run.endWithStandIn(sessionID, { type: 'not-stopped' })
  }
}

/** The reply's current state, with whether another prompt began its run. */
function foundReplyOf(live: LiveReply, messageID: string): FoundReply {
  const reply = live.reply()
  return { reply, joined: hasJoined(reply, messageID) }
}

/** Whether another prompt began the reply's run. False if the reply doesn't show this one. */
function hasJoined({ promptIDs }: Reply, messageID: string): boolean {
  return promptIDs.indexOf(messageID) > 0
}
