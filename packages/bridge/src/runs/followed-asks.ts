import { type Ask, type Observation, observerOf, pendingAsks, type Reply, type ReplyObserver } from '@reply/core'
import { backOffMs } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { WhereAsksGo } from './follow-target.ts'
import { createGate, passOn } from './show-run.ts'

/** Which requests of a run that was started elsewhere its chat shows: all, until the chat no longer is the one that follows the run. */
export interface FollowedAsks {
  /** Passes an observation on, with the requests that the chat shows. One with a new request waits for the decision about it. */
  pass(observation: Observation): void
  /** Decides again, if the chat gets no new requests. */
  lookAgain(): void
  /** Whether another chat shows the requests. */
  hasLeft(): boolean
  /** Whether a request that this chat shows as withdrawn waits in another chat. */
  isAskedElsewhere(requestID: string): boolean
}

/**
 * Creates the decision for one run. Before a new request is passed on to `observer`, asks `asksGo` where it is to be shown. If another
 * chat is to show it, the requests that this one shows are withdrawn. If no chat is to, they stay. This chat gets no new ones then, and
 * `onNotHere` is called for each. `known`: the requests that the chat shows already. Those of an earlier process are `announced`, too.
 * `observer` is told once that a request began, and that it ended only if it did: if the chat gives its requests up or takes them back,
 * that is a change. While `asksGo` rejects, this chat gets no new requests either, because it may have left the run: what it shows
 * stays, and the decision is made again after increasing pauses. The first error goes to `onError`.
 */
export function createFollowedAsks({
  known,
  announced,
  observer,
  asksGo,
  onNotHere,
  now,
  after,
  onError,
}: {
  readonly known: readonly Ask[]
  readonly announced: readonly Ask[]
  readonly observer: ReplyObserver
  readonly asksGo: (reply: Reply) => Promise<WhereAsksGo>
  readonly onNotHere: (reply: Reply) => void
  readonly now: () => number
  /** Calls `run` once so many ms have passed. Replaces an earlier call. */
  readonly after: (delayMs: number, run: () => void) => void
  readonly onError: (error: Error) => void
}): FollowedAsks {
  const looked = idsOf(known)
  /** The requests that the chat shows, or has shown. */
  const shown = new Set(looked)
  /** The requests whose beginning was passed on. */
  const begun = idsOf(announced)
  /** The requests that wait in another chat, and that this one shows as withdrawn. */
  let elsewhere: ReadonlySet<string> = new Set()
  let where: WhereAsksGo = 'here'
  /** How many decisions in a row failed. */
  let failures = 0
  /** When another chat began to show the requests. */
  let leftAt = 0
  let newest: Reply | undefined
  const gate = createGate(observerOf(show), onError)
  return {
    pass,
    lookAgain,
    hasLeft: () => where === 'elsewhere',
    isAskedElsewhere: (requestID) => elsewhere.has(requestID),
  }

  function pass(observation: Observation): void {
    const { reply } = observation
    newest = reply
    const fresh = reply.phase === 'settled' ? [] : [...idsOf(pendingAsks(reply))].filter((id) => !looked.has(id))
    for (const id of fresh) looked.add(id)
    if (fresh.length > 0) void gate.holdUntil(decide(reply))
    gate.pass(observation)
  }

  function lookAgain(): void {
    if (where === 'here' || newest === undefined || newest.phase === 'settled') return
    const hidden = pendingAsks(newest).filter(({ requestID }) => where === 'elsewhere' || !shown.has(requestID))
    void gate.holdUntil(decide(newest))
    for (const ask of hidden) gate.pass(askedObservation(ask, newest))
  }

  async function decide(reply: Reply): Promise<void> {
    try {
      const before = where
      where = await asksGo(reply)
      failures = 0
      if (where === 'here') return
      if (where === 'elsewhere' && before !== 'elsewhere') withdraw(reply)
      onNotHere(reply)
    } catch (error) {
      if (failures === 0) onError(toError(error))
      if (where === 'here') where = 'nowhere'
      after(backOffMs(failures++), lookAgain)
    }
  }

  /** Withdraws the requests that the chat shows. */
  function withdraw(reply: Reply): void {
    leftAt = now()
    const before = shownOf(reply)
    for (const { requestID } of pendingAsks(reply)) {
      const ask = before.asks.find((one) => one.requestID === requestID)
      if (ask) passOn(observer, { type: 'askChanged', ask, reply: before })
    }
  }

  /** Passes on what the chat shows. Requests that are shown elsewhere begin and end there. */
  function show(observation: Observation): void {
    const isShown =
      where === 'here' || !('ask' in observation) || (where === 'nowhere' && shown.has(observation.ask.requestID))
    if (isShown) passOn(observer, { ...asNews(observation), reply: shownOf(observation.reply) })
  }

  /** Returns the observation, or a change if it tells again that a request began. */
  function asNews(observation: Observation): Observation {
    if (observation.type !== 'permissionAsked' && observation.type !== 'questionAsked') return observation
    const { ask, reply } = observation
    if (begun.has(ask.requestID)) return { type: 'askChanged', ask, reply }
    begun.add(ask.requestID)
    return observation
  }

  /** Returns a reply with the requests that the chat shows. Those that another chat shows by now are withdrawn. */
  function shownOf(reply: Reply): Reply {
    if (where === 'here') {
      for (const id of idsOf(pendingAsks(reply))) shown.add(id)
      elsewhere = new Set()
      return reply
    }
    if (where === 'elsewhere') elsewhere = idsOf(pendingAsks(reply))
    const asks = reply.asks
      .filter(({ requestID }) => shown.has(requestID))
      .map(
        (ask): Ask =>
          where === 'elsewhere' && ask.status === 'pending' ? { ...ask, status: 'withdrawn', closedAt: leftAt } : ask,
      )
    const isBlocked = asks.some(({ status }) => status === 'pending')
    return { ...reply, asks, phase: reply.phase === 'blocked' && !isBlocked ? 'working' : reply.phase }
  }
}

/** Returns the ids of requests. */
function idsOf(asks: readonly Ask[]): Set<string> {
  return new Set(asks.map(({ requestID }) => requestID))
}

/** Returns the observation that a request began. */
export function askedObservation(ask: Ask, reply: Reply): Observation {
  return ask.type === 'permission' ? { type: 'permissionAsked', ask, reply } : { type: 'questionAsked', ask, reply }
}
