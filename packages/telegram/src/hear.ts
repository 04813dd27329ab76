import type { Clock } from '@reply/core'
import type { Inbound } from '@reply/sink'
import { answerOnce, createHear, inTurn, pacerOf } from '@reply/sink/channel'
import { type TelegramInboundApi, toChatId } from './api.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'
import type { Heard, Update } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits, textLength } from './limits.ts'

export interface HearingOptions {
  readonly api: TelegramInboundApi
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: TelegramError) => void
  readonly clock: Clock
  /** How long to wait for the host before fetching more, in ms. The host's code goes on after that. */
  readonly handleMs: number
}

/** Passes an update to the host once. Resolves when the host is done or `handleMs` is over. Never rejects. */
export type HearUpdate = (update: Update) => Promise<void>

/** A pressed button shows a spinner for about 15 s; after that the press can't be answered. */
const pressMs = 10_000

export function createHearing(options: HearingOptions): HearUpdate {
  const { onInbound, onError, clock, handleMs } = options
  const hear = createHear({ onInbound, onFailure, clock, handleMs, pressMs })
  return async ({ id, heard }) => await hear(String(id), heard && inboundOf(heard, options))

  function onFailure({ type, chat }: Inbound, cause: unknown): void {
    const words = cause instanceof Error ? cause.message : String(cause)
    onError(new TelegramError('inbound', `A ${type} in chat ${chat.id} failed: ${words}`, { cause }))
  }
}

function inboundOf(heard: Heard, options: HearingOptions): Inbound {
  const { api, onError } = options
  const { type, chat } = heard
  if (heard.type === 'stop') return heard
  if (heard.type === 'text') return { ...heard, answer: answerOnce((text) => say(heard, text, options), fail) }
  const { queryID, ...press } = heard
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
  { chat, messageRef }: Extract<Heard, { type: 'text' }>,
  text: string | undefined,
  { api, clock }: HearingOptions,
): Promise<void> {
  if (!text) return
  const chatId = toChatId(chat.id)
  const pace = pacerOf(api, clock).chat(chat, telegramLimits(kindOf(chatId), false))
  await inTurn(pace, clock, () =>
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
