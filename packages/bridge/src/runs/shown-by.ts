import { type Clock, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import type { Delivery } from '@reply/sink'
import type { Delivered } from '../failed/deliveries.ts'
import type { ActiveRun, Shown } from './active-run.ts'
import { atMost } from './at-most.ts'

/** What a sink is not shown, and who hears of a sink that fails. */
export interface Showing {
  /** Asks are answered by the bridge itself, so the chat never sees them. */
  readonly asks: boolean
  /** Whether a reply is left out. */
  readonly isLeftOut: (reply: Reply) => boolean
  readonly onError: (error: Error) => void
}

/** Observers that pass on to the sinks what the chats should see. */
export function shownBy(shows: ActiveRun['shows'], showing: Showing): readonly ReplyObserver[] {
  return shows.map((shown) => observerFor(shown, showing))
}

function observerFor({ sink, after }: Shown, { asks, isLeftOut, onError }: Showing): ReplyObserver {
  const pass = (observation: Observation): void =>
    passOn(sink, asks ? { ...observation, reply: withoutAsks(observation.reply) } : observation)
  const show = after ? heldUntil(after, pass, onError) : pass
  // Decided as it comes: what is left out depends on how far the run is.
  return observerOf((observation) => {
    if (!isLeftOut(observation.reply)) show(observation)
  })
}

/** Passes on what came before `after` resolved all at once, in order. */
function heldUntil(
  after: Promise<void>,
  pass: (observation: Observation) => void,
  onError: Showing['onError'],
): (observation: Observation) => void {
  let held: Observation[] | undefined = []
  after
    .then(() => {
      const early = held ?? []
      held = undefined
      for (const observation of early) pass(observation)
    })
    .catch(onError)
  return (observation) => (held ? void held.push(observation) : pass(observation))
}

/** A sink that was stopped leaves the rest to the next process. */
export function isCutShort({ undelivered }: Delivery): boolean {
  return undelivered.some(({ type }) => type === 'stopped')
}

/** How long a mirror may take longer than the run's own place, in ms. After a restart it is not shown there again. */
const mirrorMs = 60_000

/** Resolves when the mirrors show the reply, or take too long, with what those left that do not. */
export async function shownInMirrors([, ...mirrors]: ActiveRun['shows'], clock: Clock): Promise<readonly Delivered[]> {
  const delivered: Delivered[] = []
  const all = mirrors.map(async ({ channel, chat, sink }) => {
    delivered.push({ place: { channel, chat }, delivery: await sink.settled() })
  })
  await atMost(Promise.all(all), mirrorMs, clock)
  return [...delivered]
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
