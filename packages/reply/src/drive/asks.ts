import { hasSameContent, isEqualAsk } from '../ask/equal.ts'
import type { Ask, PermissionAsk, PermissionReply } from '../ask.ts'
import { ReplyError } from '../error.ts'
import type { AskClosedEvent } from '../event.ts'
import type { Reply } from '../reply.ts'
import { type Answer, checkAnswers } from './answers.ts'
import type { Clock } from './clock.ts'
import type { Engine } from './engine.ts'
import type { Rest } from './rest.ts'
import type { Addressee, Stopping } from './stopping.ts'

export interface AsksOptions {
  readonly engine: Engine
  readonly rest: Pick<Rest, 'answerQuestion' | 'rejectQuestion' | 'permit'>
  readonly clock: Clock
  readonly stopping: Stopping
}

export interface Asks {
  answer(ask: Ask, answer: Answer): Promise<void>
  reject(ask: Ask, message?: string): Promise<void>
}

type Post = (signal: AbortSignal) => Promise<unknown>

/** Far more than wait at once. */
const maxSettledBy = 1000

/**
 * Sends people's answers. Each is checked first: the server takes anything. What the server took is told at once; its own
 * event may fall into a gap, and says the same.
 */
export function createAsks({ engine, rest, clock, stopping }: AsksOptions): Asks {
  /** Being answered: a second answer would be taken too, by servers up to 1.14. */
  const inFlight = new Set<string>()
  /** What was said to an equal permission and went to this one, too. */
  const settledBy = new Map<string, PermissionReply>()
  return { answer, reject }

  async function answer(ask: Ask, given: Answer): Promise<void> {
    if (ask.type === 'question') {
      requireSame(ask, requirePending(ask))
      const answers = checkAnswers(ask, given)
      const post: Post = (signal) => rest.answerQuestion(ask, answers, signal)
      return await send(ask, { type: 'answered', answers }, post)
    }
    if (given !== 'once' && given !== 'always') {
      throw new ReplyError(
        'invalid',
        `A permission takes "once" or "always", not ${JSON.stringify(given)}; use reject() to refuse it.`,
      )
    }
    await permit(ask, given, undefined)
  }

  async function reject(ask: Ask, message?: string): Promise<void> {
    if (ask.type === 'permission') return await permit(ask, 'reject', message)
    requirePending(ask)
    await send(ask, { type: 'rejected' }, (signal) => rest.rejectQuestion(ask, signal))
  }

  /** Equal permissions are one question to a person: what is said to one holds for all that wait. */
  async function permit(ask: PermissionAsk, reply: PermissionReply, message: string | undefined): Promise<void> {
    // An observer that answers each ask as it is told also answers those that an equal one has settled.
    if (settledBy.get(ask.requestID) === reply) return
    const known = requirePending(ask)
    if (reply !== 'reject') requireSame(ask, known)
    // A consent counts for others only if the caller knew what this one would run.
    const meant = reply === 'reject' ? known : ask
    const equal = equalTo(meant).map(({ requestID }) => requestID)
    await send(ask, { type: 'permission', reply }, (signal) => rest.permit(ask, reply, { message, signal }))
    // Looked up again: one that has changed meanwhile would run something else.
    const others = equalTo(meant).filter(({ requestID }) => equal.includes(requestID))
    for (const { requestID } of others) settledBy.set(requestID, reply)
    for (const oldest of [...settledBy.keys()].slice(0, -maxSettledBy)) settledBy.delete(oldest)
    const posts = others.map((other) =>
      send(other, { type: 'permission', reply }, (signal) => rest.permit(other, reply, { message, signal })),
    )
    // The first answer may have settled the others too: `always` and a refusal do.
    await Promise.all(posts.map((post) => post.catch(unlessResolved)))
  }

  /** The other permissions of the tree that wait and would run the same, as they are now. */
  function equalTo(ask: Ask): readonly Ask[] {
    const isEqual = (other: Ask): boolean => other.requestID !== ask.requestID && isEqualAsk(ask, other)
    return (rootOf(ask)?.asks ?? []).filter((other) => other.status === 'pending' && isEqual(other))
  }

  async function send(ask: Ask, how: AskClosedEvent['how'], post: Post): Promise<void> {
    if (inFlight.has(ask.requestID)) throw alreadyResolved(ask)
    inFlight.add(ask.requestID)
    const leave = stopping.leave(addresseeOf(ask))
    try {
      await leave.placed()
      // Its run is being stopped: what isn't sent by now is not sent.
      if (leave.signal.aborted) throw alreadyResolved(ask)
      await post(leave.signal)
      const { sessionID, requestID } = ask
      engine.apply([{ type: 'ask-closed', sessionID, requestID, how, at: clock.now() }])
    } catch (error) {
      const isGone = error instanceof ReplyError && error.type === 'gone'
      if (isGone || leave.signal.aborted) throw alreadyResolved(ask)
      throw error
    } finally {
      leave.release()
      inFlight.delete(ask.requestID)
    }
  }

  /** The ask as it is known by now. What the caller holds may be old. */
  function requirePending(ask: Ask): Ask {
    const known = rootOf(ask)?.asks.find((other) => other.requestID === ask.requestID) ?? ask
    if (known.status !== 'pending') throw alreadyResolved(known)
    return known
  }

  /** The reply that has it: an ask that was taken from a sub-agent's own reply does not name the root. */
  function rootOf(ask: Ask): Reply | undefined {
    const has = (reply: Reply): boolean => reply.asks.some((other) => other.requestID === ask.requestID)
    return engine.openReplies().find(has) ?? engine.replies.newest(ask.path[0] ?? ask.sessionID)?.reply()
  }

  function addresseeOf(ask: Ask): Addressee {
    const root = rootOf(ask)
    const sessionIDs = [...(root ? [root.sessionID] : []), ...ask.path, ask.sessionID]
    const top = { sessionID: ask.path[0] ?? ask.sessionID, directory: ask.directory }
    return { requestID: ask.requestID, sessionIDs, unplaced: root ? undefined : top }
  }
}

/**
 * What is allowed has to be what the caller read. One that answers an ask without a call allows it unseen: the call may
 * become known at any moment, also between the ask and an answer that is given at once.
 */
function requireSame(ask: Ask, known: Ask): void {
  const isUnseen = ask.type === 'permission' && known.type === 'permission' && !ask.call
  if (hasSameContent(ask, isUnseen ? { ...known, call: undefined } : known)) return
  const words = `The ${ask.type} ${ask.requestID} is not what it was when it was read: its content has changed`
  throw new ReplyError(
    'invalid',
    `${words}. Read it again from the reply (pendingAsks) or from askChanged, then answer.`,
  )
}

function unlessResolved(error: unknown): void {
  if (!(error instanceof ReplyError) || error.type !== 'already-resolved') throw error
}

function alreadyResolved(ask: Ask): ReplyError {
  const how = ask.status === 'pending' ? 'answered, rejected or withdrawn' : ask.status
  return new ReplyError(
    'already-resolved',
    `The ${ask.type} ${ask.requestID} is already resolved (${how}); there is nothing left to answer.`,
  )
}
