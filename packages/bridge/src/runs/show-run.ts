import { type Ask, type Clock, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import type { Actor, Delivery, Sink } from '@reply/sink'
import type { Delivered } from '../failed/failed-deliveries.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { Route } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import { namesOf, type QueuedPrompt } from '../state/queued-prompt.ts'
import { plain, texts } from '../texts.ts'
import { atMost } from '../timers.ts'
import type { ActiveRun, Shown } from './active-runs.ts'
import type { BridgeContext } from './context.ts'

type SinkContext = Pick<BridgeContext, 'channels' | 'people' | 'config' | 'mirrors'>

/**
 * The sinks that show an execution: that of its own place first, then those of the place's mirrors, which wait for
 * the words that it answers, but not long: see `postToMirrors`. Without `told`, as after a restart, they wait for nothing.
 */
export function sinksFor(
  context: SinkContext,
  execution: Execution,
  route: Route,
  told?: MirrorPosts,
): readonly [Shown, ...Shown[]] {
  const { prompt } = execution
  const others = context.mirrors.others(prompt).filter(({ channel }) => context.channels.has(channel))
  const shownAt = ({ channel, chat }: Pick<Shown, 'channel' | 'chat'>): Shown => {
    const sink = sinkFor(context, { execution, route, channel, chat })
    return { channel, chat, sink, after: told?.get(placeKey({ channel, chat })) }
  }
  return [shownAt(prompt), ...others.map(shownAt)]
}

interface Showing extends Pick<Shown, 'channel' | 'chat'> {
  readonly execution: Execution
  readonly route: Route
}

function sinkFor(
  { channels, people, config }: SinkContext,
  { execution: { id, prompt }, route: { isVerbose }, channel, chat }: Showing,
): Sink {
  const { enabled, toolThrottleMs, heartbeatMs } = config.router.progress
  const verbosity = enabled ? 'verbose' : 'quiet'
  const { policy, texts: ownTexts } = channels.sinkFields(channel)
  return channels.of(channel).sinkFor(
    { chat, ...(chat === prompt.chat && { replyTo: prompt.messageRef }) },
    {
      policy: { toolThrottleMs, heartbeatMs, ...policy, ...((isVerbose || !enabled) && { verbosity }) },
      texts: ownTexts,
      label: id,
      keepsText: isClosing,
      mentions: (type) => people.answerers(type, channel, prompt),
      mayAnswer,
    },
  )

  function mayAnswer(actor: Actor, ask: Ask): boolean {
    const person = people.find(channel, actor)
    if (person?.may.has('approve')) return true
    return ask.type === 'question' && person?.may.has('prompt') === true && people.isAuthor(prompt, { channel, actor })
  }
}

/** By the keys of places: resolves when the place shows a person's words, or takes too long. Never rejects. */
export type MirrorPosts = ReadonlyMap<string, Promise<void>>

/** How long the reply in a mirror waits for the words that it answers, in ms. */
const tellMs = 5000

/** Posts what a person wrote in the chats that show the same session. What can't be posted is reported. */
export function postToMirrors(
  { mirrors, channels, clock }: Pick<BridgeContext, 'mirrors' | 'channels' | 'clock'>,
  prompt: QueuedPrompt,
  { server, sessionID }: Route,
): MirrorPosts {
  const lines = [prompt.text, ...prompt.files.map(({ name }) => `📎 ${name}`)].join('\n').trim()
  const text = texts.mirrored(plain(namesOf(prompt)), plain(lines))
  const session = sessionID === undefined ? 'next' : { server, sessionID }
  const tell = (place: ChatPlace): Promise<void> =>
    atMost(channels.notify(place, { text, silent: true }, session), tellMs, clock)
  const others = mirrors.others(prompt).filter(({ channel }) => channels.has(channel))
  return new Map(others.map((place) => [placeKey(place), tell(place)]))
}

/** What a sink is not shown, and who hears of a sink that fails. */
interface ShowOptions {
  /** Asks are answered by the bridge itself, so the chat never sees them. */
  readonly asks: boolean
  /** Whether a reply is left out. */
  readonly isLeftOut: (reply: Reply) => boolean
  readonly onError: (error: Error) => void
}

/** Observers that pass on to the sinks what the chats should see. */
export function shownBy(shows: ActiveRun['shows'], showing: ShowOptions): readonly ReplyObserver[] {
  return shows.map((shown) => observerFor(shown, showing))
}

function observerFor({ sink, after }: Shown, { asks, isLeftOut, onError }: ShowOptions): ReplyObserver {
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
  onError: ShowOptions['onError'],
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

/** The error name of a reply that only closes the messages of a run, with none of its texts. */
export const notFollowed = 'NotFollowed'

function isClosing({ error }: Reply): boolean {
  return error?.name === notFollowed
}
