import { randomBytes } from 'node:crypto'
import {
  type ChangeType,
  type Clock,
  type Observation,
  type Reply,
  type ReplyObserver,
  steadyClock,
  systemClock,
} from '@reply/core'
import type { AskInput } from './asks.ts'
import { type Policy, toPolicy, toWords } from './config.ts'
import { createDeliverer, type Deliverer } from './deliver.ts'
import { type SinkError, telling } from './error.ts'
import type { Actor } from './inbound/inbound.ts'
import { type LedgerStore, memoryStore } from './ledger.ts'
import { createPacer, type Pacer } from './pace.ts'
import type { ChannelPort, Chat, MessageRef, Render } from './port.ts'
import type { Delivery } from './reconcile.ts'
import { type Found, type MayAnswer, pick, type TakenAsk } from './take.ts'
import type { Words } from './words.ts'

export interface SinkOptions {
  readonly port: ChannelPort
  readonly render: Render
  readonly chat: Chat
  /** The message that asked: the answer answers it. */
  readonly replyTo?: MessageRef | undefined
  /** Where it is written down what the chat shows. Default: in memory; a restart then knows nothing of it. */
  readonly store?: LedgerStore | undefined
  /** Default: one of its own. Sinks that write with one client share one. */
  readonly pacer?: Pacer | undefined
  readonly policy?: Partial<Policy> | undefined
  readonly words?: Partial<Words> | undefined
  /**
   * Asked for each press and for words that would answer. Only `true` lets the actor answer. Default: in a private chat the
   * person there may answer; in a shared one permissions can't be allowed.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /** Ids of the only actors who may answer; `mayAnswer`, if given, must agree as well. Default: everyone that `mayAnswer` accepts. */
  readonly answerers?: readonly string[] | undefined
  readonly clock?: Clock | undefined
  /** A word of so many characters that nobody can guess. Default: from the system's random source. */
  readonly secret?: ((length: number) => string) | undefined
  /** What went wrong and was dealt with; each once. Default: nobody is told. */
  readonly onError?: ((error: SinkError) => void) | undefined
}

/**
 * Sessions whose newest reply is kept once it is shown. Older ones are read from the store again if they are amended; the
 * delivery then counts their messages once more.
 */
const keptSessions = 32

/** An observer that shows replies in one chat. Give it to `prompt` or `watch`; it serves one reply after another, or several at once. */
export interface Sink extends ReplyObserver {
  /**
   * Resolves when every reply that it was told of has settled and is shown, as far as it ever will be; the sum of all. A
   * reply that is amended after those of 32 other sessions is counted twice.
   */
  settled(): Promise<Delivery>
  /**
   * Reads what a person typed or pressed as an answer to what waits here. The caller passes it on to `opencode.answer` or
   * `reject`. Resolves with undefined when it answers nothing. Never rejects.
   *
   * Words answer an ask that the chat shows whole since before they were written: `messageRef.postedAt` tells when. Without
   * that time only a reply to a message of the ask answers it. Commands, forwarded texts and replies to other messages
   * answer nothing. In a shared chat a permission takes a press or a reply; a question takes bare words too, from a person
   * who is known to be allowed to answer. For words that fit several asks it gives an error that asks which one is meant.
   */
  take(input: AskInput, actor?: Actor): Promise<TakenAsk | undefined>
  /** All asks that it may answer, without taking it. `answerWith` asks all sinks of a chat: one text may fit asks of several. */
  find(input: AskInput, actor?: Actor): Promise<readonly Found[]>
  /** Ends its work for good. What is not shown by then is named in the delivery; later replies are not shown. */
  stop(): Promise<void>
}

