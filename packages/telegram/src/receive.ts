import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { createInboundReceiver } from '@reply/sink/channel'
import { type TelegramInboundApi, toChatId } from './api.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'
import type { Received, Update } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits, textLength } from './limits.ts'

export interface ReceiverOptions {
  readonly api: TelegramInboundApi
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: TelegramError) => void
  readonly clock: Clock
  readonly handleMs: number
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
    ...{ ...options, client: api, toPortError, Failure: TelegramError, pressMs },
    limitsOf: ({ id }) => telegramLimits(kindOf(toChatId(id)), false),
  })
  return { receive: async ({ id, received }) => await receive(String(id), () => received && inboundOf(received)), rest }

  function inboundOf(received: Received): Inbound {
    if (received.type === 'stop') return received
    if (received.type === 'text') {
      const { chat, messageRef } = received
      const replying = {
        ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
        reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
      }
      const say = async (text: string, signal: AbortSignal): Promise<unknown> =>
        await api.sendMessage(toChatId(chat.id), shortened(text, textLength), replying, signal)
      return { ...received, answer: answering(received, { say, isMessage: true }) }
    }
    const { queryID, ...press } = received
    const confirm = async (signal: AbortSignal): Promise<unknown> => await api.answerCallbackQuery(queryID, {}, signal)
    const say = async (text: string, signal: AbortSignal): Promise<unknown> =>
      await api.answerCallbackQuery(queryID, { text: shortened(text, noticeLength) }, signal)
    return { ...press, answer: answering(press, { say, confirm, isMessage: false }) }
  }
}

/** Never cuts a surrogate pair: Telegram refuses a text with half of one. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
