import { pause } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { SnapshotEvent } from '../../event.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { diff } from '../../track/diff.ts'
import { isTreeAtWork, replyOfPrompt } from '../connection/newest-run.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import { readBackTo } from './find-posted.ts'
import type { FollowedRun } from './followed-run.ts'
import { countFailure } from './join.ts'
import { openReplyFor } from './open-reply.ts'
import { hasStepBehind, mayRunAgain, postAgain } from './post-again.ts'
import type { PostedPrompt } from './posted-prompt.ts'
import type { FoundReply } from './recognize.ts'
import type { RunRequest, RunServer } from './run-server.ts'
import { isBegunByOther } from './whose-run.ts'

/** A prompt that was found in a reply. */
export interface FoundPromptRun {
  readonly server: RunServer
  readonly run: FollowedRun
  readonly posted: Omit<PostedPrompt, 'at'>
  /** Creates the request that posts the prompt again. Absent if it can't be posted again. */
  readonly again: (() => RunRequest | Promise<RunRequest>) | undefined
}

/** The delay before each look at a session whose run ended without an answer, in ms, and how many must agree. */
const lookMs = 500
const looks = 2
/** The longest delay, after failed reads and while the session is busy, in ms. */
const maxLookMs = 4000
/** How many reads in a row may fail while the connection is up. Four and a half minutes in all, if each fails at once. */
const maxFailures = 70

/**
 * By a reply that ended without answers to prompts: resolves when it is known what becomes of those that joined it so far, so
 * that prompts are posted again in their order.
 */
const lines = new WeakMap<LiveReply, Promise<void>>()

/**
 * Attaches the run to a reply that includes the prompt. If that reply ends without an answer to the prompt, nothing
 * of it is the prompt's: posts the prompt again under its id, and goes on with the reply of that. OpenCode 1.1.65 stores
 * a prompt that arrives in the last moments of a run, and runs nothing for it. One that arrives while the last step begins
 * is never run, even if it is posted again, and fails.
 */
