import { createTelegramAdapter } from '@chat-adapter/telegram'
import { telegramSink } from '@reply/telegram'
import { startTelegram } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { showOn } from './ours.ts'
import { postThrough, quiet } from './peer.ts'
import { type Platform, textOf } from './platform.ts'

const token = '1:bench'
const chatID = 1001

export const telegram: Platform = {
  name: 'Telegram',
  async open() {
    const fake = await startTelegram({ token })
    const adapter = () =>
      createTelegramAdapter({
        botToken: token,
        apiBaseUrl: fake.url,
        mode: 'webhook',
        allowUnverifiedWebhooks: true,
        logger: quiet,
      })
    return {
      observe: (look) => fake.observe(look),
      screen: () => textOf(fake.screen(chatID)),
      calls: () =>
        fake.calls.map(({ method, status, payload: { text, rich_message: rich } }) => ({
          name: method,
          isRateLimited: status === 429,
          text: typeof text === 'string' ? text : wordsIn(rich),
        })),
      notifications: () => fake.notifications(chatID),
      refuseNext: () => fake.inject({ type: 'rate-limited', retryAfterS: 3, method: /^(?!sendChatAction$)/ }),
      ours: (timeline, start) =>
        showOn(telegramSink({ api: new Api(token, { apiRoot: fake.url }), chatId: chatID }), timeline, start),
      peer: (timeline, start) => postThrough(adapter(), `telegram:${chatID}`, timeline, start),
      close: () => fake.close(),
    }
  },
}

/** The words of a rich message, which has Markdown or HTML. */
function wordsIn(rich: unknown): string | undefined {
  if (typeof rich !== 'object' || rich === null) return undefined
  if ('html' in rich && typeof rich.html === 'string') return rich.html.replace(/<[^>]*>|&\w+;/g, ' ')
  return 'markdown' in rich && typeof rich.markdown === 'string' ? rich.markdown : undefined
}
