import type { Clock } from '@reply/core'
import { type ChatPace, pacerOf } from '../deliver/pace.ts'
import { waitForPause, waitForTurn } from '../deliver/wait-for-turn.ts'
import type { LedgerStore } from '../ledger/ledger.ts'
import { type CallOptions, callPlatform } from '../port/call.ts'
import type { Limits } from '../port/limits.ts'
import type { ToPortError } from '../port/network.ts'
import type { Chat } from '../port/port.ts'
import { PortError } from '../port/port-error.ts'
import { wellFormed } from '../port/well-formed.ts'
import type { AnswerInbound, Inbound } from './inbound.ts'
import { createSeen } from './seen-ids.ts'

/** The platform, who handles what people do there, and how long that may take. */
export interface InboundReceiverOptions<Failure extends Error> {
  /** The platform's client. Answers share its rate limits with the sinks on it. */
  readonly client: object
  /** What the platform allows in a chat. */
  readonly limitsOf: (chat: Chat) => Limits
  /** The channel's mapping of failed calls. */
  readonly toPortError: ToPortError
  /** The host's handler. A promise that it returns is awaited. */
  readonly onInbound: (inbound: Inbound) => unknown
  /** Gets what the handler threw (`inbound`), why an answer was not sent (`answer`), and failures of the `store`. */
  readonly onError: (error: Failure) => void
  /** The class of the channel's errors. */
  readonly Failure: new (
    type: 'inbound' | 'answer' | 'store',
    message: string,
    options?: ErrorOptions,
  ) => Failure
  /** Times the limits below. */
  readonly clock: Clock
  /** How long `receive`, and the next text of the chat, wait for the host, in ms. Its handler keeps running. */
  readonly handleMs: number
  /** How long a press can be answered by a notice, in ms. After that it is answered without text. */
  readonly pressMs: number
  /** The deadline of a call that answers, in ms. Default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Keeps the ids of inbounds, so that a repeat is dropped after a restart, too. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Passes on messages that only have files. Default false. */
  readonly onlyFiles?: boolean | undefined
  /** Names the platform and the account in the store's key, as in `telegram/42`. */
  readonly account: string
}

/** How a channel sends an answer. */
export interface AnswerRoute {
  /** Sends a text that is not empty. */
  readonly send: (text: string, signal: AbortSignal) => Promise<unknown>
  /** Sends an answer without text. Default: nothing is sent. */
  readonly confirm?: ((signal: AbortSignal) => Promise<unknown>) | undefined
  /**
   * The answer is a message in the chat, which takes its turn and makes sense for a minute. Other answers are notices:
   * they wait only while the platform has asked for a pause, and make sense for `pressMs` after the press.
   */
  readonly isMessage: boolean
}

/** What became of an inbound. */
export type Received = 'handled' | 'repeat' | 'not-taken'

/** Delivers what people do, and sends the answers to it. */
export interface InboundReceiver {
  /**
   * Delivers an inbound to the host, once per id; `make` is called only then, and its undefined delivers nothing. Texts
   * of one chat and thread are delivered one after the other, everything else at once. Resolves when the handler is done
   * or has taken `handleMs`. Never rejects. Returns undefined for a repeat; resolves with `repeat` if only the store knew its id, or with `not-taken` if the host did not take it: the platform must
   * deliver it again.
   */
  receive(id: string, make: () => Inbound | undefined | Promise<Inbound | undefined>): Promise<Received> | undefined
  /** The `answer` of an inbound that has just arrived. */
  answerFor(about: InboundPlace, route: AnswerRoute): AnswerInbound
  /** Reports that an answer was not sent. */
  failureReporter(about: InboundPlace): (error: unknown) => void
  /** Resolves when everything received so far is handled, at most `handleMs` each. */
  settled(): Promise<void>
}

/** What an answer belongs to. */
export interface InboundPlace {
  /** The inbound's type. */
  readonly type: string
  /** The inbound's chat. */
  readonly chat: Chat
}

/** How long an answer that is a message may wait for its turn, in ms: a later one would only confuse. */
const answerMs = 60_000

