import { wasNeverSent } from '../never-sent.ts'
import type { LiveReply } from '../replies.ts'
import { createFollowedRun, isCurrent } from './followed-run.ts'
import { isUncertain, join } from './join.ts'
import { openReplyFor } from './open-reply.ts'
import { postAgain } from './post-again.ts'
import { postPrompt, prepareAgain } from './post-prompt.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import { requireDelivery } from './prompt-input.ts'
import type { Start } from './recognize.ts'
import type { ReplyStream } from './reply-stream.ts'
import type { StartRunOptions } from './run-server.ts'
import type { PreparedPlace } from './sessions.ts'
import { toFailure } from './stand-in.ts'
import { holdsOnlyANote } from './whose-run.ts'

/**
 * Posts a prompt and follows the reply to it:
 *
 * 1. Prepare: waits for the connection, then finds or creates the session. Nothing is posted yet, so a stop drops the
 * prompt.
 * 2. Post exactly once, after the caller's `onPosting`. If the session is idle, its next reply is opened first
 * (`postToOwnReply`). If it is busy, the running reply or the next one includes the prompt (`postIntoRun`). A note may
 * be posted in either case (`postNote`). A post that the server didn't get is retried (`postPrompt`).
 * 3. Attach: once the reply is found, the stream and the observers follow it to its end (`createFollowedRun`).
 *
 * If nothing runs for the prompt, a stand-in reply carries the reason.
 */
