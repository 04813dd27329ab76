import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import type { SessionRef } from '../../session-ref.ts'
import { diff } from '../../track/diff.ts'
import { wasNeverSent } from '../never-sent.ts'
import type { LiveReply } from '../replies.ts'
import { createFollowedRun, isCurrent } from './followed-run.ts'
import { mayHaveReachedServer, type PromptToJoin, postAndFindReply } from './join.ts'
import { openReplyFor } from './open-reply.ts'
import { postAgain } from './post-again.ts'
import { postPrompt, prepareWithRetries } from './post-prompt.ts'
import { requireDelivery } from './prompt-input.ts'
import type { FoundReply } from './recognize.ts'
import type { ReplyStream } from './reply-stream.ts'
import type { RunOptions } from './run-options.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'
import { toFailure } from './stand-in.ts'
import { attachOrAnswer } from './unanswered.ts'
import { holdsOnlyANote, whoseRun } from './whose-run.ts'

/**
 * Posts a prompt and returns the stream of the reply to it at once. Errors end the stream as failed. Only a bad
 * `timeoutMs` throws, with `invalid`. In the background:
 *
 * 1. Prepare: waits for the connection, then finds or creates the session. Nothing is posted yet, so a stop drops the
 * prompt.
 * 2. Post exactly once, after the caller's `onPosting`. If the session is idle, its next reply is opened first
 * (`postToOwnReply`). If it is busy, the running reply or the next one includes the prompt (`postIntoRun`). A note may
 * be posted in either case (`postNote`). A post that the server didn't get is retried (`postPrompt`).
 * 3. Attach: once the reply is found, the stream and the observers follow it to its end (`createFollowedRun`). An opened
 * reply that turns out to be another client's run is left again. A prompt that a run joined without an answer is posted
 * again (`attachOrAnswer`).
 *
 * If nothing runs for the prompt, a stand-in reply carries the reason.
 */
