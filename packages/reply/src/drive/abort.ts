import type { Ask } from '../ask.ts'
import { toReadPermissions, toReadQuestions, toReadStatuses } from '../decode/rest.ts'
import { type OnError, ReplyError } from '../error.ts'
import { placeOf } from '../place.ts'
import type { Reply } from '../reply.ts'
import { type Clock, within } from './clock.ts'
import type { Engine } from './engine.ts'
import type { LiveReply } from './replies.ts'
import type { Rest } from './rest.ts'

export interface AbortOptions {
  readonly engine: Engine
  readonly rest: Rest
  readonly clock: Clock
  readonly onError: OnError
  readonly graceMs: number
}

const maxTries = 5

/** A server that does not answer: so long for the asks, so that the abort itself goes out, and so long for all. */
const asksMs = 5000
const wholeMs = 30_000

/**
 * Ends a reply on the server. Pending asks are rejected first, in the whole tree: an abort leaves permissions pending, a
 * late approval would still run the command, and some versions go on after it. Then abort, look, and again while busy.
 * Settles the reply whatever the server says; never rejects.
 */
export async function abortReply(
  options: AbortOptions,
  live: LiveReply,
  reason: 'requested' | 'timed-out' = 'requested',
): Promise<void> {
  const { engine, rest, clock, onError, graceMs } = options
  const { sessionID } = live
  if (isSettled()) return
  engine.apply([{ type: 'abort-requested', sessionID, reason, at: clock.now() }])
  await within(clock, wholeMs, tryAll())
  if (!isSettled()) engine.apply([{ type: 'settle', sessionID, at: clock.now(), by: 'grace' }])

  async function tryAll(): Promise<void> {
    for (let attempt = 0; attempt < maxTries && !isSettled(); attempt++) if (await tryOnce()) break
    await settledOrLater(live, clock, graceMs)
  }

  /** Whether it came to rest. */
  async function tryOnce(): Promise<boolean> {
    try {
      await within(clock, asksMs, rejectAsks(options, live.reply()))
      await rest.abort(placeOf(live.reply()))
      await settledOrLater(live, clock, graceMs)
      await within(clock, asksMs, rejectAsks(options, live.reply()))
      const statuses = toReadStatuses(await rest.status(live.reply().directory))
      return !sessionsOf(live.reply()).some((id) => statuses.has(id))
    } catch (error) {
      onError(
        error instanceof ReplyError
          ? error
          : new ReplyError('unreachable', `Session ${sessionID} could not be aborted.`, { cause: error }),
      )
      await settledOrLater(live, clock, graceMs)
      return false
    }
  }

  function isSettled(): boolean {
    return live.reply().phase === 'settled'
  }
}

/** Rejects what is pending in the reply's tree, as the server lists it: we may not have heard of the newest. */
export async function rejectAsks({ rest, clock, onError }: AbortOptions, reply: Reply): Promise<void> {
  const { directory } = reply
  const at = clock.now()
  const [questions, permissions] = await Promise.all([
    rest.questions(directory).catch(noList),
    rest.permissions(directory).catch(noList),
  ])
  const tree = new Set(sessionsOf(reply))
  const listed = [
    ...toReadPermissions(permissions, { at, directory }),
    ...toReadQuestions(questions, { at, directory }),
  ]
  const isListed = (ask: Ask): boolean => listed.some((other) => other.requestID === ask.requestID)
  // Where the server gives no list, what we know of has to do.
  const isBlind = questions === undefined || permissions === undefined
  const known = isBlind ? reply.asks.filter((ask) => ask.status === 'pending' && !isListed(ask)) : []
  const asks = [...listed, ...known].filter((ask) => tree.has(ask.sessionID))
  for (const ask of asks) {
    try {
      if (ask.type === 'question') await rest.rejectQuestion(ask)
      else await rest.permit(ask, 'reject')
    } catch (error) {
      // Rejecting one permission rejects the session's others.
      if (error instanceof ReplyError && error.type === 'gone') continue
      onError(
        error instanceof ReplyError
          ? error
          : new ReplyError('refused', `The ${ask.type} ${ask.requestID} could not be rejected.`, { cause: error }),
      )
    }
  }
}

function noList(): undefined {}

export function sessionsOf(reply: Reply): string[] {
  return [reply.sessionID, ...reply.children.flatMap((child) => sessionsOf(child.reply))]
}

function settledOrLater(live: LiveReply, clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (live.reply().phase === 'settled') return resolve()
    const done = (): void => {
      stop()
      unfollow()
      resolve()
    }
    const stop = clock.after(delayMs, done)
    const unfollow = live.follow((step) => {
      if (step.reply.phase === 'settled') done()
    })
  })
}
