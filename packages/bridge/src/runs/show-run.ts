import { type Ask, type Clock, type Observation, observerOf, type Reply, type ReplyObserver } from '@reply/core'
import type { Actor, Delivery, Sink, SinkError } from '@reply/sink'
import { type BridgeSinkOptions, quotable } from '@reply/sink/channel'
import { clip } from '@reply/sink/internal'
import { toError } from '../error.ts'
import type { Delivered } from '../failed/failed-deliveries.ts'
import type { People } from '../people/people.ts'
import { type ChatPlace, placeKey } from '../place.ts'
import type { Route } from '../state/decode.ts'
import { authorsOf, type Execution, isOver, isQuietRun } from '../state/execution.ts'
import { authorNames, type QueuedPrompt } from '../state/queued-prompt.ts'
import { plain, texts } from '../texts.ts'
import { waitAtMost } from '../timers.ts'
import type { ActiveRun, ChatSink } from './active-runs.ts'
import type { BridgeServices } from './services.ts'

/** An ask that a platform refused to post. */
export type RefusedAsk = NonNullable<SinkError['refusedAsk']>

/** Callbacks of the sinks of a run that was started elsewhere. */
export interface FollowedSinks {
  /** Called for each ask that a place refuses. */
  readonly onRefused: (ask: RefusedAsk, place: ChatPlace) => void
  /** Whether an ask that is withdrawn in this chat waits in another one. */
  readonly isAskedElsewhere: (requestID: string) => boolean
}

/** The services that a sink needs. */
type SinkServices = Pick<BridgeServices, 'channels' | 'people' | 'config' | 'mirrors' | 'fileReaders' | 'pages'>

/**
 * Creates the sinks that show an execution: first that of its own place, then those of the place's mirrors whose channel
 * exists. A sink waits for the post of the prompt in its place, see `postToMirrors` and `postQuote`. Without `mirrorPosts`, for
 * example after a restart, it does not wait. `newest` returns the execution as it is later. Throws if the own place's channel does
 * not exist.
 */
export function sinksFor(
  services: SinkServices,
  execution: Execution,
  route: Route,
  mirrorPosts?: MirrorPosts,
  newest: () => Execution = () => execution,
  follow?: FollowedSinks,
): readonly [ChatSink, ...ChatSink[]] {
  const { prompt } = execution
  const others = services.mirrors.others(prompt).filter(({ channel }) => services.channels.has(channel))
  const shownAt = ({ channel, chat }: ChatPlace): ChatSink => {
    const sink = sinkFor(services, newest, route, { channel, chat }, follow)
    return { channel, chat, sink, after: mirrorPosts?.get(placeKey({ channel, chat })) }
  }
  return [shownAt(prompt), ...others.map(shownAt)]
}

/**
 * Creates the sink of one place, with the people who may answer its asks. It is quiet if progress is off, otherwise verbose if
 * the route is. Other settings of the channel in the config win over those of the router. In its own place, the sink replies
 * to the message with the prompt.
 */
function sinkFor(
  { channels, people, config, fileReaders, pages }: SinkServices,
  newest: () => Execution,
  { isVerbose }: Route,
  { channel, chat }: ChatPlace,
  follow: FollowedSinks | undefined,
): Sink {
  const { id, server, prompt, followed, origin, asks } = newest()
  const { enabled, toolThrottleMs, heartbeatMs } = config.router.progress
  const verbosity = enabled ? 'verbose' : 'quiet'
  const { policy, texts: ownTexts } = channels.sinkFields(channel)
  const shown = chat === prompt.chat && !followed ? { replyTo: prompt.messageRef, author: prompt.actor } : {}
  const options: BridgeSinkOptions = {
    policy: {
      abortNotice: 'below',
      toolThrottleMs,
      heartbeatMs,
      ...policy,
      ...((isVerbose || !enabled) && { verbosity }),
    },
    texts: {
      notForYou: texts.mayNotAnswer,
      // An earlier process left it while requests waited. How one ended that is missing now, the server does not tell.
      ...(asks && !isOver(newest()) && { withdrawn: (_, by) => texts.closedElsewhere(by) }),
      ...ownTexts,
    },
    label: id,
    page: pages()?.urlFor(newest(), { channel, chat }),
    diff: { data: diffButton, command: '/diff' },
    keepsText: isClosingReply,
    readFile: fileReaders(server),
    joinedPrompt: (promptID, joined) => {
      const { quoted } = newest()
      return quoted?.promptIDs.includes(promptID) ? quoteOf(quoted.origin, joined) : undefined
    },
    mentions: (type) => people.expectedAnswerers(type, { channel, chat }, prompt),
    mayAnswer: (actor, ask) => mayAnswerAsk(people, prompt, { channel, chat }, actor, ask),
    onError: ({ refusedAsk }) => {
      if (refusedAsk) follow?.onRefused(refusedAsk, { channel, chat })
    },
  }
  return channels.sinkFor({ channel, chat, ...shown }, followed ? { ...options, ...followOptions() } : options)

  /**
   * Returns the options for a run that was started elsewhere. It notifies no one and mentions no one, because a person is there,
   * until a prompt of the chat joins it. Its questions, too, are for people with `approve` alone.
   */
  function followOptions(): Partial<BridgeSinkOptions> {
    return {
      texts: {
        ...options.texts,
        withdrawn: ({ requestID }, by) =>
          follow?.isAskedElsewhere(requestID) ? texts.askedElsewhere : texts.closedElsewhere(by),
        alreadyResolved: texts.noAnswerNeeded,
        ...ownTexts,
      },
      label: origin,
      origin,
      shows: () => (newest().followed === 'asks' ? 'asks' : 'all'),
      isQuiet: () => isQuietRun(newest()),
      mentions: () =>
        isQuietRun(newest()) ? [] : people.expectedAnswerers('permission', { channel, chat }, authorsOf(newest())),
    }
  }
}

