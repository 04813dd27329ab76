import { type Ask, type Observation, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { toError } from '../error.ts'
import { createGate, passOn } from './show-run.ts'

/** Which requests of a run that was started elsewhere its chat shows: all, until the chat no longer is the one that follows the run. */
export interface FollowedAsks {
  /** Passes an observation on, with the requests that the chat shows. One with a new request waits for the decision about it. */
  pass(observation: Observation): void
  /** Decides again, if the chat has left the run. */
  lookAgain(): void
}

/**
 * Creates the decision for one run. Before a new request is passed on to `observer`, asks `isStillHere` whether the chat still follows the
 * run. If not, the requests that it shows are withdrawn there, it gets no new ones, and `onLeft` is called for each new one. `known`: the
 * requests that the chat shows already. Errors go to `onError`, and the chat then shows what it did.
 */
export function createFollowedAsks({
  known,
  observer,
  isStillHere,
  onLeft,
  now,
  onError,
}: {
  readonly known: readonly Ask[]
  readonly observer: ReplyObserver
  readonly isStillHere: (reply: Reply) => Promise<boolean>
  readonly onLeft: (reply: Reply) => void
  readonly now: () => number
  readonly onError: (error: Error) => void
}): FollowedAsks {
  const looked = idsOf(known)
  /** The requests that the chat shows, or has shown. */
  const shown = new Set(looked)
  /** When the chat left the run. Undefined while it follows it. */
  let leftAt: number | undefined
  let newest: Reply | undefined
  const gate = createGate(observerOf(show), onError)
  return { pass, lookAgain }

  function pass(observation: Observation): void {
    const { reply } = observation
    newest = reply
    const fresh = reply.phase === 'settled' ? [] : [...idsOf(pendingAsks(reply))].filter((id) => !looked.has(id))
    for (const id of fresh) looked.add(id)
    if (fresh.length > 0) void gate.holdUntil(decide(reply))
    gate.pass(observation)
  }

  function lookAgain(): void {
    if (leftAt === undefined || newest === undefined || newest.phase === 'settled') return
    void gate.holdUntil(decide(newest))
    for (const ask of pendingAsks(newest)) gate.pass(askedAgain(ask, newest))
  }

  /** Decides whether the chat still follows the run. */
  async function decide(reply: Reply): Promise<void> {
    try {
      const isHere = await isStillHere(reply)
      if (!isHere && leftAt === undefined) withdraw(reply)
      if (isHere) leftAt = undefined
      else onLeft(reply)
    } catch (error) {
      onError(toError(error))
    }
  }

  /** Withdraws the requests that the chat shows. */
  function withdraw(reply: Reply): void {
    leftAt = now()
    const before = shownOf(reply)
    for (const { requestID } of pendingAsks(reply)) {
      const ask = before.asks.find((one) => one.requestID === requestID)
      if (ask) passOn(observer, { type: 'askWithdrawn', ask, reply: before })
    }
  }

  /** Passes on what the chat shows. Requests that are shown elsewhere begin and end there. */
  function show(observation: Observation): void {
    if (leftAt === undefined || !('ask' in observation))
      passOn(observer, { ...observation, reply: shownOf(observation.reply) })
  }

  /** Returns a reply with the requests that the chat shows. Those that it showed before it left the run are withdrawn. */
  function shownOf(reply: Reply): Reply {
    if (leftAt === undefined) {
      for (const id of idsOf(pendingAsks(reply))) shown.add(id)
      return reply
    }
    const closedAt = leftAt
    const asks = reply.asks
      .filter(({ requestID }) => shown.has(requestID))
      .map((ask): Ask => (ask.status === 'pending' ? { ...ask, status: 'withdrawn', closedAt } : ask))
    return { ...reply, asks, phase: reply.phase === 'blocked' ? 'working' : reply.phase }
  }
}

/** Returns the ids of requests. */
function idsOf(asks: readonly Ask[]): Set<string> {
  return new Set(asks.map(({ requestID }) => requestID))
}

/** Returns the observation of a request that the chat shows again. */
function askedAgain(ask: Ask, reply: Reply): Observation {
  return ask.type === 'permission' ? { type: 'permissionAsked', ask, reply } : { type: 'questionAsked', ask, reply }
}
