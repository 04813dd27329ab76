import type { Clock } from '@reply/core'
import { isSealed } from '../asks/token.ts'
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

/** Options of `createInboundReceiver`. */
export interface InboundReceiverOptions<Failure extends Error> {
  /** The platform's client. Answers share its rate limits with its sinks. */
  readonly client: object
  /** Returns the platform's limits for a chat. */
  readonly limitsOf: (chat: Chat) => Limits
  /** The channel's mapping of failed calls. */
  readonly toPortError: ToPortError
  /** The host's handler. Its promise is awaited. `id` is that of `receive`. */
  readonly onInbound: (inbound: Inbound, id: string) => unknown
  /** Receives errors of the handler (`inbound`), of answers that were not sent (`answer`), and of the `store`. */
  readonly onError: (error: Failure) => void
  /** The class of the channel's errors. */
  readonly Failure: new (
    type: 'inbound' | 'answer' | 'store',
    message: string,
    options?: ErrorOptions,
  ) => Failure
  /** Times the durations below. */
  readonly clock: Clock
  /** How long `receive` and the next text of the chat wait for the handler, in ms. The handler keeps running. */
  readonly handleMs: number
  /** How long a press can be answered with a text, in ms. After that it is answered without one. */
  readonly pressMs: number
  /** The deadline of a call that sends an answer, in ms. Default `callTimeoutMs`. */
  readonly timeoutMs?: number | undefined
  /** Stores the ids of inbounds, so that repeats are also dropped after a restart. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Whether messages that only have files are passed on. Default false. */
  readonly onlyFiles?: boolean | undefined
  /** The platform and the account for the store's key, for example `telegram/42`. */
  readonly account: string
}

/** How a channel sends an answer. */
export interface AnswerRoute {
  /** Sends a text that is not empty. */
  readonly send: (text: string, signal: AbortSignal) => Promise<unknown>
  /** Sends an answer without text. Default: an answer without text is not sent. */
  readonly confirm?: ((signal: AbortSignal) => Promise<unknown>) | undefined
  /**
   * Whether the answer is a message in the chat, which waits for the chat's budget and expires after a minute. Other answers
   * are notices. They only wait while the platform has requested a pause, and expire `pressMs` after the press.
   */
  readonly isMessage: boolean
}

/** What happened to an inbound. `not-taken`: the host rejected with a `NotTakenError`. */
export type Received = 'handled' | 'repeat' | 'not-taken'

/**
 * Throw it from `onInbound` if the action can't be handled because another process has taken over, or because it can't be
 * stored. The action is not acknowledged, so the platform delivers it again, to this process or to the other one.
 */
export class NotTakenError extends Error {
  constructor() {
    super('The action was not handled: another process has taken over, or it could not be stored.')
    this.name = 'NotTakenError'
  }
}

/** Passes inbounds on to the host, and sends its answers. */
export interface InboundReceiver {
  /**
   * Passes an inbound on to the host, once per id. `make` is only called for a new id, and nothing is passed on if it
   * returns undefined. Texts of the same chat and thread are passed on one after the other, everything else at once.
   *
   * Resolves when the handler has finished or `handleMs` have passed. Never rejects. Returns undefined for a repeat, or
   * resolves with `repeat` if only the store knew the id. After `not-taken` the platform must deliver the inbound again.
   */
  receive(id: string, make: InboundMaker): Promise<Received> | undefined
  /** Creates the `answer` of an inbound that has just arrived. */
  answerFor(about: InboundPlace, route: AnswerRoute): AnswerInbound
  /** Returns a function that reports an error of sending an answer. */
  failureReporter(about: InboundPlace): (error: unknown) => void
  /** Resolves when everything received so far is handled, at most `handleMs` each. */
  settled(): Promise<void>
}

/** Creates an inbound, or returns undefined if there is nothing to pass on. */
type InboundMaker = () => Inbound | undefined | Promise<Inbound | undefined>

