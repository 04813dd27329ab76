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

interface Sending {
  readonly how: AskClosedEvent['how']
  /** Throws if the ask is not what the answer was given to. Called last before the post, since the way there may take long. */
  readonly check: () => unknown
  readonly post: Post
}

/** What was said to an equal permission and goes to another one, too. */
interface Settled {
  readonly reply: PermissionReply
  readonly sent: Promise<void>
}

/** Far more than wait at once. */
const maxSettledBy = 1000

/**
 * Sends people's answers. Each is checked first: the server takes anything. What the server took is told at once; its own
 * event may fall into a gap, and says the same.
 */
export function createAsks({ engine, rest, clock, stopping }: AsksOptions): Asks {
  /** Being answered: a second answer would be taken too, by servers up to 1.14. */
  const inFlight = new Set<string>()
  const settledBy = new Map<string, Settled>()
  return { answer, reject }

  async function answer(ask: Ask, given: Answer): Promise<void> {
    if (ask.type === 'question') {
      const check = (): void => requireSame(ask, requirePending(ask))
      check()
      const answers = checkAnswers(ask, given)
      const post: Post = (signal) => rest.answerQuestion(ask, answers, signal)
      return await send(ask, { how: { type: 'answered', answers }, check, post })
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
    const post: Post = (signal) => rest.rejectQuestion(ask, signal)
    await send(ask, { how: { type: 'rejected' }, check: () => requirePending(ask), post })
  }

  /** Equal permissions are one question to a person: what is said to one holds for all that wait. */
  async function permit(ask: PermissionAsk, reply: PermissionReply, message: string | undefined): Promise<void> {
    // An observer that answers each ask as it is told also answers those that an equal one has settled.
    const settled = settledBy.get(ask.requestID)
    if (settled?.reply === reply && !isOpen(ask)) return await settled.sent
    const check = (): Ask => {
      const known = requirePending(ask)
      if (reply !== 'reject') requireSame(ask, known)
      return known
    }
    const how = { type: 'permission', reply } as const
    // A consent counts for others only if the caller knew what this one would run.
    const known = check()
    const meant = reply === 'reject' ? known : ask
    const equal = equalTo(meant).map(({ requestID }) => requestID)
    await send(ask, { how, check, post: (signal) => rest.permit(ask, reply, { message, signal }) })
    // Looked up again: one that has changed meanwhile would run something else.
    const others = equalTo(meant).filter(({ requestID }) => equal.includes(requestID))
    const posts = others.map(async (other) => {
      const stillSame = (): void => requireEqual(other, meant)
      const post: Post = (signal) => rest.permit(other, reply, { message, signal })
      // The first answer may have settled the others too: `always` and a refusal do.
      const sent = send(other, { how, check: stillSame, post }).catch(unlessResolved)
      settledBy.set(other.requestID, { reply, sent })
      await sent
    })
    for (const oldest of [...settledBy.keys()].slice(0, -maxSettledBy)) settledBy.delete(oldest)
    await Promise.all(posts)
  }

  /** It waits for an answer, and none is on its way. */
  function isOpen(ask: Ask): boolean {
    return knownAs(ask).status === 'pending' && !inFlight.has(ask.requestID)
  }

  /** One that has come to run something else is not answered with the others. */
  function requireEqual(other: Ask, meant: Ask): void {
    if (!isEqualAsk(requirePending(other), meant)) throw alreadyResolved(other)
  }

  /** The other permissions of the tree that wait and would run the same, as they are now. */
  function equalTo(ask: Ask): readonly Ask[] {
    const isEqual = (other: Ask): boolean => other.requestID !== ask.requestID && isEqualAsk(ask, other)
    return (rootOf(ask)?.asks ?? []).filter((other) => other.status === 'pending' && isEqual(other))
  }

  async function send(ask: Ask, { how, check, post }: Sending): Promise<void> {
    if (inFlight.has(ask.requestID)) throw alreadyResolved(ask)
    inFlight.add(ask.requestID)
    const leave = stopping.leave(addresseeOf(ask))
    try {
      await leave.placed()
      // Its run is being stopped: what isn't sent by now is not sent.
      if (leave.signal.aborted) throw alreadyResolved(ask)
      check()
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
    const known = knownAs(ask)
    if (known.status !== 'pending') throw alreadyResolved(known)
    return known
  }

  function knownAs(ask: Ask): Ask {
    return rootOf(ask)?.asks.find((other) => other.requestID === ask.requestID) ?? ask
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
