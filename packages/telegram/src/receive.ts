import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { answerOnce, createInboundReceiver, pacerOf, waitForTurn } from '@reply/sink/channel'
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
  /** How long to wait for the host before fetching more, in ms. The host's code goes on after that. */
  readonly handleMs: number
}

/** Passes an update to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. */
export type ReceiveUpdate = (update: Update) => Promise<void>

/** A pressed button shows a spinner for about 15 s; after that the press can't be answered. */
const pressMs = 10_000

export function createReceiver(options: ReceiverOptions): ReceiveUpdate {
  const { onInbound, onError, clock, handleMs } = options
  const receive = createInboundReceiver({ onInbound, onFailure, clock, handleMs, pressMs })
  return async ({ id, received }) => await receive(String(id), received && inboundOf(received, options))

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new TelegramError('inbound', `A ${type} in chat ${chat.id} failed: ${words}`, { cause }))
  }
}

function inboundOf(received: Received, options: ReceiverOptions): Inbound {
  const { api, onError } = options
  const { type, chat } = received
  if (received.type === 'stop') return received
  if (received.type === 'text') return { ...received, answer: answerOnce((text) => say(received, text, options), fail) }
  const { queryID, ...press } = received
  const notice = async (text: string | undefined): Promise<unknown> =>
    await api.answerCallbackQuery(queryID, text ? { text: shortened(text, noticeLength) } : {})
  return { ...press, answer: answerOnce(notice, fail) }

  function fail(error: unknown): void {
    const cause = toPortError(error, `answering a ${type} in chat ${chat.id}`)
    onError(new TelegramError('answer', cause.message, { cause }))
  }
}

/** Waits for its turn: the chat has one rate budget. */
async function say(
  { chat, messageRef }: Extract<Received, { type: 'text' }>,
  text: string | undefined,
  { api, clock }: ReceiverOptions,
): Promise<void> {
  if (!text) return
  const chatId = toChatId(chat.id)
  const pace = pacerOf(api, clock).chat(chat, telegramLimits(kindOf(chatId), false))
  await waitForTurn(pace, clock, () =>
    api.sendMessage(chatId, shortened(text, textLength), {
      ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
      reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
    }),
  )
}

/** Never cuts a surrogate pair: Telegram refuses a text with half of one. */
function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
