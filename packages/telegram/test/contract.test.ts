import { type ChannelContractOptions, portContract, type Stage, type StageFault } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { startTelegram, type TelegramFault } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { describe, test } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { createTelegramPort } from '../src/internal.ts'
import { renderFor } from '../src/port.ts'
import { token } from './bot.ts'

const blocked = 'Forbidden: bot was blocked by the user'
const unparsable = "Bad Request: can't parse entities: unclosed start tag at byte offset 3"
const faults: Readonly<Partial<Record<StageFault, TelegramFault>>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 3 },
  refused: { type: 'status', code: 403, description: blocked },
  unanswered: { type: 'accept-then-drop' },
  unparsable: { type: 'status', code: 400, description: unparsable },
  fixed: { type: 'status', code: 400, description: "Bad Request: message can't be edited" },
}

/** A chat of the fake Telegram, reached through the real grammY. */
async function stageOf(chatId: number, rich: boolean): Promise<Stage> {
  const clock = createHandClock()
  const telegram = await startTelegram({ token, clock })
  const api = new Api(token, { apiRoot: telegram.url })
  const inFlight = createInFlight()
  api.config.use(async (call, method, payload, signal) => {
    return await inFlight.during(async () => {
      // Most clauses post faster than a chat allows, because they use no pacer. Here the waiting time passes by itself.
      if (inFlight.count === 1 && isBare) await clock.advance(3100)
      return await call(method, payload, signal)
    })
  })
  let isBare = true
  async function rest(): Promise<void> {
    isBare = false
    await inFlight.rest()
  }
  const ours = () => telegram.screen(chatId).filter(({ from, isDraft }) => from === 'bot' && !isDraft)
  return {
    port: createTelegramPort({ api, chatId, rich, clock }),
    render: renderFor(api, rich),
    chat: { id: String(chatId) },
    clock,
    pass: async (ms) => await clock.advance(ms, rest),
    screen: () =>
      ours().map(({ messageId, text, isSilent, buttons, replyTo, document, photo }) => ({
        id: String(messageId),
        text,
        isSilent,
        buttons: buttons.map((row) => row.map((button) => ({ label: button.text, data: button.data ?? '' }))),
        replyTo: replyTo === undefined ? undefined : String(replyTo),
        fileName: (document ?? photo)?.name,
        isPicture: photo !== undefined,
        fileText: document && new TextDecoder().decode(document.bytes),
      })),
    faults: ['rate-limited', 'refused', 'unanswered', 'unparsable', 'fixed'],
    limitMs: 3000,
    failNext: (fault) => {
      const befalling = faults[fault]
      if (befalling) telegram.inject({ ...befalling, method: /^(?!sendChatAction$)/ })
    },
    writeText: (text) => ({ id: String(telegram.say(chatId, text)) }),
    deleteMessage: (id) => telegram.remove(chatId, Number(id)),
    notifications: () => telegram.notifications(chatId),
    mentions: {
      actor: { id: '5', name: 'Ann *x* [<b>' },
      in: (id) => ours().flatMap(({ messageId, mentions }) => (String(messageId) === id ? mentions.map(String) : [])),
    },
    secrets: [token, token.split(':')[1] ?? token],
    close: () => telegram.close(),
  }
}

const open = 'Telegram never says that a call did not arrive: a 5xx leaves it open'
const unkeyed: ChannelContractOptions['skip'] = {
  'reports later whether a post was delivered': 'Telegram says everything in its responses',
  'reports a call that did not arrive': open,
  'reports faults of edits and removals like those of posts': open,
  'shows a reply once when the first post is unreachable': open,
  'appends to a stream, which can be edited once closed': 'a draft is not a message',
  'posts once per key': 'Telegram takes no key with a message',
  'shows an unconfirmed post once when it is retried with its key': 'Telegram takes no key with a message',
}
const group: ChannelContractOptions['skip'] = {
  ...unkeyed,
  'writes a preview that is not a message': 'drafts are for private chats',
}

describe.each([
  ['a private chat', 7, true, unkeyed],
  ['a private chat in HTML', 7, false, unkeyed],
  ['a group', -7, true, group],
] as const)('%s', (name, chatId, rich, skip) => {
  const clauses = portContract({ name, setup: () => stageOf(chatId, rich), skip })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
