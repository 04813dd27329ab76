import { createMemoryState } from '@chat-adapter/state-memory'
import { createTelegramAdapter } from '@chat-adapter/telegram'
import type { FakeTelegram } from '@reply/testing'
import { Chat } from 'chat'
import type { Timeline } from './timeline.ts'
import { chatID, token } from './watch.ts'

/** Vercel's Chat SDK with its Telegram adapter and its own defaults, given the same text as it comes. */
export async function deliverByPeer({ texts }: Timeline, telegram: FakeTelegram): Promise<void> {
  const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }
  const adapter = createTelegramAdapter({
    botToken: token,
    apiBaseUrl: telegram.url,
    mode: 'webhook',
    allowUnverifiedWebhooks: true,
    logger: quiet,
  })
  const chat = new Chat({
    userName: 'bot',
    adapters: { telegram: adapter as never },
    state: createMemoryState(),
    logger: 'silent',
  })
  await chat.initialize()
  try {
    await chat
      .thread(`telegram:${chatID}`)
      .post(piecesOf(texts))
      .catch(() => undefined)
  } finally {
    await chat.shutdown()
  }
}

/** What is added to the text, when it is. */
async function* piecesOf(texts: Timeline['texts']): AsyncGenerator<string> {
  const start = performance.now()
  let said = ''
  for (const { atMs, text } of texts) {
    const waitMs = atMs - (performance.now() - start)
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    if (text.startsWith(said) && text !== said) yield text.slice(said.length)
    if (text.startsWith(said)) said = text
  }
}