export function attachOrAnswer(
  { server, run, posted, again }: FoundPromptRun,
  live: LiveReply,
  found: FoundReply,
): void {
  const { engine, clock } = server
  const { sessionID, directory } = posted
  const { namesNewestPrompt } = server.info.current()
  const messageID = found.messageID ?? posted.messageID
  if (messageID === undefined || !namesNewestPrompt) return run.attach(live, found)
  const earlierIDs = earlierPromptsOf(found.reply, messageID)
  // A prompt that is recognized by its text may be found after the end.
  if (lacksAnswer(found.reply, earlierIDs)) return answerInOrder(messageID)
  // Before the stream follows it, so that the stream doesn't end with it.
  const stop = live.follow(({ reply }) => {
    if (reply.phase !== 'settled') return
    stop()
    if (!lacksAnswer(reply, earlierIDs)) return
    run.detach()
    answerInOrder(messageID)
  })
  run.attach(live, found)

  /** Finds out what becomes of the prompt once that is known of those that joined the reply before. */
  function answerInOrder(id: string): void {
    const before = lines.get(live)
    const answering = before ? untilStopped(before).then(async () => await answer(id)) : answer(id)
    // The session may be removed at any time.
    const ended = answering.catch((error: unknown) => run.endAsFailed(sessionID, error))
    lines.set(live, before ? before.then(async () => await ended) : ended)
  }

  /** Resolves with the promise, or earlier once the prompt is no longer wanted. */
  function untilStopped(before: Promise<void>): Promise<void> {
    const signals = [run.over, run.mustEnd, run.dropped]
    return new Promise((resolve) => {
      const done = (): void => {
        for (const signal of signals) signal.removeEventListener('abort', done)
        resolve()
      }
      for (const signal of signals) signal.addEventListener('abort', done)
      if (run.isStopped() || run.over.aborted) done()
      else void before.then(done)
    })
  }

  /**
   * Finds out whether the prompt was answered, and attaches the run to the reply that answers it. Rejects with `gone` if
   * the session was removed.
   */
  async function answer(id: string): Promise<void> {
    let failures = 0
    for (let look = 0, unanswered = 0; ; look++) {
      const backOff = failures > 0 ? failures : Math.max(0, look - looks)
      await pause(clock, Math.min(maxLookMs, lookMs * 2 ** backOff), run.over)
      if (run.over.aborted) return
      if (run.isStopped()) return run.endAsAborted(sessionID)
      // The server began a run after all.
      const named = engine.replies.withAnswerTo(sessionID, id)
      if (named) return attachTo(named, id)
      let read: SnapshotEvent
      try {
        read = await readBackTo(server, posted, id)
        failures = 0
      } catch (error) {
        server.onError(toReplyError(error))
        failures = countFailure(server, failures)
        if (failures > maxFailures) return run.endAsFailed(sessionID, error)
        continue
      }
      if (run.over.aborted) return
      const reply = replyOfPrompt(read, id, namesNewestPrompt)
      if (reply?.phase === 'settled' && hasAll(live.reply(), reply)) return attachTo(live, id)
      if (reply?.phase === 'settled') return endWith(reply, id)
      engine.apply([read])
      const newest = engine.replies.newest(sessionID)
      // Another client's run answers all prompts before it.
      if (reply && newest && newest !== live) return attachTo(newest, id)
      const isIdle = !isTreeAtWork(read) && !engine.isRunOpen(sessionID)
      // Another run follows, whose steps don't name it.
      if (!reply && !isIdle && hasStepBehind(read, id)) return run.endAsFailed(sessionID, neverRunError())
      unanswered = isIdle ? unanswered + 1 : 0
      if (unanswered < looks) continue
      // Stopped elsewhere before its first step, together with the prompts that began it.
      if (!hasStepBehind(read, live.reply().promptIDs[0] ?? id)) return run.endAsAborted(sessionID)
      if (!mayRunAgain(server.info.current(), read, id)) return run.endAsFailed(sessionID, neverRunError())
      return openAndPostAgain(id)
    }
  }

  /** Attaches the run to a later reply. */
  function attachTo(next: LiveReply, id: string): void {
    const reply = next.reply()
    run.attach(next, { reply, joined: isBegunByOther(reply, id) })
  }

  /** Ends the run with a reply that the stream missed. */
  function endWith(reply: Reply, id: string): void {
    run.endWithRun({ reply, changes: diff(emptyReply(sessionID), reply) }, isBegunByOther(reply, id))
  }

  /** Opens a reply for the prompt, and posts the prompt again. The reply fails if nothing runs for it. */
  function openAndPostAgain(id: string): void {
    const at = clock.now()
    const { text } = posted
    const opened = openReplyFor({ type: 'opened', sessionID, text: text ?? '', promptID: id, at }, engine)
    run.attach(opened, { reply: opened.reply(), joined: false })
    server.idleCheck.expectRun(sessionID)
    if (!again) return
    const isPointless = (): boolean => run.isStopped() || run.over.aborted
    const prompt = { sessionID, directory, messageID: id, after: posted.after, text, at }
    const options = { server, posted: prompt, request: again, over: run.over, isPointless }
    postAgain(options).then(
      () => server.idleCheck.restartWait(sessionID),
      (error: unknown) => server.onError(toReplyError(error)),
    )
  }
}

/** The error for a prompt that the server stored, and runs nothing for. */
function neverRunError(): ReplyError {
  return new ReplyError(
    'refused',
    "The server stored the prompt while another client's run began or ended, and runs nothing for it. Send it again.",
  )
}

/** Whether a reply has all steps of another. */
function hasAll({ messages }: Reply, other: Reply): boolean {
  return other.messages.every(({ id }) => messages.some((message) => message.id === id))
}

/**
 * The messages that steps name if their model didn't get this prompt: the reply's prompts before it, and what steps named that
 * began before it was found, such as a message that the server inserted.
 */
function earlierPromptsOf({ promptIDs, messages }: Reply, messageID: string): ReadonlySet<string> {
  const inserted = messages.flatMap(({ parentID }) =>
    parentID === undefined || promptIDs.includes(parentID) ? [] : [parentID],
  )
  const at = promptIDs.indexOf(messageID)
  return new Set([...inserted.filter((id) => id !== messageID), ...promptIDs.slice(0, Math.max(0, at))])
}

/**
 * Whether a reply has completed, or stopped early because a person rejected an ask of it, and all its steps name earlier
 * prompts.
 */
function lacksAnswer({ outcome, messages }: Reply, earlierIDs: ReadonlySet<string>): boolean {
  if (outcome !== 'completed' && outcome !== 'stopped') return false
  return messages.every(({ parentID }) => parentID !== undefined && earlierIDs.has(parentID))
}