/** The inbound that an answer belongs to. */
export interface InboundPlace {
  /** The inbound's type. */
  readonly type: string
  /** The inbound's chat. */
  readonly chat: Chat
}

/** How long an answer that is a message may wait for its turn, in ms. A later one would only confuse. */
const answerMs = 60_000

/** Creates the receiver of one channel. */
export function createInboundReceiver<Failure extends Error>(
  options: InboundReceiverOptions<Failure>,
): InboundReceiver {
  const { client, limitsOf, toPortError, onInbound, onError, Failure, clock, handleMs, pressMs, timeoutMs } = options
  const { store, account, onlyFiles } = options
  const report = (message: string, cause: unknown): void => onError(new Failure('store', message, { cause }))
  const seen = createSeen(store, `inbound/${account}`, clock, report)
  const open = createOpenTasks()
  const turns = createTurns()
  return { receive, answerFor, failureReporter, settled: open.settled }

  /**
   * Passes an inbound on to the host, once per id. Undefined for an id of this process, and resolves with `repeat` for one that
   * an earlier process stored. Forgets the id again after `not-taken`, so that the platform's repeat is passed on.
   */
  function receive(id: string, make: InboundMaker): Promise<Received> | undefined {
    if (seen.has(id)) return undefined
    const added = seen.add(id)
    const result = added
      ? added.then(async (isNew) => (isNew ? await passOnWithinTime(id, make) : 'repeat'))
      : passOnWithinTime(id, make)
    void open.add(
      result.then((received) => {
        if (received === 'not-taken') seen.drop(id)
      }),
    )
    return result
  }

  /** Passes an inbound on to the host. Resolves with `handled` after `handleMs`, even if the host has not finished. */
  async function passOnWithinTime(id: string, make: InboundMaker): Promise<Received> {
    const begun = await waitForHandler(startHandling(id, make))
    return (await begun?.ended) ?? 'handled'
  }

  /**
   * Makes the inbound, and queues or starts its handler. Undefined if there is nothing to handle. A press and a Stop
   * don't wait for earlier texts, because a handler may be waiting for them.
   */
  async function startHandling(
    id: string,
    make: InboundMaker,
  ): Promise<{ readonly ended: Promise<Received | undefined> } | undefined> {
    const inbound = await make()
    if (!inbound || (!onlyFiles && hasOnlyFiles(inbound)) || isSealedPress(inbound)) return undefined
    const handle = async (): Promise<Received | undefined> => await waitForHandler(callHost(inbound, id))
    return { ended: inbound.type === 'text' ? turns.runInTurn(inbound.chat, handle) : handle() }
  }

  /**
   * Calls `onInbound` and reports its error, which counts as handled. Answers a press of an ask without text after `pressMs`,
   * and at the latest when the host has finished. A `NotTakenError` is neither reported nor answered.
   */
  async function callHost(inbound: Inbound, id: string): Promise<Received> {
    const answer = inbound.type === 'press' && !inbound.isForeign ? inbound.answer : async () => {}
    const stop = clock.after(pressMs, () => void answer())
    try {
      await onInbound(inbound, id)
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

  /**
   * Resolves as the handler does. Resolves with undefined after `handleMs`. A slow handler keeps running beside the next
   * inbounds, because it may be waiting for one of them.
   */
  async function waitForHandler<T>(handled: Promise<T>): Promise<T | undefined> {
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

  /**
   * Returns a function that sends an answer once, or without a text only confirms a press, if the platform has that. It waits
   * for the chat's budget or pause, and reports an answer that failed or expired.
   */
  function answerFor(about: InboundPlace, { send, confirm, isMessage }: AnswerRoute): AnswerInbound {
    const arrivedAt = clock.now()
    const pace = pacerOf(client, clock).chat(about.chat, limitsOf(about.chat))
    return answerOnce(async (text) => {
      const make = text ? (signal: AbortSignal) => send(wellFormed(text), signal) : confirm
      const until = isMessage ? clock.now() + answerMs : arrivedAt + pressMs
      const call = { what: answerCallName(about), timeoutMs, clock, toPortError }
      if (make) await sendAnswer(make, { ...call, pace, isMessage, until })
    }, failureReporter(about))
  }

  /** Returns a function that reports a failed answer to `onError`. */
  function failureReporter(about: InboundPlace): (error: unknown) => void {
    return (error) => {
      const cause = toPortError(error, answerCallName(about))
      onError(new Failure('answer', cause.message, { cause }))
    }
  }
}

/** Whether the inbound is a message with files and without text. */
function hasOnlyFiles(inbound: Inbound): boolean {
  return inbound.type === 'text' && inbound.files !== undefined && inbound.text.trim() === ''
}

/** Whether it is a press with a sealed token, which only a program may make from a real one. */
function isSealedPress(inbound: Inbound): boolean {
  return inbound.type === 'press' && isSealed(inbound.token)
}

/** Returns the name of the call that answers an inbound, for errors. */
function answerCallName({ type, chat }: InboundPlace): string {
  return `answering a ${type} in chat ${chat.id}`
}

/** Returns a function that answers once. Later calls do nothing. It never rejects, and errors go to `onError`. */
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

/**
 * Sends an answer to a person. After a rate limit the client's sinks wait as well, and the answer is sent again when the
 * pause has ended. An answer that would expire before that is dropped at once. Rejects with a `PortError`.
 *
 * `isMessage`: it waits for the chat's budget and uses it. Other answers only wait out pauses. `until`: when the answer
 * expires, in ms since the epoch.
 */
export async function sendAnswer(
  make: (signal: AbortSignal) => Promise<unknown>,
  {
    pace,
    isMessage,
    until,
    ...call
  }: CallOptions & {
    readonly pace: ChatPace
    readonly isMessage: boolean
    readonly until: number
  },
): Promise<void> {
  const { clock, what } = call
  const inTurn = isMessage ? waitForTurn : waitForPause
  for (;;) {
    try {
      await inTurn(pace, clock, () => callPlatform(make, call), { until, what })
      return
    } catch (error) {
      // Nothing was sent. The pace knows about the pause, so the next turn comes after it.
      if (!(error instanceof PortError) || error.type !== 'rate-limited') throw error
    }
  }
}

/** Runs the tasks of one chat and thread one after the other, and different chats in parallel. */
interface Turns {
  /** Runs the task when the chat's earlier ones have ended. A task must not reject. */
  runInTurn<T>(chat: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T>
}

/** Creates the queues in which the texts of each chat and thread are handled one after another. All are empty at first. */
function createTurns(): Turns {
  const lastTurns = new Map<string, Promise<unknown>>()
  return { runInTurn }

  /** Runs a task after all earlier tasks of the same chat and thread. */
  function runInTurn<T>({ id, thread }: Pick<Chat, 'id' | 'thread'>, task: () => Promise<T>): Promise<T> {
    const key = JSON.stringify([id, thread])
    const before = lastTurns.get(key)
    const turn = before ? before.then(task) : task()
    lastTurns.set(key, turn)
    void turn.then(() => {
      if (lastTurns.get(key) === turn) lastTurns.delete(key)
    })
    return turn
  }
}

/** The tasks that are still running. */
interface OpenTasks {
  /** Tracks a promise until it settles, and returns it. The promise must never reject. */
  add<T>(task: Promise<T>): Promise<T>
  /** Resolves when all tasks added so far have settled. */
  settled(): Promise<void>
}

/** Tracks running tasks, so that `stop` can wait for them. */
export function createOpenTasks(): OpenTasks {
  const open = new Set<Promise<unknown>>()
  return {
    add: (task) => {
      const one = task.finally(() => open.delete(one))
      open.add(one)
      return one
    },
    settled: async () => {
      await Promise.all(open)
    },
  }
}
