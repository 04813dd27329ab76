import { pause } from '../../clock.ts'
import type { SnapshotEvent } from '../../event.ts'
import { emptyReply } from '../../reduce/shape.ts'
import type { Reply } from '../../reply.ts'
import { diff } from '../../track/diff.ts'
import { isTreeAtWork, replyOfPrompt } from '../connection/newest-run.ts'
import type { LiveReply } from '../replies.ts'
import { toReplyError } from '../session-reader.ts'
import { readBackTo } from './find-posted.ts'
import type { FollowedRun } from './followed-run.ts'
import { openReplyFor } from './open-reply.ts'
import { postAgain } from './post-again.ts'
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
/** How many looks may find the session busy. */
const maxLooks = 20

/**
 * Attaches the run to a reply that the prompt joined. If that reply completes without an answer to the prompt, nothing
 * of it is the prompt's: posts the prompt again under its id, and goes on with the reply of that. OpenCode 1.1.65 stores
 * a prompt that arrives in the last moments of a run, and runs nothing for it.
 */
export function attachOrAnswer(
  { server, run, posted, again }: FoundPromptRun,
  live: LiveReply,
  found: FoundReply,
): void {
  const { engine, clock } = server
  const { sessionID, directory } = posted
  const messageID = found.messageID ?? posted.messageID
  if (!found.joined || messageID === undefined || !server.info.current().repeatsPrompts) return run.attach(live, found)
  const stepsBefore = found.reply.messages.length
  // A prompt that is recognized by its text may be found after the end.
  if (mayLackAnswer(found.reply, messageID, stepsBefore)) return void answer(messageID)
  // Before the stream follows it, so that the stream doesn't end with it.
  const stop = live.follow(({ reply }) => {
    if (reply.phase !== 'settled') return
    stop()
    if (!mayLackAnswer(reply, messageID, stepsBefore)) return
    run.detach()
    void answer(messageID)
  })
  run.attach(live, found)

  /** Finds out whether the prompt was answered, and attaches the run to the reply that answers it. Never rejects. */
  async function answer(id: string): Promise<void> {
    for (let look = 0, unanswered = 0; look < maxLooks; look++) {
      await pause(clock, lookMs, run.over)
      if (run.over.aborted) return
      if (run.isStopped()) break
      // The server began a run after all.
      const named = engine.replies.withAnswerTo(sessionID, id)
      if (named) return attachTo(named, id)
      const read = await readSession(id)
      if (run.over.aborted) return
      if (!read) break
      const reply = replyOfPrompt(read, id)
      if (reply?.phase === 'settled' && hasAll(live.reply(), reply)) break
      if (reply?.phase === 'settled') return endWith(reply, id)
      engine.apply([read])
      const newest = engine.replies.newest(sessionID)
      // Another client's run answers all prompts before it.
      if (reply && newest && newest !== live) return attachTo(newest, id)
      if (!isTreeAtWork(read)) unanswered += 1
      if (unanswered === looks && newest === live) return openAndPostAgain(id)
    }
    if (!run.over.aborted) run.attach(live, { reply: live.reply(), joined: true })
  }

  /** Reads the session back to the prompt's run. Undefined if that fails, which is reported. */
  async function readSession(id: string): Promise<SnapshotEvent | undefined> {
    try {
      return await readBackTo(server, posted, id)
    } catch (error) {
      server.onError(toReplyError(error))
      return undefined
    }
  }

  /** Attaches the run to a later reply. */
  function attachTo(next: LiveReply, id: string): void {
    const reply = next.reply()
    run.attach(next, { reply, joined: isBegunByOther(reply, id) }, { observeAgain: true })
  }

  /** Ends the run with a reply that the stream missed. */
  function endWith(reply: Reply, id: string): void {
    const step = { reply, changes: diff(emptyReply(sessionID), reply) }
    run.endWithRun(step, isBegunByOther(reply, id), { observeAgain: true })
  }

  /** Opens a reply for the prompt, and posts the prompt again. The reply fails if nothing runs for it. */
  function openAndPostAgain(id: string): void {
    const at = clock.now()
    const { text } = posted
    const opened = openReplyFor({ type: 'opened', sessionID, text: text ?? '', promptID: id, at }, engine)
    run.attach(opened, { reply: opened.reply(), joined: false }, { observeAgain: true })
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

/** Whether a reply has all steps of another. */
function hasAll({ messages }: Reply, other: Reply): boolean {
  return other.messages.every(({ id }) => messages.some((message) => message.id === id))
}

/**
 * Whether a settled reply may have no answer to the prompt: it completed, no step names the prompt, and none began after
 * the prompt had joined.
 */
function mayLackAnswer({ outcome, messages }: Reply, messageID: string, stepsBefore: number): boolean {
  const isNamed = messages.some(({ parentID }) => parentID === messageID)
  return outcome === 'completed' && !isNamed && messages.length <= stepsBefore
}
