import { hasSameContent, isEqualAsk } from '../../ask/equal.ts'
import type { Ask, PermissionAsk, PermissionReply } from '../../ask.ts'
import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { AskClosedEvent } from '../../event.ts'
import type { Reply } from '../../reply.ts'
import type { Source } from '../../source/port.ts'
import type { Drive } from '../drive.ts'
import type { AskToAnswer, Stopping } from '../stop/stopping.ts'
import { type Answer, checkAnswers } from './check-answers.ts'

/** See `Client.answer` and `Client.reject`. */
export interface Asks {
  answer(ask: Ask, answer: Answer): Promise<void>
  reject(ask: Ask, message?: string): Promise<void>
}

type Post = (signal: AbortSignal) => Promise<unknown>

/** The answer to a permission that is also sent to an equal one. */
interface SharedAnswer {
  readonly reply: PermissionReply
  readonly sent: Promise<void>
}

/** Far more than are ever pending at the same time. */
const maxSharedAnswers = 1000

/**
 * Creates the functions that send people's answers. Each validates its answer first, because the server accepts
 * anything, and closes the ask here once the server has accepted it, because the server's own event may be lost in a
 * gap.
 */
export function createAsks(
  { engine, clock }: Pick<Drive, 'engine'> & { readonly clock: Clock },
  source: Pick<Source, 'answer' | 'reject'>,
  stopping: Stopping,
): Asks {
  /** Ids of asks whose answer is being sent. Servers up to 1.14 would accept a second answer too. */
  const inFlight = new Set<string>()
  const sharedAnswers = new Map<string, SharedAnswer>()
  return { answer, reject }

  /**
   * Validates an answer and sends it, for a permission to all equal ones too. Closes them here. Rejects with `invalid`
   * for a bad answer or an ask that has changed, and with `already-resolved` if the ask can't be answered any more.
   */
  async function answer(ask: Ask, rawAnswer: Answer): Promise<void> {
    if (ask.type === 'question') {
      const check = (): void => requireSameContent(ask, requirePending(ask))
      check()
      const answers = checkAnswers(ask, rawAnswer)
      const post: Post = (signal) => source.answer(ask, answers, signal)
      return await sendAndClose(ask, { type: 'answered', answers }, check, post)
    }
    if (rawAnswer !== 'once' && rawAnswer !== 'always') {
      throw new ReplyError(
        'invalid',
        `A permission takes "once" or "always", not ${JSON.stringify(rawAnswer)}. Use reject() to reject it.`,
      )
    }
    await answerPermission(ask, rawAnswer, undefined)
  }

  /**
   * Rejects an ask on the server and closes it here, together with all equal permissions. `message` is only sent for
   * permissions. Rejects with `already-resolved` if the ask isn't pending.
   */
  async function reject(ask: Ask, message?: string): Promise<void> {
    if (ask.type === 'permission') return await answerPermission(ask, 'reject', message)
    requirePending(ask)
    const post: Post = (signal) => source.reject(ask, undefined, signal)
    await sendAndClose(ask, { type: 'rejected' }, () => requirePending(ask), post)
  }

  /**
   * Sends the reply to the permission, and then to all equal ones that are pending, because people see them as one
   * question. Closes them here. If an equal one already gave this permission the same reply, only waits for that.
   * Rejects with `already-resolved` if the permission isn't pending, and with `invalid` if it has changed and would be
   * allowed.
   */
  async function answerPermission(
    ask: PermissionAsk,
    reply: PermissionReply,
    message: string | undefined,
  ): Promise<void> {
    // An observer that answers every ask it receives also answers those that an equal one has settled.
    const settled = sharedAnswers.get(ask.requestID)
    if (settled?.reply === reply && !isOpen(ask)) return await settled.sent
    /** Returns the permission as it is now. Throws if it isn't pending, or would be allowed and has changed. */
    const requireAnswerable = (): Ask => {
      const known = requirePending(ask)
      if (reply !== 'reject') requireSameContent(ask, known)
      return known
    }
    const how = { type: 'permission', reply } as const
    // "Allow" applies to equal asks only if the caller knew what this one would run.
    const known = requireAnswerable()
    const meant = reply === 'reject' ? known : ask
    const equal = pendingEqualTo(meant).map(({ requestID }) => requestID)
    await sendAndClose(ask, how, requireAnswerable, (signal) => postToSource(ask, signal))
    // Looks them up again, because an ask that has changed in the meantime would run something else.
    const others = pendingEqualTo(meant).filter(({ requestID }) => equal.includes(requestID))
    const posts = others.map(async (other) => {
      const stillSame = (): void => requireEqual(other, meant)
      const post: Post = (signal) => postToSource(other, signal)
      // The first answer may have settled the others as well, as `always` and a rejection do.
      const sent = sendAndClose(other, how, stillSame, post).catch(rethrowUnlessResolved)
      sharedAnswers.set(other.requestID, { reply, sent })
      await sent
    })
    for (const oldest of [...sharedAnswers.keys()].slice(0, -maxSharedAnswers)) sharedAnswers.delete(oldest)
    await Promise.all(posts)

    /** Sends the reply to the source. A rejection carries the message. */
    function postToSource(permission: Ask, signal: AbortSignal): Promise<void> {
      if (reply === 'reject') return source.reject(permission, message, signal)
      return source.answer(permission, reply, signal)
    }
  }

  /** Whether the ask is pending and no answer to it is being sent. */
  function isOpen(ask: Ask): boolean {
    return currentStateOf(ask).status === 'pending' && !inFlight.has(ask.requestID)
  }

  /** Throws `already-resolved` unless the ask is still pending and would run the same as `meant`. */
  function requireEqual(other: Ask, meant: Ask): void {
    if (!isEqualAsk(requirePending(other), meant)) throw alreadyResolvedError(other)
  }

  /**
   * The tree's other pending permissions that would run the same, in their current state. Empty if no reply of the
   * session is known.
   */
  function pendingEqualTo(ask: Ask): readonly Ask[] {
    const isEqual = (other: Ask): boolean => other.requestID !== ask.requestID && isEqualAsk(ask, other)
    return (rootReplyOf(ask)?.asks ?? []).filter((other) => other.status === 'pending' && isEqual(other))
  }

  /**
   * Posts an answer, and then closes the ask here. Right before the post, calls `requireUnchanged`, which throws if the
   * ask has changed since the answer was given. Rejects with `already-resolved` if another answer to it is being sent,
   * its run is being stopped, or the server doesn't know it any more. Rejects with any other error of the check or the
   * post.
   */
  async function sendAndClose(
    ask: Ask,
    how: AskClosedEvent['how'],
    requireUnchanged: () => unknown,
    post: Post,
  ): Promise<void> {
    if (inFlight.has(ask.requestID)) throw alreadyResolvedError(ask)
    inFlight.add(ask.requestID)
    const permit = stopping.permit(toAskToAnswer(ask))
    try {
      await permit.findAncestors()
      // The run is being stopped, so the answer must not be sent any more.
      if (permit.signal.aborted) throw alreadyResolvedError(ask)
      requireUnchanged()
      await post(permit.signal)
      const { sessionID, requestID } = ask
      engine.apply([{ type: 'ask-closed', sessionID, requestID, how, at: clock.now() }])
    } catch (error) {
      const isGone = error instanceof ReplyError && error.type === 'gone'
      if (isGone || permit.signal.aborted) throw alreadyResolvedError(ask)
      throw error
    } finally {
      permit.release()
      inFlight.delete(ask.requestID)
    }
  }

  /**
   * Returns the ask as its reply has it now, or the passed copy if no reply has it. Throws `already-resolved` if that
   * isn't pending.
   */
  function requirePending(ask: Ask): Ask {
    const known = currentStateOf(ask)
    if (known.status !== 'pending') throw alreadyResolvedError(known)
    return known
  }

  /** Returns the ask as its reply has it now, or the passed copy if no reply has it. */
  function currentStateOf(ask: Ask): Ask {
    return rootReplyOf(ask)?.asks.find((other) => other.requestID === ask.requestID) ?? ask
  }

  /**
   * The open root reply that contains the ask, or else the newest reply of the session that its path begins with.
   * Undefined if there is neither. An ask that was taken from a sub-agent's reply does not name the root.
   */
  function rootReplyOf(ask: Ask): Reply | undefined {
    const has = (reply: Reply): boolean => reply.asks.some((other) => other.requestID === ask.requestID)
    return engine.openReplies().find(has) ?? engine.replies.newest(ask.path[0] ?? ask.sessionID)?.reply()
  }

  /** Names the ask and its known ancestors for a permit to answer. `unplaced` is set if no root reply is known. */
  function toAskToAnswer(ask: Ask): AskToAnswer {
    const root = rootReplyOf(ask)
    const sessionIDs = [...(root ? [root.sessionID] : []), ...ask.path, ask.sessionID]
    const top = { sessionID: ask.path[0] ?? ask.sessionID, directory: ask.directory }
    return { requestID: ask.requestID, sessionIDs, unplaced: root ? undefined : top }
  }
}

/**
 * Throws `invalid` if the ask has changed since the caller read it. A call that became known since then doesn't count,
 * because that may happen at any moment, even between the ask and an immediate answer.
 */
function requireSameContent(ask: Ask, known: Ask): void {
  const isUnseen = ask.type === 'permission' && known.type === 'permission' && !ask.call
  if (hasSameContent(ask, isUnseen ? { ...known, call: undefined } : known)) return
  throw new ReplyError(
    'invalid',
    `The ${ask.type} ${ask.requestID} has changed since it was read. Read it again from the reply (pendingAsks) or from askChanged, then answer.`,
  )
}

/** For `catch`: ignores `already-resolved`, and rethrows any other error. */
function rethrowUnlessResolved(error: unknown): void {
  if (!(error instanceof ReplyError) || error.type !== 'already-resolved') throw error
}

/**
 * Creates an `already-resolved` error. It names the ask's status, or what may have happened to an ask that is still
 * pending here.
 */
function alreadyResolvedError(ask: Ask): ReplyError {
  const how = ask.status === 'pending' ? 'answered, rejected or withdrawn' : ask.status
  return new ReplyError(
    'already-resolved',
    `The ${ask.type} ${ask.requestID} is already resolved (${how}), so it can't be answered.`,
  )
}