/**
 * Whether an actor may answer an ask of the run of a prompt: with `approve` any, and with `prompt` the questions of prompts that they
 * wrote or edited.
 */
export function mayAnswerAsk(
  people: Pick<People, 'personOf' | 'isAuthor'>,
  prompt: QueuedPrompt,
  { channel }: ChatPlace,
  actor: Actor,
  ask: Pick<Ask, 'type'>,
): boolean {
  const person = people.personOf(channel, actor)
  if (person?.may.has('approve')) return true
  return ask.type === 'question' && person?.may.has('prompt') === true && people.isAuthor(prompt, { channel, actor })
}

/**
 * The data of the button that sends the diff of the session that its message belongs to. It names no session, so a press can't get
 * the diff of another chat's session by it.
 */
export const diffButton = 'b/diff'

/** By the key of a place: resolves when the place shows the prompt, or after a limited time. Never rejects. */
export type MirrorPosts = ReadonlyMap<string, Promise<void>>

/** How long the reply in a mirror waits for the post of its prompt, in ms. */
const promptPostMs = 5000

/**
 * Posts a prompt in the mirrors of its place whose channel exists, so that people there see what the reply answers: its author,
 * its text and the names of its files. Returns for each a promise that resolves when it is posted, or after `promptPostMs`.
 * Failures go to the bridge's `onError`.
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
    waitAtMost(channels.tryPost(place, { text, silent: true }, session), promptPostMs, clock)
  const others = mirrors.others(prompt).filter(({ channel }) => channels.has(channel))
  return new Map(others.map((place) => [placeKey(place), post(place)]))
}

/** How much of a prompt that was written elsewhere is quoted, in UTF-16 units. */
const quoteLength = 2000

/**
 * Posts what was asked elsewhere as a quotation, silently and without secrets, in the place of the run and its mirrors. Returns for
 * each a promise as `postToMirrors` does.
 */
export function postQuote(
  { mirrors, channels, clock }: Pick<BridgeServices, 'mirrors' | 'channels' | 'clock'>,
  { prompt: { channel, chat }, server, origin = '' }: Execution,
  { sessionID, prompt }: Reply,
): MirrorPosts | undefined {
  // Without parts, it is the text of this process that another client's prompt overtook.
  const text = prompt?.parts.length ? quoteOf(origin, prompt) : undefined
  if (text === undefined) return undefined
  const post = (place: ChatPlace): Promise<void> =>
    waitAtMost(channels.tryPost(place, { text, silent: true }, { server, sessionID }), promptPostMs, clock)
  const places = [{ channel, chat }, ...mirrors.others({ channel, chat })].filter((one) => channels.has(one.channel))
  return new Map(places.map((place) => [placeKey(place), post(place)]))
}

/** Returns a prompt that was written elsewhere as a quotation, shortened and without secrets. Undefined if it has no text and no files. */
function quoteOf(origin: string, { text, files }: NonNullable<Reply['prompt']>): string | undefined {
  const lines = [text, ...files.map((name) => `📎 ${name}`)].join('\n').trim()
  return lines === '' ? undefined : texts.typedElsewhere(origin, quotable(clip(lines, quoteLength)))
}