export function startRun(server: RunServer, request: RunRequest, options: RunOptions): ReplyStream {
  const { engine, clock } = server
  const { kind, input } = request
  /** The prompt's text, if the server keeps it verbatim. Absent for a command, because servers wrap its text. */
  const text = kind === 'command' || request.text?.trim() === '' ? undefined : request.text
  const run = createFollowedRun(server, { kind, text: request.text, sessionID: input.sessionID }, options)
  const { attach, endAsAborted, endAsFailed, endWithStandIn } = run
  let messageID: string | undefined
  void prepareAndPost()
  return run.stream

  /**
   * Does steps 1 to 3. Never rejects: an error ends the stream as failed, and a stop before the post ends it as
   * aborted.
   */
  async function prepareAndPost(): Promise<void> {
    let sessionID = input.sessionID ?? ''
    try {
      if (run.isStopped()) return endAsAborted(sessionID)
      await whenLiveAndReopened()
      requireDelivery(request.delivery, server.info.current())
      // Don't create a session for a prompt that is no longer wanted.
      if (run.isStopped()) return endAsAborted(sessionID)
      let place = await prepareWithRetries(server, input, run.over, isPointless)
      if (!place) return endAsAborted(sessionID)
      sessionID = place.sessionID
      // The previous run may have ended together with the connection.
      if (!server.readiness.isLive()) await whenLiveAndReopened()
      if (run.isStopped()) return endAsAborted(sessionID)
      let isAnnounced = options.onPosting === undefined
      // Nothing may run between the last check and the post, because another prompt may wait for the same end.
      for (let running = blockingRun(place); running || !isAnnounced; running = blockingRun(place)) {
        if (running) await waitUntilOver(running)
        else await callOnPosting(place)
        if (isPointless()) return endAsAborted(sessionID)
        if (running && !isAnnounced)
          place = await prepareWithRetries(server, { ...input, sessionID }, run.over, isPointless)
        if (!place) return endAsAborted(sessionID)
        isAnnounced ||= !running
      }
      messageID ??= server.info.current().nextMessageID?.()
      if (kind === 'note') await postNote(place)
      else if (engine.isRunOpen(sessionID)) await postIntoRun(place)
      else await postToOwnReply(place)
    } catch (error) {
      endAsFailed(sessionID, error)
    }
  }

  /** Whether posting the prompt is pointless: it is no longer wanted, or its stream has ended. */
  function isPointless(): boolean {
    return run.isStopped() || run.over.aborted
  }

  /**
   * Waits until a run settles, and until the connection is up. Resolves at once when the stream ends. Rejects if the
   * connection doesn't come up.
   */
  async function waitUntilOver(running: LiveReply): Promise<void> {
    await whenSettled(running, run.over)
    if (!isPointless()) await whenLiveAndReopened()
  }

  /**
   * Sets the prompt's `messageID`, and calls and awaits the caller's `onPosting` with everything that is known of the
   * prompt, unless posting it has become pointless. Rejects with its error, or if the prompts with the same text can't
   * be counted.
   */
  async function callOnPosting({ sessionID, directory, newestMessageID: after }: PreparedPlace): Promise<void> {
    messageID = server.info.current().nextMessageID?.()
    const noReply = kind === 'note' ? (true as const) : undefined
    const sameTextBefore = await countSameText({ sessionID, directory })
    if (isPointless()) return
    const posted = { sessionID, directory, messageID, after, text, sameTextBefore, noReply, at: clock.now() } as const
    await options.onPosting?.(posted)
  }

  /**
   * Counts the session's prompts with this text, so that the prompt can be found by its text after a restart. Undefined
   * if it has no text, or if the server keeps its id or can't be asked.
   */
  async function countSameText(place: SessionRef): Promise<number | undefined> {
    const { canRead, keepsPromptIDs = true } = server.info.current()
    if (text === undefined || !canRead || keepsPromptIDs) return undefined
    return await server.source.countPrompts?.(place, text)
  }

  /**
   * Waits for the connection. In a session that exists, also waits until no stop is running, and lets asks be answered
   * again after a stop that was not confirmed. Rejects if the connection doesn't come up.
   */
  async function whenLiveAndReopened(): Promise<void> {
    await server.readiness.whenLive()
    if (request.input.sessionID !== undefined) await server.stopping.reopen(request.input.sessionID)
  }

  /**
   * The run that must end before the prompt can be posted: a busy session that doesn't take it, or a run that may have
   * begun without the guard that this prompt needs. Undefined if there is none.
   */
  function blockingRun({ sessionID, guarded }: PreparedPlace): LiveReply | undefined {
    const running = engine.isRunOpen(sessionID) ? engine.replies.newest(sessionID) : undefined
    if (!running) return undefined
    const isUnguarded = guarded === 'next-run' && !server.guardedRuns.has(running)
    const { takesPromptsWhileBusy, queuesPrompts } = server.info.current()
    const isTaken = request.delivery === 'queue' ? queuesPrompts : takesPromptsWhileBusy
    return isUnguarded || !isTaken ? running : undefined
  }

  /**
   * Opens the session's next reply, attaches the stream to it and posts the prompt. If the server refuses the post, the
   * reply fails. If the post was never sent and the prompt is stopped, the reply settles as aborted. If nothing runs
   * for the prompt, it may be posted again. If another client's prompt reaches the server first, the opened reply shows
   * that run, and the stream goes on with the reply that includes this prompt. Never rejects for a failed post.
   */
  async function postToOwnReply(place: PreparedPlace): Promise<void> {
    const { sessionID } = place
    const opened = openOwnReply(place)
    if (request.input.guarded) server.guardedRuns.add(opened)
    let posting: Promise<void> | undefined
    let isOfOther = false
    let whose: ReturnType<typeof whoseRun>
    // Before the stream follows it, so that it gets nothing of another client's run.
    const stopComparing = opened.follow(({ reply }) => {
      whose ??= whoseRun(reply, { messageID, text })
      if ((whose === undefined || whose === 'own') && reply.phase !== 'settled') return
      stopComparing()
      // The stream missed the run, and others may have followed it.
      const isMissed = reply.outcome === 'completed' && reply.messages.length === 0 && (messageID ?? text) !== undefined
      if (whose !== 'other' && whose !== 'unclear' && !isMissed) return
      isOfOther = true
      run.detach()
      server.idleCheck.expectNone(sessionID)
      const others = whose === 'unclear' ? [] : reply.promptIDs.slice(0, 1)
      findRun(place, async () => await posting, others).catch((error) => endAsFailed(sessionID, error))
    })
    attach(opened, { reply: opened.reply(), joined: false })
    posting = postAndMark(place)
    const postAgainIfOwn = async (): Promise<boolean> =>
      !isOfOther && (await postAgainIfUnrun(place, opened, posting ?? Promise.resolve()))
    server.idleCheck.expectRun(sessionID, kind === 'prompt' ? postAgainIfOwn : undefined)
    try {
      await posting
    } catch (error) {
      if (isOfOther || !isCurrent(server, opened)) return
      if (wasNeverSent(error) && run.isStopped()) settleAsAborted(sessionID)
      // A later check determines whether the server took it.
      else if (!mayHaveReachedServer(error)) failOpenReply(sessionID, error)
    }
  }

  /**
   * Posts the prompt again if the server doesn't run it, after the connection broke and the first post has ended.
   * Resolves with whether it was posted, even if the server refused it, which fails the reply. False if it could run
   * twice, is no longer wanted, or its reply has events. Rejects only if the server can't be read.
   */
  async function postAgainIfUnrun(
    { sessionID, directory, newestMessageID: after }: PreparedPlace,
    opened: LiveReply,
    posting: Promise<void>,
  ): Promise<boolean> {
    const at = clock.now()
    await posting.catch(() => {})
    const posted = { sessionID, directory, messageID, after, text, at }
    const isOver = (): boolean => isPointless() || !isCurrent(server, opened) || opened.reply().phase !== 'waiting'
    return await postAgain({ server, posted, request: () => request, over: run.over, isPointless: isOver })
  }

  /** Posts into a busy session and attaches the stream to the reply that includes the prompt. See `findRun`. */
  async function postIntoRun(place: PreparedPlace): Promise<void> {
    await findRun(place, () => postAndMark(place))
  }

  /**
   * Attaches the stream to the reply that includes the prompt, which `post` posts. Ends the stream as parked, aborted or
   * not stopped if none does. Rejects if the post fails. `others` as in `PromptToJoin`.
   */
  async function findRun(place: PreparedPlace, post: () => Promise<void>, others?: readonly string[]): Promise<void> {
    const { sessionID, directory, newestMessageID: after } = place
    const posted = { sessionID, directory, messageID, after, text }
    const again = kind === 'prompt' ? () => request : undefined
    let isFound = false
    const attachFound = (live: LiveReply, found: FoundReply): void => {
      isFound = true
      attachOrAnswer({ server, run, posted, again }, live, found)
    }
    const onEnded = (reply: Reply): void => {
      isFound = true
      const changes = diff(emptyReply(sessionID), reply)
      run.endWithRun({ reply, changes }, messageID !== undefined && reply.promptIDs.indexOf(messageID) > 0)
    }
    const left = await postAndFind(place, { onFound: attachFound, onEnded, post, others })
    if (left === 'parked' && messageID !== undefined) return endWithStandIn(sessionID, { type: 'parked', messageID })
    if (left === 'not-stopped') return endWithStandIn(sessionID, { type: 'not-stopped' })
    // It was withdrawn, or aborted before it was ever seen.
    if (!isFound) endAsAborted(sessionID)
  }

  /**
   * Posts a note and ends its stream as noted once the server has the message, even while a run continues. In an idle
   * session, the note opens the next reply, which settles then. If the post fails, that reply fails and the call
   * rejects. On a server that doesn't show notes, no reply is opened or looked for.
   */
  async function postNote(place: PreparedPlace): Promise<void> {
    const { sessionID } = place
    if (!server.info.current().showsNotes)
      return await postAndMark(place).then(() => endWithStandIn(sessionID, { type: 'noted' }))
    const own = engine.isRunOpen(sessionID) ? undefined : openOwnReply(place)
    let holder: LiveReply | undefined
    try {
      holder = await new Promise<LiveReply | undefined>((resolve, reject) => {
        postAndFind(place, { onFound: resolve, post: () => postAndMark(place) }).then(() => resolve(undefined), reject)
      })
    } catch (error) {
      if (own && isCurrent(server, own) && own.reply().phase === 'waiting') failOpenReply(sessionID, error)
      throw error
    }
    if (!holder || !isCurrent(server, holder) || !holdsOnlyANote(holder.reply()))
      return endWithStandIn(sessionID, { type: 'noted' })
    attach(holder, { reply: holder.reply(), joined: false })
    engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'none' }])
  }

  /** Opens the session's next reply with the prompt's text. Throws `gone` if the session was removed. */
  function openOwnReply({ sessionID, answeredIDs: earlierIDs }: PreparedPlace): LiveReply {
    return openReplyFor({ type: 'opened', sessionID, text: request.text ?? '', earlierIDs, at: clock.now() }, engine)
  }

  /** Posts and calls `onFound` with the reply that includes the prompt. See `postAndFindReply`. */
  async function postAndFind(
    place: PreparedPlace,
    how: Pick<PromptToJoin, 'post' | 'others' | 'onFound' | 'onEnded'>,
  ): ReturnType<typeof postAndFindReply> {
    const { mustEnd, dropped, over } = run
    return await postAndFindReply({ server, place, messageID, text, mustEnd, dropped, over, ...how })
  }

  /** Posts with retries. From the call on, a stop has to reach the server. */
  async function postAndMark(place: PreparedPlace): Promise<void> {
    const canceling = new AbortController()
    const { over } = run
    const answered = postPrompt({ server, request, place, messageID, over, canceled: canceling.signal, isPointless })
    run.markPosted({ messageID, answered, cancel: () => canceling.abort() })
    await answered
  }

  /** Settles the session's open reply as aborted, without a call to the server. Does nothing without an open reply. */
  function settleAsAborted(sessionID: string): void {
    const at = clock.now()
    engine.apply([
      { type: 'abort-requested', sessionID, reason: 'requested', at },
      { type: 'settle', sessionID, at, by: 'none' },
    ])
  }

  /**
   * Settles the session's open reply as failed if it has no events yet, and otherwise only sets its error. Does nothing
   * without an open reply.
   */
  function failOpenReply(sessionID: string, error: unknown): void {
    engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
  }
}

/** Resolves when the reply settles, or when the signal aborts. Never resolves for a reply that has settled before. */
function whenSettled(live: LiveReply, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stop()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const stop = live.follow(({ reply }) => {
      if (reply.phase === 'settled') done()
    })
    signal.addEventListener('abort', done, { once: true })
  })
}
