import { type Clock, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import type { Delivery, Sink } from '@reply/sink'
import type { ActiveRun } from './active-run.ts'
import { atMost } from './at-most.ts'

/** What a sink is not shown. */
export interface Hidden {
  /** Asks are answered by the bridge itself, so the chat never sees them. */
  readonly asks: boolean
  /** Whether a reply is left out. */
  readonly isLeftOut: (reply: Reply) => boolean
}

/** Observers that pass on to the sinks what the chats should see. */
export function shownBy(shows: ActiveRun['shows'], hidden: Hidden): readonly ReplyObserver[] {
  return shows.map(({ sink }) => observerFor(sink, hidden))
}

function observerFor(sink: Sink, { asks, isLeftOut }: Hidden): ReplyObserver {
  return observerOf((observation) => {
    const { reply } = observation
    if (!isLeftOut(reply)) passOn(sink, asks ? { ...observation, reply: withoutAsks(reply) } : observation)
  })
}

/** How long a mirror may take longer than the run's own place, in ms. The next prompt does not wait for it any longer. */
const mirrorMs = 10_000

/** Resolves with what the run's own place shows, when all places show the reply. */
export async function deliveredBy([own, ...mirrors]: ActiveRun['shows'], clock: Clock): Promise<Delivery> {
  const delivery = await own.sink.settled()
  await atMost(Promise.all(mirrors.map(async ({ sink }) => await sink.settled())), mirrorMs, clock)
  return delivery
}

/** Tells an observer of a change, if it has a method for it. */
export function passOn(observer: ReplyObserver, observation: Observation): void {
  const handle: unknown = Reflect.get(observer, observation.type)
  if (typeof handle === 'function') Reflect.apply(handle, undefined, [observation])
}

function withoutAsks(reply: Reply): Reply {
  return reply.asks.length === 0
    ? reply
    : { ...reply, asks: [], phase: reply.phase === 'blocked' ? 'working' : reply.phase }
}
