import type { Clock } from '@reply/core'
import { type TelegramInboundApi, toChatId } from './api.ts'
import { TelegramError } from './error.ts'
import { toPortError } from './failure.ts'
import { pacerOf } from './features.ts'
import type { Answering, Heard, Inbound, Update } from './inbound.ts'
import { kindOf, noticeLength, telegramLimits } from './limits.ts'

export interface HearOptions {
  readonly api: TelegramInboundApi
  readonly onInbound: (inbound: Inbound) => unknown
  readonly onError: (error: TelegramError) => void
  readonly clock: Clock
  /** So long the host may take before the next update, in ms; it goes on after that, too. */
  readonly handleMs: number
}

/** Gives an update to the host, once, and resolves when that is done or has taken long enough. Never rejects. */
export type Hear = (update: Update) => Promise<void>

/** A press spins for about 15 s, and can't be answered later. */
const pressMs = 10_000

/** Telegram keeps updates for a day; a replay of one that is older than so many others is no accident. */
const rememberedUpdates = 1000

export function createHear(options: HearOptions): Hear {
  const { onInbound, onError, clock, handleMs } = options
  const seen = new Set<number>()
  return async ({ id, heard }) => {
    if (seen.has(id)) return
    seen.add(id)
    for (const oldest of [...seen].slice(0, -rememberedUpdates)) seen.delete(oldest)
    if (!heard) return
    await atMost(handle(heard))
  }

  async function handle(heard: Heard): Promise<void> {
    const inbound = inboundOf(heard, options)
    const answer = inbound.type === 'press' ? inbound.answer : async () => {}
    const stop = clock.after(pressMs, answer)
    try {
      await onInbound(inbound)
    } catch (cause) {
      const words = cause instanceof Error ? cause.message : String(cause)
      onError(new TelegramError('inbound', `A ${heard.type} in chat ${heard.chat.id} failed: ${words}`, { cause }))
    } finally {
      stop()
      await answer()
    }
  }

  /** What takes longer goes on beside the next ones: it may wait for one of them. */
  async function atMost(handled: Promise<void>): Promise<void> {
    let stop = (): void => {}
    const passed = new Promise<void>((resolve) => {
      stop = clock.after(handleMs, resolve)
    })
    await Promise.race([handled, passed])
    stop()
  }
}

function inboundOf(heard: Heard, options: HearOptions): Inbound {
  if (heard.type === 'stop') return heard
  if (heard.type === 'text') return { ...heard, answer: once((text) => say(heard, text, options), heard, options) }
  const { queryID, ...press } = heard
  const notice = async (text: string | undefined): Promise<unknown> =>
    await options.api.answerCallbackQuery(queryID, text ? { text: shortened(text) } : {})
  return { ...press, answer: once(notice, heard, options) }
}

function once(
  answer: (text: string | undefined) => Promise<unknown>,
  { type, chat }: Heard,
  { onError }: HearOptions,
): Answering {
  let isAnswered = false
  return async (text) => {
    if (isAnswered) return
    isAnswered = true
    try {
      await answer(text)
    } catch (error) {
      const cause = toPortError(error, `answering a ${type} in chat ${chat.id}`)
      onError(new TelegramError('answer', cause.message, { cause }))
    }
  }
}

/** In its turn: the chat has one budget. */
async function say(
  { chat, messageRef }: Extract<Heard, { type: 'text' }>,
  text: string | undefined,
  { api, clock }: HearOptions,
): Promise<void> {
  if (!text) return
  const chatId = toChatId(chat.id)
  const pace = pacerOf(api, clock).chat(chat, telegramLimits(kindOf(chatId), false))
  let leave = pace.enter()
  while (!leave || pace.readyAt('ask') > clock.now()) {
    leave?.()
    await new Promise<void>((resolve) => {
      if (leave) clock.after(Math.max(1, pace.readyAt('ask') - clock.now()), resolve)
      else pace.onFree(resolve)
    })
    leave = pace.enter()
  }
  try {
    await api.sendMessage(chatId, text.slice(0, 4096), {
      ...(chat.thread !== undefined && { message_thread_id: Number(chat.thread) }),
      reply_parameters: { message_id: Number(messageRef.id), allow_sending_without_reply: true },
    })
  } finally {
    leave()
  }
}

function shortened(text: string): string {
  return text.length <= noticeLength ? text : `${text.slice(0, noticeLength - 1)}…`
}