/** Throws `SinkError` of type `invalid` for a policy that can't be. */
export function createSink(options: SinkOptions): Sink {
  const { port, chat, store = memoryStore(), secret = randomWord } = options
  const onError = telling(options.onError)
  const policy = toPolicy(options.policy)
  const words = toWords(options.words)
  const clock = options.clock ? steadyClock(options.clock) : systemClock
  const pace = (options.pacer ?? createPacer({ clock })).chat(chat, port.limits)
  const newest = new Map<string, Deliverer>()
  const open = new Map<Deliverer, Promise<Delivery>>()
  /** How each session's newest reply ended; it may be amended. What is over is a sum: a sink may live for years. */
  const ends = new Map<Deliverer, { readonly sessionID: string; readonly delivery: Delivery }>()
  const followed = new WeakSet<Promise<Delivery>>()
  let isStopped = false
  let total: Delivery = { shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 }
  return { ...observerOf(show), settled, find, take, stop }

  function show({ type, reply }: Observation): void {
    if (isStopped) return
    const own = type === 'replyStarted' ? undefined : newest.get(reply.sessionID)
    const deliverer = own ?? begin(reply)
    deliverer.show(reply)
    follow(deliverer, reply)
  }

  function begin(reply: Reply): Deliverer {
    const keyOf = (of: Reply): string => keyIn(chat, of)
    const deliverer = createDeliverer({ ...options, store, keyOf, pace, policy, words, clock, secret, onError })
    const before = newest.get(reply.sessionID)
    const end = before && ends.get(before)
    if (before && ends.delete(before) && end) total = sum(total, end.delivery)
    newest.set(reply.sessionID, deliverer)
    return deliverer
  }

  function follow(deliverer: Deliverer, { sessionID }: Reply): void {
    const { settled } = deliverer
    if (followed.has(settled)) return
    followed.add(settled)
    ends.delete(deliverer)
    open.set(deliverer, settled)
    void settled.then((delivery) => {
      // It was amended at once.
      if (open.get(deliverer) !== settled) return
      open.delete(deliverer)
      if (newest.get(sessionID) === deliverer) ends.set(deliverer, { sessionID, delivery })
      else total = sum(total, delivery)
      forgetOldest()
    })
  }

  function forgetOldest(): void {
    const [oldest] = ends
    if (ends.size <= keptSessions || oldest === undefined) return
    const [deliverer, { sessionID, delivery }] = oldest
    ends.delete(deliverer)
    newest.delete(sessionID)
    total = sum(total, delivery)
  }

  async function settled(): Promise<Delivery> {
    await Promise.all(open.values())
    return [...ends.values()].map(({ delivery }) => delivery).reduce(sum, total)
  }

  function known(): ReadonlySet<Deliverer> {
    return new Set([...open.keys(), ...newest.values()])
  }

  async function find(input: AskInput, actor?: Actor): Promise<readonly Found[]> {
    const found = await Promise.all([...known()].map((deliverer) => deliverer.find(input, actor)))
    return found.flat()
  }

  async function take(input: AskInput, actor?: Actor): Promise<TakenAsk | undefined> {
    return pick(await find(input, actor), words)
  }

  async function stop(): Promise<void> {
    isStopped = true
    await Promise.all([...known()].map((deliverer) => deliverer.stop()))
  }
}

function keyIn(chat: Chat, { sessionID, promptIDs, startedAt }: Reply): string {
  const place = [chat.id, ...(chat.thread === undefined ? [] : [chat.thread])].map(encodeURIComponent).join('/')
  return `${place}/${sessionID}/${promptIDs[0] ?? startedAt ?? 0}`
}

function sum(a: Delivery, b: Delivery): Delivery {
  return {
    shown: a.shown + b.shown,
    undelivered: [...a.undelivered, ...b.undelivered],
    doubtful: a.doubtful + b.doubtful,
    calls: a.calls + b.calls,
    rateLimited: a.rateLimited + b.rateLimited,
  }
}

function randomWord(length: number): string {
  return randomBytes(length).toString('base64url').slice(0, length)
}

/** Told of everything: whatever changed, the newest reply is what counts. */
function observerOf(show: (observation: Observation) => void): ReplyObserver {
  const types: Readonly<Record<ChangeType, true>> = {
    replyStarted: true,
    phaseChanged: true,
    messageUpdated: true,
    messageRemoved: true,
    partAdded: true,
    partChanged: true,
    partFinalized: true,
    partRemoved: true,
    toolProgressed: true,
    stepFinished: true,
    todosChanged: true,
    usageChanged: true,
    questionAsked: true,
    questionReplied: true,
    questionRejected: true,
    permissionAsked: true,
    permissionReplied: true,
    askChanged: true,
    askWithdrawn: true,
    sessionRetried: true,
    sessionErrored: true,
    compactionChanged: true,
    childStarted: true,
    childChanged: true,
    childSettled: true,
    connectionChanged: true,
    stalledChanged: true,
    replySettled: true,
    replyAmended: true,
  }
  return Object.fromEntries(Object.keys(types).map((type) => [type, show]))
}