export function startRun({ server, request, ...options }: StartRunOptions): ReplyStream {
  const { engine, clock } = server
  const { kind, input } = request
  /** The prompt's text, if the server keeps it verbatim. Absent for a command, because servers wrap its text. */
  const text = kind === 'command' || request.text?.trim() === '' ? undefined : request.text
  const run = createFollowedRun(server, { kind, text: request.text, sessionID: input.sessionID }, options)
  const { attach, drop, fail, endWith } = run
  let messageID: string | undefined
  void start()
  return run.stream

  async function start(): Promise<void> {
    let sessionID = input.sessionID ?? ''
    try {
      if (run.isStopped()) return drop(sessionID)
      await whenReady()
      requireDelivery(request.delivery, server.info.current())
      // Don't create a session for a prompt that is no longer wanted.
      if (run.isStopped()) return drop(sessionID)
      let place = await prepareAgain({ server, input, over: run.over, isPointless })
      if (!place) return drop(sessionID)
      sessionID = place.sessionID
      // The previous run may have ended together with the connection.
      if (!server.readiness.isLive()) await whenReady()
      if (run.isStopped()) return drop(sessionID)
      let isAnnounced = options.onPosting === undefined
      // Nothing may run between the last check and the post, because another prompt may wait for the same end.
      for (let running = runBefore(place); running || !isAnnounced; running = runBefore(place)) {
        if (running) await waitFor(running)
        else await announce(place)
        if (isPointless()) return drop(sessionID)
        if (running && !isAnnounced)
          place = await prepareAgain({ server, input: { ...input, sessionID }, over: run.over, isPointless })
        if (!place) return drop(sessionID)
        isAnnounced ||= !running
      }
      messageID ??= server.info.current().nextMessageID?.()
      if (kind === 'note') await postNote(place)
      else if (engine.openReply(sessionID)) await postIntoRun(place)
      else await postToOwnReply(place)
    } catch (error) {
      fail(sessionID, error)
    }
  }

  function isPointless(): boolean {
    return run.isStopped() || run.over.aborted
  }

  /** Waits until a run settles. It may end with the connection, or by a stop that covers this session's asks. */
  async function waitFor(running: LiveReply): Promise<void> {
    await whenSettled(running, run.over)
    if (!isPointless()) await whenReady()
  }

  /** Gives the caller the data to find the prompt again if this process ends before the reply does. */
  async function announce({ sessionID, directory, newestMessageID: after }: PreparedPlace): Promise<void> {
    messageID = server.info.current().nextMessageID?.()
    const noReply = kind === 'note' ? (true as const) : undefined
    const posted: PostedPrompt = { sessionID, directory, messageID, after, text, noReply, at: clock.now() }
    await options.onPosting?.(posted)
  }

  /** Waits for the connection. After that, the session's asks can be answered again. */
  async function whenReady(): Promise<void> {
    await server.readiness.whenLive()
    if (request.input.sessionID !== undefined) await server.stopping.reopen(request.input.sessionID)
  }

  /**
   * The run that must end before the prompt can be posted: a busy session that takes no prompts, or a run that may have
   * begun without the guard that this prompt needs.
   */
  function runBefore({ sessionID, guarded }: PreparedPlace): LiveReply | undefined {
    const running = engine.openReply(sessionID) && engine.replies.newest(sessionID)
    if (!running) return undefined
    const isUnguarded = guarded === 'next-run' && !server.guardedRuns.has(running)
    return isUnguarded || !server.info.current().takesPromptsWhileBusy ? running : undefined
  }

  async function postToOwnReply(place: PreparedPlace): Promise<void> {
    const { sessionID } = place
    const opened = openReply(sessionID)
    if (request.input.guarded) server.guardedRuns.add(opened)
    attach(opened, { reply: opened.reply(), joined: false })
    const posting = post(place)
    server.idleCheck.expectRun(sessionID, kind === 'prompt' ? () => again(place, opened, posting) : undefined)
    try {
      await posting
    } catch (error) {
      if (!isCurrent(server, opened)) return
      if (wasNeverSent(error) && run.isStopped()) dropReply(sessionID)
      // A later check determines whether the server took it.
      else if (!isUncertain(error)) failReply(sessionID, error)
    }
  }

  /** Posts the prompt again if nothing runs for it, after the connection broke. */
  async function again(
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

  async function postIntoRun(place: PreparedPlace): Promise<void> {
    const left = await findReply(place, attach)
    const { sessionID } = place
    if (left === 'parked' && messageID !== undefined) return endWith({ sessionID, end: { type: 'parked', messageID } })
    // It was withdrawn, or aborted before it was ever seen.
    if (!run.isAttached()) drop(sessionID)
  }

  /** Posts a note. Its reply ends when the server has the message, even while a run continues in the session. */
  async function postNote(place: PreparedPlace): Promise<void> {
    const { sessionID } = place
    if (!server.info.current().showsNotes)
      return await post(place).then(() => endWith({ sessionID, end: { type: 'noted' } }))
    const own = engine.openReply(sessionID) ? undefined : openReply(sessionID)
    let holder: LiveReply | undefined
    try {
      holder = await new Promise<LiveReply | undefined>((resolve, reject) => {
        findReply(place, resolve).then(() => resolve(undefined), reject)
      })
    } catch (error) {
      if (own && isCurrent(server, own) && own.reply().phase === 'waiting') failReply(sessionID, error)
      throw error
    }
    if (!holder || !isCurrent(server, holder) || !holdsOnlyANote(holder.reply()))
      return endWith({ sessionID, end: { type: 'noted' } })
    attach(holder, { reply: holder.reply(), joined: false })
    engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'none' }])
  }

  function openReply(sessionID: string): LiveReply {
    return openReplyFor({ type: 'opened', sessionID, text: request.text, at: clock.now() }, engine)
  }

  async function findReply(
    place: PreparedPlace,
    found: (live: LiveReply, start: Start) => void,
  ): ReturnType<typeof join> {
    const { unwanted, dropped, over } = run
    return await join({ server, place, messageID, text, post: () => post(place), unwanted, dropped, over, found })
  }

  async function post(place: PreparedPlace): Promise<void> {
    const answered = postPrompt({ server, request, place, messageID, over: run.over, isPointless })
    run.posted({ messageID, answered })
    await answered
  }

  function dropReply(sessionID: string): void {
    const at = clock.now()
    engine.apply([
      { type: 'abort-requested', sessionID, reason: 'requested', at },
      { type: 'settle', sessionID, at, by: 'none' },
    ])
  }

  function failReply(sessionID: string, error: unknown): void {
    engine.apply([{ type: 'error', sessionID, at: clock.now(), error: toFailure(error) }])
  }
}

/** Resolves when the reply settles, or when the signal aborts. */
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
