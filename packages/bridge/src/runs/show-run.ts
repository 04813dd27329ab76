import { type Ask, type Clock, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import type { Actor, Delivery, Sink } from '@reply/sink'
import type { Delivered } from '../failed/failed-deliveries.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { Route } from '../state/decode.ts'
import type { Execution } from '../state/execution.ts'
import { authorNames, type QueuedPrompt } from '../state/queued-prompt.ts'
import { plain, texts } from '../texts.ts'
import { atMost } from '../timers.ts'
import type { ActiveRun, ChatSink } from './active-runs.ts'
import type { BridgeServices } from './services.ts'

type SinkContext = Pick<BridgeServices, 'channels' | 'people' | 'config' | 'mirrors'>

/**
 * Creates the sinks that show an execution: first that of its own place, then those of the place's mirrors. A mirror's sink
 * waits for the post of the prompt there, see `postToMirrors`. Without `mirrorPosts`, for example after a restart, it does
 * not wait.
 */
export function sinksFor(
  context: SinkContext,
  execution: Execution,
  route: Route,
  mirrorPosts?: MirrorPosts,
): readonly [ChatSink, ...ChatSink[]] {
  const { prompt } = execution
  const others = context.mirrors.others(prompt).filter(({ channel }) => context.channels.has(channel))
  const shownAt = ({ channel, chat }: Pick<ChatSink, 'channel' | 'chat'>): ChatSink => {
    const sink = sinkFor(context, { execution, route, channel, chat })
    return { channel, chat, sink, after: mirrorPosts?.get(placeKey({ channel, chat })) }
  }
  return [shownAt(prompt), ...others.map(shownAt)]
}

interface Showing extends Pick<ChatSink, 'channel' | 'chat'> {
  readonly execution: Execution
  readonly route: Route
}

/** Creates the sink of one place, with the people who may answer its asks. */
function sinkFor(
  { channels, people, config }: SinkContext,
  { execution: { id, prompt }, route: { isVerbose }, channel, chat }: Showing,
): Sink {
  const { enabled, toolThrottleMs, heartbeatMs } = config.router.progress
  const verbosity = enabled ? 'verbose' : 'quiet'
  const { policy, texts: ownTexts } = channels.sinkFields(channel)
  return channels.connectionOf(channel).sinkFor(
    { chat, ...(chat === prompt.chat && { replyTo: prompt.messageRef }) },
    {
      policy: { toolThrottleMs, heartbeatMs, ...policy, ...((isVerbose || !enabled) && { verbosity }) },
      texts: ownTexts,
      label: id,
      keepsText: isClosingReply,
      mentions: (type) => people.expectedAnswerers(type, channel, prompt),
      mayAnswer,
    },
  )

  /** Whether an actor may answer an ask: with `approve` any, and with `prompt` the questions of their own prompts. */
  function mayAnswer(actor: Actor, ask: Ask): boolean {
    const person = people.personOf(channel, actor)
    if (person?.may.has('approve')) return true
    return ask.type === 'question' && person?.may.has('prompt') === true && people.isAuthor(prompt, { channel, actor })
  }
}

/** By the key of a place: resolves when the place shows the prompt, or after a limited time. Never rejects. */
export type MirrorPosts = ReadonlyMap<string, Promise<void>>

/** How long the reply in a mirror waits for the post of its prompt, in ms. */
const promptPostMs = 5000

/**
 * Posts a prompt in the mirrors of its place. Returns for each a promise that resolves when it is posted, or after
 * `promptPostMs`. Failures are reported.
 */
export function postToMirrors(
  { mirrors, channels, clock }: Pick<BridgeServices, 'mirrors' | 'channels' | 'clock'>,
  prompt: QueuedPrompt,
  { server, sessionID }: Route,
): MirrorPosts {
  const lines = [prompt.text, ...prompt.files.map(({ name }) => `📎 ${name}`)].join('\n').trim()
  const text = texts.mirrored(plain(authorNames(prompt)), plain(lines))
  const session = sessionID === undefined ? 'next' : { server, sessionID }
  const post = (place: ChatPlace): Promise<void> =>
    atMost(channels.tryPost(place, { text, silent: true }, session), promptPostMs, clock)
  const others = mirrors.others(prompt).filter(({ channel }) => channels.has(channel))
  return new Map(others.map((place) => [placeKey(place), post(place)]))
}

/** What to hide from the sinks. */
interface ShowOptions {
  /** Hides asks, because the bridge rejects them itself. */
  readonly hidesAsks: boolean
  /** Whether to hide a reply. */
  readonly isHidden: (reply: Reply) => boolean
  readonly onError: (error: Error) => void
}

/** Returns an observer for each sink, which forwards what its chat should see. */
export function observersOf(sinks: ActiveRun['sinks'], options: ShowOptions): readonly ReplyObserver[] {
  return sinks.map((sink) => observerForSink(sink, options))
}

/** Returns an observer that forwards to a sink what is not hidden, after the post of the prompt in a mirror. */
function observerForSink({ sink, after }: ChatSink, { hidesAsks, isHidden, onError }: ShowOptions): ReplyObserver {
  const forward = (observation: Observation): void =>
    passOn(sink, hidesAsks ? { ...observation, reply: withoutAsks(observation.reply) } : observation)
  const show = after ? bufferUntil(after, forward, onError) : forward
  // Decided now, not after the wait: `isHidden` depends on the phase of the run.
  return observerOf((observation) => {
    if (!isHidden(observation.reply)) show(observation)
  })
}

/** Returns a function that buffers observations until `after` resolves, and forwards them in order from then on. */
function bufferUntil(
  after: Promise<void>,
  forward: (observation: Observation) => void,
  onError: ShowOptions['onError'],
): (observation: Observation) => void {
  let buffer: Observation[] | undefined = []
  after
    .then(() => {
      const early = buffer ?? []
      buffer = undefined
      for (const observation of early) forward(observation)
    })
    .catch(onError)
  return (observation) => (buffer ? void buffer.push(observation) : forward(observation))
}

/** Whether the sink was stopped before it showed everything. The next process then shows the rest. */
export function isCutShort({ undelivered }: Delivery): boolean {
  return undelivered.some(({ type }) => type === 'stopped')
}

/** How much longer a mirror may take than the run's own place, in ms. After a restart, mirrors don't show the rest. */
const mirrorMs = 60_000

/** Waits until the mirrors show the reply, or too much time has passed. Resolves with the results so far. */
export async function shownInMirrors([, ...mirrors]: ActiveRun['sinks'], clock: Clock): Promise<readonly Delivered[]> {
  const delivered: Delivered[] = []
  const all = mirrors.map(async ({ channel, chat, sink }) => {
    delivered.push({ place: { channel, chat }, delivery: await sink.settled() })
  })
  await atMost(Promise.all(all), mirrorMs, clock)
  return [...delivered]
}

/** Calls the method of an observer for an observation, if it has one. */
export function passOn(observer: ReplyObserver, observation: Observation): void {
  const handle: unknown = Reflect.get(observer, observation.type)
  if (typeof handle === 'function') Reflect.apply(handle, undefined, [observation])
}

/** Returns the reply without its asks. If it waits for them, it then counts as working. */
function withoutAsks(reply: Reply): Reply {
  return reply.asks.length === 0
    ? reply
    : { ...reply, asks: [], phase: reply.phase === 'blocked' ? 'working' : reply.phase }
}

/** The error name of a reply that only closes the messages of a run and has no text. */
export const notFollowed = 'NotFollowed'

function isClosingReply({ error }: Reply): boolean {
  return error?.name === notFollowed
}
