import { type Inbound, memoryStore } from '@reply/sink'
import { Api } from 'grammy'
import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../testing/test/listen.ts'
import { toUpdate } from '../src/inbound.ts'
import { type TelegramChannel, telegramChannel } from '../src/index.ts'
import { start, until } from './bot.ts'

const secretToken = 'a-secret_1'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

async function open(updates: 'polling' | 'webhook', options: Parameters<typeof start>[0] = {}) {
  const started = await start(options)
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel: TelegramChannel = telegramChannel({
    api: started.api,
    clock: started.clock,
    updates,
    secretToken,
    onInbound: (inbound) => received.push(inbound),
    onError: (error) => errors.push(error),
  })
  stops.push(() => channel.stop())
  channel.start()
  return { ...started, channel, received, errors }
}

const textsIn = (received: readonly Inbound[]): readonly string[] =>
  received.map((one) => (one.type === 'text' ? one.text : one.type))

describe('an unreadable update', () => {
  // https://core.telegram.org/bots/api#setwebhook: "In case of an unsuccessful request […], we will repeat the request".
  test('is reported and acknowledged, so that the webhook goes on', async () => {
    const { telegram, api, channel, received, errors } = await open('webhook')
    const hook = await listen(channel.listener)
    stops.push(hook.stop)
    await api.setWebhook(`${hook.url}/`, { secret_token: secretToken })
    telegram.push('message', { message_id: 'one', chat: { id: 7 }, text: 'unreadable' })
    telegram.say(7, 'two')
    await until(() => received.length === 1)
    expect(textsIn(received)).toEqual(['two'])
    expect(errors).toMatchObject([{ type: 'malformed', message: "Skipped update 100000001, which can't be read." }])
    expect((await api.getWebhookInfo()).last_error_message).toBeUndefined()
  })
})

describe('a command', () => {
  const chats = [{ id: -7 }]

  // https://core.telegram.org/bots/api#message: a caption's entities are `caption_entities`.
  test('is recognized in the caption of a picture, too', async () => {
    const { telegram, received } = await open('polling', { chats })
    telegram.say(-7, '/stop@other_bot now', { isCaption: true })
    telegram.say(-7, '/ask what this is', { isCaption: true })
    telegram.say(-7, 'Not /ask', { isCaption: true })
    await until(() => received.length === 2)
    expect(received).toMatchObject([
      { text: '/ask what this is', isCommand: true },
      { text: 'Not /ask', isCommand: false },
    ])
  })

  // https://core.telegram.org/bots/features#commands: in groups, `/command@this_bot` is for that bot only.
  test('for another bot is ignored', async () => {
    const { telegram, api, received } = await open('polling', { chats })
    const { username } = await api.getMe()
    telegram.say(-7, '/stop@other_bot now')
    telegram.say(-7, `/stop@${username.toUpperCase()} now`)
    telegram.say(-7, '/stop now')
    telegram.say(-7, 'Ask /stop@other_bot')
    await until(() => received.length === 3)
    expect(textsIn(received)).toEqual(['/stop now', '/stop now', 'Ask /stop@other_bot'])
    expect(received.map((one) => one.type === 'text' && one.isMention)).toEqual([true, undefined, undefined])
  })

  test('that names a bot is passed on if the own name is unknown', async () => {
    const faults = [{ method: 'getMe', type: 'status', code: 502, times: 1 }] as const
    const { telegram, received, errors } = await open('polling', { chats, faults })
    telegram.say(-7, '/one@other_bot')
    await until(() => received.length === 1)
    telegram.say(-7, '/two@other_bot')
    telegram.say(-7, '/three')
    await until(() => received.length === 2)
    expect(textsIn(received)).toEqual(['/one@other_bot', '/three'])
    expect(errors).toMatchObject([{ type: 'updates' }])
  })
})

test("a name that doesn't arrive within timeoutMs holds up a command no longer", async () => {
  const { telegram, api, clock } = await start({ chats: [{ id: -7 }], faults: [{ method: 'getMe', type: 'stall' }] })
  const received: Inbound[] = []
  const onInbound = (inbound: Inbound): unknown => received.push(inbound)
  const channel = telegramChannel({ api, clock, updates: 'own', timeoutMs: 1000, onInbound })
  telegram.say(-7, '/one@other_bot')
  const [update] = await api.getUpdates()
  const handled = channel.handleUpdate(update)
  await until(() => telegram.count('getMe') === 1)
  await clock.advance(1000)
  await handled
  expect(textsIn(received)).toEqual(['/one@other_bot'])
})

// https://core.telegram.org/bots/api#getting-updates: updates are kept "not longer than 24 hours" until they are confirmed.
test('an update that Telegram repeats after a restart is dropped, but not that of another bot with the same store', async () => {
  const store = memoryStore()
  const received: Inbound[] = []
  const { api, telegram } = await start()
  const other = new Api('43:other', { apiRoot: telegram.url })
  const handle = async (by: Api, id: number): Promise<void> => {
    const channel = telegramChannel({ api: by, updates: 'own', store, onInbound: (inbound) => received.push(inbound) })
    const message = { message_id: id, date: 1, text: `${id}`, chat: { id: 7 }, from: { id: 7, first_name: 'Ada' } }
    await channel.handleUpdate({ update_id: id, message })
  }
  for (const id of [1, 1, 2]) await handle(api, id)
  await handle(other, 1)
  expect(textsIn(received)).toEqual(['1', '2', '1'])
})

test.each<[string, object, object]>([
  [
    'a round video is a file',
    { video_note: { file_id: 'F1', length: 240, duration: 3, file_size: 9 } },
    { text: '', files: [{ ref: 'F1', name: 'video.mp4', mime: 'video/mp4', size: 9, seconds: 3 }] },
  ],
  [
    'a sticker is a picture',
    { sticker: { file_id: 'F2', emoji: '👍', is_animated: false, is_video: false } },
    { text: '', files: [{ ref: 'F2', name: 'sticker.webp', mime: 'image/webp' }] },
  ],
  [
    'a sticker that moves is its picture',
    { sticker: { file_id: 'F3', emoji: '👍', is_animated: true, thumbnail: { file_id: 'F4' } } },
    { text: '', files: [{ ref: 'F4', name: 'sticker.webp', mime: 'image/webp' }] },
  ],
  [
    'a sticker that moves and has no picture is its emoji',
    { sticker: { file_id: 'F5', emoji: '👍', is_video: true } },
    { text: 'Sticker: 👍' },
  ],
  ['a location is a text', { location: { latitude: 46.948, longitude: 7.4475 } }, { text: 'Location: 46.948, 7.4475' }],
  [
    'a venue is a text',
    {
      location: { latitude: 46.948, longitude: 7.4475 },
      venue: { location: { latitude: 46.948, longitude: 7.4475 }, title: 'Zytglogge', address: 'Bern' },
    },
    { text: 'Location: Zytglogge, Bern (46.948, 7.4475)' },
  ],
  [
    'a contact is a text',
    { contact: { phone_number: '+41310000000', first_name: 'Ann', last_name: 'Lee' } },
    { text: 'Contact: Ann Lee, +41310000000' },
  ],
])('%s', (_, content, expected) => {
  const from = { id: 1, first_name: 'Ann' }
  const message = { message_id: 5, date: 1, chat: { id: 1, type: 'private' }, from, ...content }
  expect(toUpdate({ update_id: 1, message })?.received).toMatchObject({ type: 'text', ...expected })
})