/** Makes a receiver, which remembers the ids of the last inbounds. */
export function createInboundReceiver<Failure extends Error>(
  options: InboundReceiverOptions<Failure>,
): InboundReceiver {
  const { client, limitsOf, toPortError, onInbound, onError, Failure, clock, handleMs, pressMs, timeoutMs } = options
  const { store, account, onlyFiles } = options
  const report = (message: string, cause: unknown): void => onError(new Failure('store', message, { cause }))
  const seen = createSeen({ store, key: `inbound/${account}`, clock, onError: report })
  const open = createOpenTasks()
  const turns = createTurns()
  return { receive, answerFor: answering, failureReporter: failing, settled: open.rest }

  function receive(...[id, make]: Parameters<InboundReceiver['receive']>): ReturnType<InboundReceiver['receive']> {
    if (seen.has(id)) return undefined
    const added = seen.add(id)
    const result = added ? added.then(async (isNew) => (isNew ? await once(make) : 'repeat')) : once(make)
    void open.add(
      result.then((received) => {
        if (received === 'not-taken') seen.drop(id)
      }),
    )
    return result
  }

  async function once(make: Parameters<InboundReceiver['receive']>[1]): Promise<Received> {
    const begun = await atMost(begin(make))
    return (await begun?.ended) ?? 'handled'
  }

  /** A press and a stop don't wait: the handler before them may wait for one. */
  async function begin(
    make: Parameters<InboundReceiver['receive']>[1],
  ): Promise<{ readonly ended: Promise<Received | undefined> } | undefined> {
    const inbound = await make()
    if (!inbound || (!onlyFiles && hasOnlyFiles(inbound))) return undefined
    const handle = async (): Promise<Received | undefined> => await atMost(deliver(inbound))
    return { ended: inbound.type === 'text' ? turns.take(inbound.chat, handle) : handle() }
  }

  async function deliver(inbound: Inbound): Promise<Received> {
    const answer = inbound.type === 'press' && !inbound.isForeign ? inbound.answer : async () => {}
    const stop = clock.after(pressMs, () => void answer())
    try {
      await onInbound(inbound)
    } catch (cause) {
      if (cause instanceof NotTakenError) return 'not-taken'
      const { type, chat } = inbound
      const message = cause instanceof Error ? cause.message : String(cause)
      onError(new Failure('inbound', `A ${type} in chat ${chat.id} failed: ${message}`, { cause }))
    } finally {
      stop()
    }
    await answer()
    return 'handled'
  }

  /** A slow handler continues alongside the next inbounds, as it may wait for one of them. */
  async function atMost<T>(handled: Promise<T>): Promise<T | undefined> {
    let stop = (): void => {}
    const passed = new Promise<undefined>((resolve) => {
      stop = clock.after(handleMs, () => resolve(undefined))
    })
    try {
      return await Promise.race([handled, passed])
    } finally {
      stop()
    }
  }

  function answering(about: InboundPlace, { send: say, confirm, isMessage }: AnswerRoute): AnswerInbound {
    const arrivedAt = clock.now()
    const pace = pacerOf(client, clock).chat(about.chat, limitsOf(about.chat))
    return answerOnce(async (text) => {
      const make = text ? (signal: AbortSignal) => say(wellFormed(text), signal) : confirm
      const until = isMessage ? clock.now() + answerMs : arrivedAt + pressMs
      const call = { what: whatOf(about), timeoutMs, clock, toPortError }
      if (make) await sendAnswer(make, { ...call, pace, isMessage, until })
    }, failing(about))
  }

  function failing(about: InboundPlace): (error: unknown) => void {
    return (error) => {
      const cause = toPortError(error, whatOf(about))
      onError(new Failure('answer', cause.message, { cause }))
    }
  }
}

function hasOnlyFiles(inbound: Inbound): boolean {
  return inbound.type === 'text' && inbound.files !== undefined && inbound.text.trim() === ''
}

function whatOf({ type, chat }: InboundPlace): string {
  return `answering a ${type} in chat ${chat.id}`
}

/** Only the first call counts, and its failure is reported. */
export function answerOnce(
  answer: (text: string | undefined) => Promise<unknown>,
  onError: (error: unknown) => void,
): AnswerInbound {
  let isAnswered = false
  return async (text) => {
    if (isAnswered) return
    isAnswered = true
    try {
      await answer(text)
    } catch (error) {
      onError(error)
    }
  }
}

/** Runs what belongs to one chat and thread one after the other, and different chats side by side. */
interface Turns {
  /** Runs when what was given before for this chat has ended. A task must not reject. */
  take<T>(chat: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T>
}

function createTurns(): Turns {
  const last = new Map<string, Promise<unknown>>()
  return { take }

  function take<T>({ id, thread }: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([id, thread])
    const before = last.get(key)
    const turn = before ? before.then(task) : task()
    last.set(key, turn)
    void turn.then(() => {
      if (last.get(key) === turn) last.delete(key)
    })
    return turn
  }
}

/** Where an answer goes, and until when it makes sense. */
interface SendAnswerOptions extends CallOptions {
  /** The pace of what the platform counts the answer against. */
  readonly pace: ChatPace
  /** It is a message in the chat: it takes its turn and a part of the chat's budget. Others only wait out pauses. */
  readonly isMessage: boolean
  /** When it is too late, in ms since the epoch. */
  readonly until: number
}

/**
 * Sends an answer to a person. After a rate limit the sinks on that client wait as well, and the answer is sent again
 * when the pause is over; one that would come too late is dropped at once. Rejects with a `PortError`.
 */
export async function sendAnswer(
  make: (signal: AbortSignal) => Promise<unknown>,
  { pace, isMessage, until, ...call }: SendAnswerOptions,
): Promise<void> {
  const { clock, what } = call
  const inTurn = isMessage ? waitForTurn : waitForPause
  for (;;) {
    try {
      await inTurn(pace, clock, () => callPlatform(make, call), { until, what })
      return
    } catch (error) {
      // Nothing was sent, and the pace knows the pause now, so the next turn comes after it.
      if (!(error instanceof PortError) || error.type !== 'rate-limited') throw error
    }
  }
}

/**
 * The host rejects with it if it can't take an action, because another process works in its place. The platform is not
 * told that the action was taken, so that it delivers it to that process.
 */
export class NotTakenError extends Error {
  constructor() {
    super('The action was not taken.')
    this.name = 'NotTakenError'
  }
}

/** What is at work, for a `stop` that waits for it. */
interface OpenTasks {
  /** Keeps a promise that never rejects until it settles, and returns it. */
  add<T>(task: Promise<T>): Promise<T>
  /** Resolves when all that were added so far have settled. */
  rest(): Promise<void>
}

/** Keeps what is at work. */
export function createOpenTasks(): OpenTasks {
  const open = new Set<Promise<unknown>>()
  return {
    add: (task) => {
      const one = task.finally(() => open.delete(one))
      open.add(one)
      return one
    },
    rest: async () => {
      await Promise.all(open)
    },
  }
}
