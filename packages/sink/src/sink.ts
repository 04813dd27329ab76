import {
  type Ask,
  type Clock,
  type Observation,
  observerOf,
  type Reply,
  type ReplyObserver,
  systemClock,
} from '@reply/core'
import { base64url, safeOnError, steadyClock } from '@reply/core/internal'
import { type AskMatch, type AskResult, type MayAnswer, takeBestMatch } from './asks/answering.ts'
import type { AskInput } from './asks/asks.ts'
import { type Policy, toPolicy, toTexts } from './config.ts'
import { createDeliverer, type Deliverer } from './deliver/deliver.ts'
import { addDeliveries, type Delivery } from './deliver/delivery.ts'
import type { ReadFile } from './deliver/file-loader.ts'
import { createPacer, type Pacer } from './deliver/pace.ts'
import { earliest } from './earliest.ts'
import type { SinkError } from './error.ts'
import { type LedgerStore, memoryStore } from './ledger/ledger.ts'
import type { Actor } from './port/actor.ts'
import { leasedPort } from './port/lease.ts'
import type { ChannelPort, Chat, MessageRef, Render } from './port/port.ts'
import { wellFormedPort } from './port/well-formed.ts'
import type { DiffControl, Texts } from './texts.ts'
import { withResolvers } from './with-resolvers.ts'

