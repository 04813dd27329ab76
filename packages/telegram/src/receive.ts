import type { Inbound } from '@reply/sink'
import { clip, createInboundReceiver, type InboundOptions } from '@reply/sink/channel'
import { type TelegramInboundApi, toChatId } from './api.ts'
import { botOf } from './bot.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'
import type { Received, Update } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits, textLength } from './limits.ts'
import { createUsername } from './username.ts'

export interface ReceiverOptions extends InboundOptions {
  readonly api: TelegramInboundApi
}

export interface Receiver {
  /** Passes an update to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. */
  readonly receive: (update: Update) => Promise<void>
  readonly rest: () => Promise<void>
}

/** A pressed button shows a spinner for about 15 s; after that the press can't be answered. */
const pressMs = 10_000

export function createReceiver(options: ReceiverOptions): Receiver {
  const { api } = options
  const { receive, answering, rest } = createInboundReceiver({
    ...{
      ...options,
      client: botOf(api),
      account: `telegram/${botIdOf(api)}`,
      toPortError,
      Failure: TelegramError,
      pressMs,
    },
    limitsOf: ({ id }) => telegramLimits(kindOf(toChatId(id)), false),
  })
  const isOwnName = createUsername(options)
  let lookup: Promise<boolean> | undefined
  return { receive: take, rest }

  async function take({ id, received }: Update): Promise<void> {
    await receive(String(id), () => received && passedOn(received))
  }

  /** Leaves out a command for another bot. While its name is looked up, later updates wait, to keep their order. */
  function passedOn(received: Received): Inbound | Promise<Inbound | undefined> {
    const named = received.type === 'text' ? received.commandFor : undefined
    if (named === undefined && !lookup) return inboundOf(received)
    const own = Promise.resolve(lookup).then(() => named === undefined || isOwnName(named))
    lookup = own
    return own.then((isOwn) => {
      if (lookup === own) lookup = undefined
      return isOwn ? inboundOf(received) : undefined
    })
  }

  function inboundOf(received: Received): Inbound {
    if (received.type === 'stop') return received
    if (received.type === 'text') {
      const { commandFor: _, ...text } = received
      const { chat, messageRef } = text
      const replying = {
        ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
        reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
      }
      const say = async (words: string, signal: AbortSignal): Promise<unknown> =>
        await api.sendMessage(toChatId(chat.id), clip(words, textLength), replying, signal)
      return { ...text, answer: answering(text, { say, isMessage: true }) }
    }
    const { queryID, ...press } = received
    const confirm = async (signal: AbortSignal): Promise<unknown> => await api.answerCallbackQuery(queryID, {}, signal)
    const say = async (text: string, signal: AbortSignal): Promise<unknown> =>
      await api.answerCallbackQuery(queryID, { text: clip(text, noticeLength) }, signal)
    return { ...press, answer: answering(press, { say, confirm, isMessage: false }) }
  }
}

/** The bot's id, which its token begins with. Each bot counts its updates by itself. */
function botIdOf(api: object): string {
  return 'token' in api && typeof api.token === 'string' ? (api.token.split(':')[0] ?? '') : ''
}