/**
 * Returns an observer for each sink, which forwards what its chat should see: no reply that `isHidden` accepts, and no asks if
 * `hidesAsks`, because the bridge then rejects them itself. `isHidden` is asked for each observation as it arrives.
 */
export function observersOf(
  sinks: ActiveRun['sinks'],
  onError: (error: Error) => void,
  hidesAsks: boolean,
  isHidden: (reply: Reply) => boolean = () => false,
): readonly ReplyObserver[] {
  return sinks.map((sink) => observerForSink(sink, onError, hidesAsks, isHidden))
}

/** Returns an observer that forwards to a sink what is not hidden. A mirror's sink gets it after the post of the prompt. */
function observerForSink(
  { sink, after }: ChatSink,
  onError: (error: Error) => void,
  hidesAsks: boolean,
  isHidden: (reply: Reply) => boolean,
): ReplyObserver {
  const gate = createGate(sink, onError)
  if (after) void gate.holdUntil(after)
  // Decided now, not after the wait: `isHidden` depends on the phase of the run.
  return observerOf((observation) => {
    if (isHidden(observation.reply)) return
    gate.pass(hidesAsks ? { ...observation, reply: withoutAsks(observation.reply) } : observation)
  })
}

/** Forwards observations, or keeps them while something has to be known or in the chat first. */
export interface Gate {
  /** Forwards an observation, at once or when the gate opens. */
  pass(observation: Observation): void
  /** Keeps observations until this has resolved. Resolves when they are forwarded, unless something else holds them. */
  holdUntil(until: Promise<void>): Promise<void>
}

/** Creates an open gate before an observer. Errors while it forwards what it kept go to `onError`. */
export function createGate(observer: ReplyObserver, onError: (error: Error) => void): Gate {
  const kept: Observation[] = []
  let holding = 0
  return { pass, holdUntil }

  function pass(observation: Observation): void {
    if (holding > 0) kept.push(observation)
    else passOn(observer, observation)
  }

  function holdUntil(until: Promise<void>): Promise<void> {
    holding += 1
    const open = (): void => {
      holding -= 1
      while (holding === 0 && kept.length > 0) forwardKept()
    }
    return until.then(open, (error: unknown) => {
      onError(toError(error))
      open()
    })
  }

  function forwardKept(): void {
    const observation = kept.shift()
    try {
      if (observation) passOn(observer, observation)
    } catch (error) {
      onError(toError(error))
    }
  }
}

/** Whether the sink was stopped before it showed everything, in any of its messages. The next process then shows the rest. */
export function isCutShort({ undelivered }: Delivery): boolean {
  return undelivered.some(({ type }) => type === 'stopped')
}

/** How much longer a mirror may take than the run's own place, in ms. After a restart, mirrors don't show the rest. */
const mirrorMs = 60_000

/**
 * Waits until the mirrors show the reply, at most `mirrorMs`. Resolves with the results of those that did, in the order of
 * their ends. Empty without mirrors.
 */
export async function waitForMirrors([, ...mirrors]: ActiveRun['sinks'], clock: Clock): Promise<readonly Delivered[]> {
  const delivered: Delivered[] = []
  const all = mirrors.map(async ({ channel, chat, sink }) => {
    delivered.push({ place: { channel, chat }, delivery: await sink.settled() })
  })
  await waitAtMost(Promise.all(all), mirrorMs, clock)
  return [...delivered]
}

/** Calls the method of an observer for the type of an observation. Does nothing if it has none. Throws what that throws. */
export function passOn(observer: ReplyObserver, observation: Observation): void {
  const handle: unknown = Reflect.get(observer, observation.type)
  if (typeof handle === 'function') Reflect.apply(handle, undefined, [observation])
}

/**
 * Returns the reply without its asks, for chats that don't show them. If its phase is `blocked`, it then is `working`. Returns
 * a reply that has no asks as it is.
 */
function withoutAsks(reply: Reply): Reply {
  return reply.asks.length === 0
    ? reply
    : { ...reply, asks: [], phase: reply.phase === 'blocked' ? 'working' : reply.phase }
}

/** The error name of a reply that only closes the messages of a run and has no text. */
export const notFollowed = 'NotFollowed'

/** Whether a reply only closes the messages of a run, which then keep their text. */
function isClosingReply({ error }: Reply): boolean {
  return error?.name === notFollowed
}
