import type { AnswerInbound, Inbound, Texts } from '@reply/sink'
import { callPlatform, createInboundReceiver } from '@reply/sink/channel'
import { clip, type InboundOptions, type InboundPlace } from '@reply/sink/internal'
import { botOf, featuresOf, noPreview, type TelegramInboundApi, type TelegramMove, toChatId } from './api.ts'
import { TelegramError, toPortError } from './error.ts'
import { type NameInText, type Received, toUpdate, type Update, withoutNames } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits, textLength } from './limits.ts'
import { disableMentions } from './render.ts'

export interface ReceiverOptions extends InboundOptions {
  readonly api: TelegramInboundApi
  readonly texts: Texts
  /** Called for a group that became a supergroup, before the first message there. */
  readonly onMoved?: ((move: TelegramMove) => unknown) | undefined
}

export interface Receiver {
  /** Reads an update. Undefined if the value isn't one. */
  readonly read: (value: unknown) => Update | undefined
  /**
   * Passes an update to the host once. Resolves when the host is done or after `handleMs`, with false if the host did
   * not take it. Never rejects.
   */
  readonly receive: (update: Update) => Promise<boolean>
  /** Resolves when everything received so far is handled, at most `handleMs` each. */
  readonly settled: () => Promise<void>
}

type ReceivedText = Extract<Received, { type: 'text' }>

/** How long a press can be answered, in ms. A pressed button shows a spinner for about 15 s. */
const pressMs = 10_000

/** Passes each update to the host once, with a function that answers it. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { api, texts } = options
  const { receive, answerFor, settled } = createInboundReceiver({
    ...options,
    client: botOf(api),
    account: `telegram/${botIdOf(api)}`,
    toPortError,
    Failure: TelegramError,
    pressMs,
    limitsOf: ({ id }) => telegramLimits(kindOf(toChatId(id)), false),
  })
  const username = createUsernameLookup(options)
  let lookup: Promise<string | undefined> | undefined
  return { read: (value) => toUpdate(value, botIdOf(api)), receive: receiveUpdate, settled }

  /** Passes an update on, or redirects calls if a group has moved. Resolves with false if the host did not take it. */
  async function receiveUpdate({ id, received }: Update): Promise<boolean> {
    if (received?.type === 'moved') return await redirectChat(received)
    return (await receive(String(id), () => received && toInbound(received))) !== 'not-taken'
  }

  /**
   * Redirects later calls for a group that became a supergroup, and tells the host. Returns false if the host's
   * `onMoved` failed, which is reported.
   */
  async function redirectChat({ from, to }: TelegramMove): Promise<boolean> {
    try {
      featuresOf(api).moved.set(from, Number(to))
      await options.onMoved?.({ from, to })
      return true
    } catch (error) {
      options.onError(error instanceof Error ? error : new Error(String(error)))
      return false
    }
  }

  /**
   * Returns an update for the host. Undefined for a command for another bot. While this bot's name is looked up, later
   * updates wait to keep their order.
   */
  function toInbound(received: Exclude<Received, { type: 'moved' }>): Inbound | Promise<Inbound | undefined> {
    const names = (received.type === 'text' && received.names) || []
    if (names.length === 0 && !lookup) return withAnswer(received)
    const nameInTurn = Promise.resolve(lookup).then(() => (names.length > 0 ? username() : undefined))
    lookup = nameInTurn
    return nameInTurn.then((name) => {
      if (lookup === nameInTurn) lookup = undefined
      return received.type === 'text' ? inboundOfText(received, name) : withAnswer(received)
    })
  }

  /**
   * Returns a text without the bot's own mentions. Undefined for a command for another bot. While the bot's name is unknown,
   * treats a command as this bot's, and a mention as another's.
   */
  function inboundOfText(
    received: ReceivedText,
    ownName: string | undefined,
  ): ReturnType<typeof withAnswer> | undefined {
    const { names = [] } = received
    const isOwn = ({ name }: NameInText): boolean => name.toLowerCase() === ownName?.toLowerCase()
    if (ownName !== undefined && names.some((named) => named.type === 'command' && !isOwn(named))) return undefined
    const mentions = names.filter(isOwn)
    if (mentions.length === 0) return withAnswer(received)
    return withAnswer({ ...received, text: withoutNames(received.text, mentions), isMention: true })
  }

  /** Returns the inbound with its `answer`. Refuses a press without a message, which the host doesn't receive. */
  function withAnswer(received: Exclude<Received, { type: 'moved' }>): Inbound | Promise<undefined> {
    if (received.type === 'stop') return received
    if (received.type === 'unplaced') return refuseUnplaced(received)
    if (received.type === 'text') {
      const { names: _, ...text } = received
      const { chat, messageRef } = text
      const replying = {
        ...noPreview,
        ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
        reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
      }
      const send = async (text: string, signal: AbortSignal): Promise<unknown> =>
        await api.sendMessage(toChatId(chat.id), clip(disableMentions(text), textLength), replying, signal)
      return { ...text, answer: answerFor(text, { send, isMessage: true }) }
    }
    const { queryID, ...press } = received
    return { ...press, answer: pressAnswer(press, queryID) }
  }

  /** Tells the person that the press doesn't count. The host doesn't receive it. */
  async function refuseUnplaced({ actor, queryID }: Extract<Received, { type: 'unplaced' }>): Promise<undefined> {
    await pressAnswer({ type: 'press', chat: { id: actor.id } }, queryID)(texts.notItsMessage)
    return undefined
  }

  /** Returns a function that answers a press with a notice, or only confirms it. */
  function pressAnswer(about: InboundPlace, queryID: string): AnswerInbound {
    const confirm = async (signal: AbortSignal): Promise<unknown> => await api.answerCallbackQuery(queryID, {}, signal)
    const send = async (text: string, signal: AbortSignal): Promise<unknown> =>
      await api.answerCallbackQuery(queryID, { text: clip(text, noticeLength) }, signal)
    return answerFor(about, { send, confirm, isMessage: false })
  }
}

/**
 * Returns the bot's id, from the beginning of its token. Update ids are unique per bot. Empty if the client does not show
 * its token.
 */
function botIdOf(api: object): string {
  return 'token' in api && typeof api.token === 'string' ? (api.token.split(':')[0] ?? '') : ''
}

type UsernameLookup = Pick<ReceiverOptions, 'api' | 'onError' | 'timeoutMs' | 'clock'>

/** Returns a function that resolves with the bot's name, without its `@`. Fetched once. Undefined while fetching fails. */
function createUsernameLookup({ api, onError, timeoutMs, clock }: UsernameLookup): () => Promise<string | undefined> {
  let own: Promise<string | undefined> | undefined
  return async () => {
    own ??= fetchUsername()
    const name = await own
    if (name === undefined) own = undefined
    return name
  }

  /** Fetches the bot's name. Undefined if it fails, which is reported. */
  async function fetchUsername(): Promise<string | undefined> {
    try {
      const call = { what: 'getMe', timeoutMs, clock, toPortError }
      const { username } = await callPlatform((signal) => api.getMe(signal), call)
      return username
    } catch (error) {
      const { message, cause } = toPortError(error, 'getMe')
      const doubt = 'so commands for other bots are passed on, and mentions are not recognized.'
      onError(new TelegramError('updates', `The bot's name is unknown, ${doubt} ${message}`, { cause }))
      return undefined
    }
  }
}