/** The options that the sinks of all channels share. */
export interface ChannelSinkOptions {
  /** How replies are shown. Fields left out have the channel's defaults, else those of `Policy`. */
  readonly policy?: Partial<Policy> | undefined
  /** Texts to use in place of the English ones. Fields left out stay English. */
  readonly texts?: Partial<Texts> | undefined
  /**
   * Called for each press, and for text that would be an answer. Only `true` lets the actor answer. Default: the
   * person in a private chat may answer, and permissions can't be allowed in a shared one.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /**
   * Ids of the only actors who may answer. If you also set `mayAnswer`, both must agree. Default: everyone that `mayAnswer`
   * accepts.
   */
  readonly answerers?: readonly string[] | undefined
  /**
   * Who must answer an ask of that type. The ask's first message mentions them while it waits, in a shared chat, on
   * platforms with mentions. Default: no one is mentioned.
   */
  readonly mentions?: ((type: Ask['type']) => readonly Actor[]) | undefined
  /**
   * How people get the session's diff, named below an answer whose run changed files. Default: the line only has the numbers
   * of the run.
   */
  readonly diff?: DiffControl | undefined
  /** Plain text at the end of the status line, for example the id of the run. Default: none. */
  readonly label?: string | undefined
  /**
   * The address of a page with the whole reply. Linked from the status line and below the answer, so everyone in the chat can open
   * it. Default: none.
   */
  readonly page?: URL | undefined
  /**
   * Whether to keep the shown texts of this reply although it no longer has them, for example because its server is gone.
   * The ending is then posted below them. Default: a text that a reply no longer has is removed.
   */
  readonly keepsText?: ((reply: Reply) => boolean) | undefined
  /**
   * Where the reply was started, if not in this chat, for example `From the terminal, shop`. Plain text. Stands at the beginning
   * of each ask. Default: none.
   */
  readonly origin?: string | undefined
  /**
   * What the chat shows of the reply. `asks`: only its questions and permissions. Called whenever the messages are computed.
   * Default: `all`.
   */
  readonly shows?: (() => 'all' | 'asks') | undefined
  /**
   * Returns what to show of a prompt that joined the reply, in Markdown, for example a quotation: a silent message above what answers
   * it. It is shortened to one message. Called whenever the messages are computed. Default: undefined, so that nothing is shown.
   */
  readonly joinedPrompt?: ((promptID: string, prompt: NonNullable<Reply['prompt']>) => string | undefined) | undefined
  /**
   * Whether no post notifies, where posts can be silent, and none is made only to notify. Called whenever the messages are computed.
   * Default: false.
   */
  readonly isQuiet?: (() => boolean) | undefined
  /**
   * Reads the files of replies, right before each is posted. Default: `data:` URLs are read, and other files are named with their
   * address. `createFileReader` of `@reply/sink/node` makes one.
   */
  readonly readFile?: ReadFile | undefined
  /** Stores what the chat shows, so that a restart posts nothing twice. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Called once for each failure that the sink handled. Default: failures are not reported. */
  readonly onError?: ((error: SinkError) => void) | undefined
  /** The deadline of a call to the platform, in ms. After it the result is unknown. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

/** Options of `createSink`. A channel's own sink fills most of them in. */
export interface SinkOptions extends Omit<ChannelSinkOptions, 'timeoutMs'> {
  /** The platform. */
  readonly port: ChannelPort
  /** Writes Markdown in the platform's markup. Must fit the port: both count `Limits.maxLength` the same way. */
  readonly render: Render
  /** The chat that replies are shown in. */
  readonly chat: Chat
  /** The message with the prompt. The answer replies to it. */
  readonly replyTo?: MessageRef | undefined
  /** Schedules the calls within the rate limits. Sinks on the same client must share one. Default: a new one. */
  readonly pacer?: Pacer | undefined
  /** Returns a random string of the given length that can't be guessed. Default: from the system's random source. */
  readonly secret?: ((length: number) => string) | undefined
}

/**
 * How many sessions' newest replies are kept after they are shown. Older ones are read from the store again if they are
 * amended, and counted a second time.
 */
const keptSessions = 32

/** An observer that shows replies in one chat, also several at once. Pass it to `prompt` or `watch`. */
export interface Sink extends ReplyObserver {
  /**
   * Resolves with the sum of all replies once each has settled and is shown as far as possible. Waits for the first reply
   * or `stop()`. A reply that is amended after those of 32 other sessions is counted twice.
   */
  settled(): Promise<Delivery>
  /**
   * Reads a text or a press as the answer to a pending ask, and marks the ask as answered in the chat. Pass the result on
   * to `client.answer` or `client.reject`, or use `answerWith`, which does both. Resolves with undefined if the input
   * answers nothing. Never rejects.
   *
   * - A text only answers an ask if the chat showed all of it before the text was written, by `messageRef.postedAt`. Without
   *   that time, it must reply to a message of the ask.
   * - Commands, forwarded texts and replies to other messages answer nothing.
   * - In a shared chat, a permission needs a press or a reply. A question also accepts a text that replies to nothing, from
   *   a person who is known to be allowed to answer.
   * - A text that fits several asks gives an error that asks which one is meant.
   */
  readAnswer(input: AskInput, actor?: Actor): Promise<AskResult | undefined>
  /**
   * Resolves with all asks that the input may answer, without answering one. `answerWith` calls it on all sinks of a chat,
   * because a text may fit asks of several replies.
   */
  findAsks(input: AskInput, actor?: Actor): Promise<readonly AskMatch[]>
  /**
   * Call it before you abort the shown runs, or answer the ask `requestID` for a person outside of the chat, so that the asks that this
   * closes name the person. If it fails, call the returned function to undo it.
   */
  closedBy(actor: Actor, requestID?: string): () => void
  /**
   * Returns since when the chat has not changed although the newest replies have more to show than a status, in ms since the epoch.
   * Undefined if it shows all. Stop the sink right after an edit if another process goes on, so that the chat is silent for less long.
   */
  unshownSince(): number | undefined
  /** Stops the sink for good. `Delivery.undelivered` lists the messages that are missing. Later replies are not shown. */
  stop(): Promise<void>
}

/** Creates a sink. Throws `SinkError` of type `invalid` for an invalid policy. */
export function createSink(options: SinkOptions): Sink {
  const { chat, store = memoryStore(), secret = randomText } = options
  const wellFormed = wellFormedPort(options.port)
  const port = store.lease ? leasedPort(wellFormed, store.lease) : wellFormed
  const onError = safeOnError(options.onError)
  const policy = toPolicy(options.policy)
  const texts = toTexts(options.texts)
  const clock = options.clock ? steadyClock(options.clock) : systemClock
  const pace = (options.pacer ?? createPacer({ clock })).chat(chat, port.limits)
  const newest = new Map<string, Deliverer>()
  const unsettled = new Map<Deliverer, Promise<Delivery>>()
  /**
   * The result of each session's newest reply, which may still be amended. Older ones are only summed up, because a sink
   * may live for years.
   */
  const settledResults = new Map<Deliverer, { readonly sessionID: string; readonly delivery: Delivery }>()
  const followed = new WeakSet<Promise<Delivery>>()
  /** Resolves with the first reply, or when the sink is stopped. */
  const begun = withResolvers<void>()
  let isStopped = false
  let total: Delivery = { shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 }
  return { ...observerOf(show), settled, findAsks, readAnswer, closedBy, unshownSince, stop }

  /**
   * Passes the reply to its deliverer. A started reply gets a new one, even in a session that has one. Does nothing
   * after the stop.
   */
  function show({ type, reply }: Observation): void {
    if (isStopped) return
    const own = type === 'replyStarted' ? undefined : newest.get(reply.sessionID)
    const deliverer = own ?? createDelivererFor(reply)
    deliverer.show(reply)
    trackSettled(deliverer, reply)
  }

  /**
   * Creates the deliverer of a reply, and makes it the newest of its session. Adds the result of the former one to the
   * total.
   */
  function createDelivererFor(reply: Reply): Deliverer {
    const keyOf = (of: Reply): string => ledgerKeyIn(chat, of)
    const deliverer = createDeliverer({ ...options, port, store, keyOf, pace, policy, texts, clock, secret, onError })
    const before = newest.get(reply.sessionID)
    const end = before && settledResults.get(before)
    if (before && settledResults.delete(before) && end) total = addDeliveries(total, end.delivery)
    newest.set(reply.sessionID, deliverer)
    begun.resolve()
    return deliverer
  }

  /**
   * Keeps the deliverer's promise until it resolves, then its result. Called again after each update, because an
   * amendment makes a new promise.
   */
  function trackSettled(deliverer: Deliverer, { sessionID }: Reply): void {
    const { settled } = deliverer
    if (followed.has(settled)) return
    followed.add(settled)
    settledResults.delete(deliverer)
    unsettled.set(deliverer, settled)
    void settled.then((delivery) => {
      // The reply was amended at once, so another result follows.
      if (unsettled.get(deliverer) !== settled) return
      unsettled.delete(deliverer)
      if (newest.get(sessionID) === deliverer) settledResults.set(deliverer, { sessionID, delivery })
      else total = addDeliveries(total, delivery)
      sumUpOldest()
    })
  }

  /** Adds the result of the oldest session to the total and forgets it, if more than `keptSessions` are kept. */
  function sumUpOldest(): void {
    const [oldest] = settledResults
    if (settledResults.size <= keptSessions || oldest === undefined) return
    const [deliverer, { sessionID, delivery }] = oldest
    settledResults.delete(deliverer)
    newest.delete(sessionID)
    total = addDeliveries(total, delivery)
  }

  /** Waits for the first reply or the stop, then for all replies that are not settled. Sums up their deliveries. */
  async function settled(): Promise<Delivery> {
    await begun.promise
    await Promise.all(unsettled.values())
    return [...settledResults.values()].map(({ delivery }) => delivery).reduce(addDeliveries, total)
  }

  /** Returns the deliverers that are not settled, and the newest of each kept session. */
  function knownDeliverers(): ReadonlySet<Deliverer> {
    return new Set([...unsettled.keys(), ...newest.values()])
  }

  /** Finds the asks of all known replies that the input may answer. */
  async function findAsks(input: AskInput, actor?: Actor): Promise<readonly AskMatch[]> {
    const found = await Promise.all([...knownDeliverers()].map((deliverer) => deliverer.findAsks(input, actor)))
    return found.flat()
  }

  /** Applies the input to the best match among the asks of all known replies. Undefined if it answers nothing. */
  async function readAnswer(input: AskInput, actor?: Actor): Promise<AskResult | undefined> {
    return takeBestMatch(await findAsks(input, actor), texts)
  }

  /** Names the actor on that ask, or on the asks of all known replies. The returned function undoes it. */
  function closedBy(...given: Parameters<Sink['closedBy']>): () => void {
    const undos = [...knownDeliverers()].map((deliverer) => deliverer.closedBy(...given))
    return () => {
      for (const undo of undos) undo()
    }
  }

  /** Returns the earliest time of all known replies. */
  function unshownSince(): number | undefined {
    return earliest(...[...knownDeliverers()].map((deliverer) => deliverer.unshownSince()))
  }

  /** Stops all deliverers, and ignores later replies. */
  async function stop(): Promise<void> {
    isStopped = true
    begun.resolve()
    await Promise.all([...knownDeliverers()].map((deliverer) => deliverer.stop()))
  }
}

/**
 * Returns the key of a reply's ledger: the chat, the session, and the prompt or whatever else identifies a reply
 * without one.
 */
function ledgerKeyIn(chat: Chat, { sessionID, promptIDs, asks, startedAt }: Reply): string {
  const place = [chat.id, ...(chat.thread === undefined ? [] : [chat.thread])].map(encodeURIComponent).join('/')
  return `${place}/${sessionID}/${promptIDs[0] ?? asks[0]?.requestID ?? startedAt ?? 0}`
}

/** Returns random base64url characters from the system's random source. */
function randomText(length: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(length))).slice(0, length)
}
