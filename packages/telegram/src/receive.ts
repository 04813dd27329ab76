import type { AnswerInbound, Inbound, Texts } from '@reply/sink'
import { callPlatform, createInboundReceiver } from '@reply/sink/channel'
import { clip, type InboundOptions, type InboundPlace } from '@reply/sink/internal'
import { botOf, featuresOf, noPreview, type TelegramInboundApi, type TelegramMove, toChatId } from './api.ts'
import { TelegramError, toPortError } from './error.ts'
import { type Named, type Received, toUpdate, type Update, without } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits, textLength } from './limits.ts'
import { quiet } from './render.ts'

export interface ReceiverOptions extends InboundOptions {
  readonly api: TelegramInboundApi
  readonly texts: Texts
  /** Called for a group that became a supergroup, before what is written there. */
  readonly onMoved?: ((move: TelegramMove) => unknown) | undefined
}

export interface Receiver {
  /** Reads an update. Undefined if the value is none. */
  readonly read: (value: unknown) => Update | undefined
  /** Passes an update to the host once. Resolves when the host is done or `handleMs` is over, with false if it did not take it. Never rejects. */
  readonly receive: (update: Update) => Promise<boolean>
  readonly rest: () => Promise<void>
}

type ReceivedText = Extract<Received, { type: 'text' }>

/** A pressed button shows a spinner for about 15 s; after that the press can't be answered. */
const pressMs = 10_000

export function createReceiver(options: ReceiverOptions): Receiver {
  const { api, texts } = options
  const {
    receive,
    answerFor: answering,
    settled: rest,
  } = createInboundReceiver({
    ...options,
    client: botOf(api),
    account: `telegram/${botIdOf(api)}`,
    toPortError,
    Failure: TelegramError,
    pressMs,
    limitsOf: ({ id }) => telegramLimits(kindOf(toChatId(id)), false),
  })
  const username = createUsername(options)
  let lookup: Promise<string | undefined> | undefined
  return { read: (value) => toUpdate(value, botIdOf(api)), receive: take, rest }

  async function take({ id, received }: Update): Promise<boolean> {
    if (received?.type === 'moved') return await moved(received)
    return (await receive(String(id), () => received && passedOn(received))) !== 'not-taken'
  }

  async function moved({ from, to }: TelegramMove): Promise<boolean> {
    try {
      featuresOf(api).moved.set(from, Number(to))
      await options.onMoved?.({ from, to })
      return true
    } catch (error) {
      options.onError(error instanceof Error ? error : new Error(String(error)))
      return false
    }
  }

  /** Leaves out a command for another bot. While its name is looked up, later updates wait, to keep their order. */
  function passedOn(received: Exclude<Received, { type: 'moved' }>): Inbound | Promise<Inbound | undefined> {
    const names = (received.type === 'text' && received.names) || []
    if (names.length === 0 && !lookup) return inboundOf(received)
    const own = Promise.resolve(lookup).then(() => (names.length > 0 ? username() : undefined))
    lookup = own
    return own.then((name) => {
      if (lookup === own) lookup = undefined
      return received.type === 'text' ? textOf(received, name) : inboundOf(received)
    })
  }

  /** While the own name is unknown, a command counts as this bot's, and a mention as another's. */
  function textOf(received: ReceivedText, own: string | undefined): ReturnType<typeof inboundOf> | undefined {
    const { names = [] } = received
    const isOwn = ({ name }: Named): boolean => name.toLowerCase() === own?.toLowerCase()
    if (own !== undefined && names.some((named) => named.type === 'command' && !isOwn(named))) return undefined
    const mentions = names.filter(isOwn)
    if (mentions.length === 0) return inboundOf(received)
    return inboundOf({ ...received, text: without(received.text, mentions), isMention: true })
  }

  function inboundOf(received: Exclude<Received, { type: 'moved' }>): Inbound | Promise<undefined> {
    if (received.type === 'stop') return received
    if (received.type === 'unplaced') return refused(received)
    if (received.type === 'text') {
      const { names: _, ...text } = received
      const { chat, messageRef } = text
      const replying = {
        ...noPreview,
        ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
        reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
      }
      const say = async (text: string, signal: AbortSignal): Promise<unknown> =>
        await api.sendMessage(toChatId(chat.id), clip(quiet(text), textLength), replying, signal)
      return { ...text, answer: answering(text, { send: say, isMessage: true }) }
    }
    const { queryID, ...press } = received
    return { ...press, answer: noticing(press, queryID) }
  }

  /** It counts for nothing, so the host does not get it. */
  async function refused({ actor, queryID }: Extract<Received, { type: 'unplaced' }>): Promise<undefined> {
    await noticing({ type: 'press', chat: { id: actor.id } }, queryID)(texts.notItsMessage)
    return undefined
  }

  function noticing(about: InboundPlace, queryID: string): AnswerInbound {
    const confirm = async (signal: AbortSignal): Promise<unknown> => await api.answerCallbackQuery(queryID, {}, signal)
    const say = async (text: string, signal: AbortSignal): Promise<unknown> =>
      await api.answerCallbackQuery(queryID, { text: clip(text, noticeLength) }, signal)
    return answering(about, { send: say, confirm, isMessage: false })
  }
}

/** The bot's id, which its token begins with. Each bot counts its updates by itself. */
function botIdOf(api: object): string {
  return 'token' in api && typeof api.token === 'string' ? (api.token.split(':')[0] ?? '') : ''
}

type UsernameOptions = Pick<ReceiverOptions, 'api' | 'onError' | 'timeoutMs' | 'clock'>

/**
 * The bot's name, without its `@`. Asks Telegram for it once. Resolves with undefined while that fails.
 */
function createUsername({ api, onError, timeoutMs, clock }: UsernameOptions): () => Promise<string | undefined> {
  let own: Promise<string | undefined> | undefined
  return async () => {
    own ??= fetched()
    const name = await own
    if (name === undefined) own = undefined
    return name
  }

  async function fetched(): Promise<string | undefined> {
    try {
      const call = { what: 'getMe', timeoutMs, clock, toPortError }
      const { username } = await callPlatform((signal) => api.getMe(signal), call)
      return username
    } catch (error) {
      const { message, cause } = toPortError(error, 'getMe')
      const doubt = 'so a command for another bot is passed on, and a mention is not noticed.'
      onError(new TelegramError('updates', `The bot's name is unknown, ${doubt} ${message}`, { cause }))
      return undefined
    }
  }
}
