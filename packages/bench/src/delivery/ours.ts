import { telegramSink } from '@reply/telegram'
import type { FakeTelegram } from '@reply/testing'
import { Api } from 'grammy'
import type { Timeline } from './timeline.ts'
import { chatID, token } from './watch.ts'

/** Our sink with its defaults, given the reply as it comes. */
export async function deliverByOurs({ states }: Timeline, telegram: FakeTelegram): Promise<void> {
  const api = new Api(token, { apiRoot: telegram.url })
  const sink = telegramSink({ api, chatId: chatID })
  const start = performance.now()
  const startedAt = Date.now()
  for (const [index, { atMs, reply }] of states.entries()) {
    const waitMs = atMs - (performance.now() - start)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const now = { ...reply, startedAt, ...(reply.phase === 'settled' && { settledAt: Date.now() }) }
    if (index === 0) sink.replyStarted?.({ type: 'replyStarted', reply: now })
    else sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: reply.phase, reply: now })
  }
  await sink.settled()
}
