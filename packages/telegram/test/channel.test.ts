import { answerWith, type Inbound, texts } from '@reply/sink'
import { Api, Bot } from 'grammy'
import { afterEach, describe, expect, test } from 'vitest'
import { type TelegramChannel, type TelegramChannelOptions, telegramChannel } from '../src/index.ts'
import { ending, type Started, start, token, until } from './bot.ts'

interface Receiver extends Started {
  readonly channel: TelegramChannel
  readonly received: Inbound[]
  readonly errors: Error[]
}

const begun: TelegramChannel[] = []
afterEach(async () => {
  await Promise.all(begun.splice(0).map((channel) => channel.stop()))
})

async function receive(
  given: Partial<TelegramChannelOptions> = {},
  onInbound: (inbound: Inbound) => unknown = () => {},
  options: Parameters<typeof start>[0] = {},
): Promise<Receiver> {
  const started = await start(options)
  const received: Inbound[] = []
  const errors: Error[] = []
  const channel = telegramChannel({
    api: started.api,
    clock: started.clock,
    updates: 'polling',
    onInbound: (inbound) => {
      received.push(inbound)
      return onInbound(inbound)
    },
    onError: (error) => errors.push(error),
    ...given,
  })
  begun.push(channel)
  channel.start()
  return { ...started, channel, received, errors }
}

const person = { id: 5, name: 'Ada' }

describe('inbound', () => {
  test('a text has its actor, chat and the message that it replies to', async () => {
    const { telegram, received } = await receive({}, undefined, { chats: [{ id: -7, topics: [3] }] })
    const first = telegram.say(-7, 'Hi', { from: person, threadId: 3 })
    telegram.say(-7, '/stop now', { from: person, replyTo: first })
    await until(() => received.length === 2)
    const actor = { id: '5', name: 'Ada' }
    expect(received).toMatchObject([
      { type: 'text', chat: { id: '-7', thread: '3' }, actor, text: 'Hi', messageRef: { id: '1' }, isCommand: false },
      { type: 'text', chat: { id: '-7' }, text: '/stop now', replyTo: { id: '1' }, isCommand: true },
    ])
  })

  test('a message in a topic has a replyTo only if the person replied', async () => {
    const { telegram, received } = await receive({}, undefined, { chats: [{ id: -7, topics: [3] }] })
    const first = telegram.say(-7, 'Hi', { from: person, threadId: 3 })
    telegram.say(-7, 'To you', { from: person, threadId: 3, replyTo: first })
    await until(() => received.length === 2)
    expect(received[0]).not.toHaveProperty('replyTo')
    expect(received[1]).toMatchObject({ replyTo: { id: String(first) } })
  })

  test("posts in a chat's name are marked as anonymous, and bots are ignored", async () => {
    const { telegram, received } = await receive({}, undefined, { chats: [{ id: -7, type: 'supergroup' }] })
    telegram.say(-7, 'as the group', { as: { id: -7, title: 'Team' } })
    telegram.say(-7, 'as a channel', { as: { id: -9, title: 'News' } })
    telegram.say(-7, 'by a bot', { from: { id: 6, isBot: true } })
    telegram.say(-7, 'by Ada', { from: person, isForwarded: true })
    await until(() => received.length === 3)
    expect(received).toMatchObject([
      { text: 'as the group', actor: { id: '-7', name: 'Team', isAnonymous: true } },
      { text: 'as a channel', actor: { id: '-9', name: 'News', isAnonymous: true } },
      { text: 'by Ada', actor: { id: '5', name: 'Ada' }, isForwarded: true },
    ])
    expect(received[2]?.actor).not.toHaveProperty('isAnonymous')
  })

  test.each([
    ['forwarded', { forward_origin: { type: 'hidden_user', sender_user_name: 'Bob', date: 1 } }, { isForwarded: true }],
    ['by an inline bot', { via_bot: { id: 9, is_bot: true, first_name: 'Cats' } }, { isForwarded: true }],
    ['scheduled', { is_from_offline: true }, { isForwarded: true }],
    ['a reply to another chat', { external_reply: { message_id: 1 } }, { replyTo: { id: 'elsewhere/1' } }],
    ['a reply to a story', { reply_to_story: { chat: { id: 7 }, id: 1 } }, { replyTo: { id: 'elsewhere/' } }],
  ])('a text that is %s answers no ask', async (_, fields, expected) => {
    const { channel, received } = await receive({ updates: 'own' })
    const message = {
      message_id: 2,
      date: 1_700_000_000,
      chat: { id: 7 },
      from: { id: 7, first_name: 'Ada' },
      text: '1',
    }
    await channel.handleUpdate({ update_id: 1, message: { ...message, ...fields } })
    expect(received).toMatchObject([{ type: 'text', text: '1', ...expected }])
  })

  test('an inbound has the post time and the kind of its chat', async () => {
    const { telegram, received } = await receive()
    telegram.say(7, 'Hi')
    await until(() => received.length === 1)
    expect(received[0]).toMatchObject({
      chat: { id: '7', kind: 'private' },
      messageRef: { postedAt: expect.any(Number) },
    })
  })

  test('the answer to a press is shown', async () => {
    const { telegram, api, received } = await receive({}, async (inbound) => {
      if (inbound.type !== 'press') return
      await inbound.answer('Taken.')
      await inbound.answer('Twice.')
    })
    const reply_markup = { inline_keyboard: [[{ text: 'Yes', callback_data: 'r~tok' }]] }
    await api.sendMessage(7, '?', { reply_markup })
    const press = await telegram.press(7, 1, 'Yes').settled
    expect([press.status, press.text]).toEqual(['answered', 'Taken.'])
    expect(received).toMatchObject([{ type: 'press', token: 'r~tok', chat: { id: '7' }, messageRef: { id: '1' } }])
    expect(telegram.count('answerCallbackQuery')).toBe(1)
  })

  test("a draft's Stop button is a stop", async () => {
    const { telegram, api, received } = await receive()
    await api.sendMessageDraft(7, 1, 'x', { can_stop: true })
    telegram.stopDraft(7)
    await until(() => received.length === 1)
    expect(received).toEqual([
      { type: 'stop', chat: { id: '7', kind: 'private' }, actor: { id: '7', name: expect.any(String) } },
    ])
  })
})

describe('a press', () => {
  const buttons = { reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data: 'r~tok' }]] } }

  test('is answered and reported if the host fails', async () => {
    const { telegram, api, errors } = await receive({}, () => Promise.reject(new Error('broken')))
    await api.sendMessage(7, '?', buttons)
    expect(await telegram.press(7, 1, 'Yes').settled).toMatchObject({ status: 'answered', text: '' })
    expect(errors).toMatchObject([{ type: 'inbound', message: 'A press in chat 7 failed: broken' }])
  })

  test('is answered before the deadline if the host takes long', async () => {
    const { telegram, api, clock, received } = await receive({}, () => new Promise(() => {}))
    await api.sendMessage(7, '?', buttons)
    const press = telegram.press(7, 1, 'Yes')
    await until(() => received.length === 1)
    await clock.advance(10_000)
    expect((await press.settled).status).toBe('answered')
  })

  test('that is too old fails, and the error is reported', async () => {
    const { telegram, api, errors, channel } = await receive({ updates: 'own' })
    await api.sendMessage(7, '?', buttons)
    const { message } = await api.getUpdates().then(() => ({ message: { message_id: 1, chat: { id: 7 } } }))
    const query = { id: 'old', from: { id: 5, first_name: 'Ada' }, data: 'r~tok', message }
    await channel.handleUpdate({ update_id: 1, callback_query: query })
    expect(errors).toMatchObject([{ type: 'answer' }])
    expect(telegram.count('answerCallbackQuery')).toBe(1)
  })
})

describe("the host's own button", () => {
  const buttons = { reply_markup: { inline_keyboard: [[{ text: 'Next page', callback_data: 'page:2' }]] } }

  test('reaches the host, which alone answers it', async () => {
    const { telegram, api, received, errors } = await receive({}, (inbound) =>
      inbound.type === 'press' ? inbound.answer('Page 2.') : undefined,
    )
    await api.sendMessage(7, 'Page 1.', buttons)
    expect(await telegram.press(7, 1, 'Next page').settled).toMatchObject({ status: 'answered', text: 'Page 2.' })
    expect([received, errors]).toMatchObject([[{ type: 'press', token: 'page:2', isForeign: true }], []])
  })

  test('is never answered by the channel or by answerWith', async () => {
    const refuse = (): never => {
      throw new Error('not asked')
    }
    const answer = answerWith({ client: { answer: refuse, reject: refuse, abort: refuse }, running: refuse })
    const results: boolean[] = []
    const { telegram, api, clock } = await receive({}, async (inbound) => results.push(await answer(inbound)))
    await api.sendMessage(7, 'Page 1.', buttons)
    const press = telegram.press(7, 1, 'Next page')
    await until(() => results.length === 1)
    await clock.advance(14_999)
    expect([press.status, results, telegram.count('answerCallbackQuery')]).toEqual(['waiting', [false], 0])
  })
})

// https://core.telegram.org/bots/api#inaccessiblemessage: a message older than 48 hours has a chat, an id, and the date 0.
test('a press on a message that can no longer be accessed names that message', async () => {
  const { channel, received } = await receive({ updates: 'own' })
  const message = { message_id: 42, date: 0, chat: { id: 7, first_name: 'Ada' } }
  const query = { id: '1', from: { id: 7, first_name: 'Ada' }, data: 'r~tok', message }
  await channel.handleUpdate({ update_id: 1, callback_query: query })
  expect(received).toMatchObject([{ type: 'press', chat: { id: '7' }, token: 'r~tok', messageRef: { id: '42' } }])
})

// https://core.telegram.org/bots/api#callbackquery: below a message sent by way of the bot, only `inline_message_id` is set.
test("a press of an ask's button that names no message of a chat is refused, and its spinner stops", async () => {
  const { api, channel, received } = await receive({ updates: 'own' })
  const answers: unknown[] = []
  api.config.use(async (call, method, payload, signal) => {
    if (method === 'answerCallbackQuery') answers.push(payload)
    return await call(method, payload, signal)
  })
  const query = { id: '1', from: { id: 7, first_name: 'Ada' }, inline_message_id: 'AgAAAA' }
  await channel.handleUpdate({ update_id: 1, callback_query: { ...query, data: 'r~tok.once' } })
  await channel.handleUpdate({ update_id: 2, callback_query: { ...query, data: 'page:2' } })
  expect(received).toEqual([])
  expect(answers).toEqual([{ callback_query_id: '1', text: texts.notItsMessage }])
})

test.each([200, 201])('a long answer is cut, never inside a surrogate pair: %i', async (length) => {
  const long = `${'x'.repeat(length - 200)}${'👍'.repeat(5000)}`
  const { telegram, api, errors } = await receive({}, (inbound) =>
    inbound.type === 'stop' ? {} : inbound.answer(long),
  )
  await api.sendMessage(7, '?', { reply_markup: { inline_keyboard: [[{ text: 'Yes', callback_data: 'r~tok' }]] } })
  expect((await telegram.press(7, 1, 'Yes').settled).text).toMatch(/^x?👍{98,99}…$/u)
  telegram.say(7, 'Hi')
  await until(() => telegram.screen(7).length === 3)
  expect([telegram.screen(7)[2]?.text, errors]).toEqual([expect.stringMatching(/^x?👍{2046,2047}…$/u), []])
})

test("a text's answer is a reply in its topic", async () => {
  const { telegram } = await receive(
    {},
    (inbound) => (inbound.type === 'text' ? inbound.answer('No such option.') : {}),
    {
      chats: [{ id: -7, topics: [3] }],
    },
  )
  telegram.say(-7, 'Purple', { threadId: 3 })
  await until(() => telegram.screen(-7, 3).length === 2)
  expect(telegram.screen(-7, 3)).toMatchObject([{}, { text: 'No such option.', replyTo: 1 }])
})

test("a text's answer mentions no one and has no link preview", async () => {
  const long = 'Not @some_body, but https://a.example or tg://resolve?domain=x.'
  const { telegram } = await receive({}, (inbound) => (inbound.type === 'text' ? inbound.answer(long) : {}))
  telegram.say(7, 'Purple')
  await until(() => telegram.screen(7).length === 2)
  const text = 'Not @\u2060some_body, but https://a.example or tg:\u2060//resolve?domain=x.'
  expect(telegram.screen(7)[1]).toMatchObject({ text, names: [], loads: [] })
})

describe('polling', () => {
  test('asks for the handled update types only, and continues with the next poll', async () => {
    const { telegram, received } = await receive()
    telegram.say(7, 'one')
    await until(() => received.length === 1 && telegram.count('getUpdates') === 2)
    telegram.say(7, 'two')
    await until(() => received.length === 2)
    expect(telegram.calls[1]?.payload).toMatchObject({
      offset: 100_000_002,
      allowed_updates: ['message', 'callback_query', 'stopped_message_generation'],
    })
  })

  test('confirms the handled updates when it stops', async () => {
    const { telegram, received, channel, api } = await receive({}, () => void channel.stop())
    telegram.say(7, 'one')
    await until(() => received.length === 1)
    await until(() => telegram.count('getUpdates') >= 2)
    await channel.stop()
    expect(await api.getUpdates()).toEqual([])
  })

  test('continues while the host is busy, which may be waiting for the next update', async () => {
    let release = (): void => {}
    const waiting = new Promise<void>((resolve) => {
      release = resolve
    })
    const { telegram, received, clock } = await receive({}, (inbound) => {
      if (inbound.type === 'text' && inbound.text === 'two') release()
      return waiting
    })
    telegram.say(7, 'one')
    await until(() => received.length === 1)
    telegram.say(7, 'two')
    await clock.advance(5000)
    await until(() => received.length === 2)
  })

  test('waits longer after each failure and reports why', async () => {
    const { telegram, received, errors, clock } = await receive({}, undefined, {
      faults: [{ method: 'getUpdates', type: 'status', code: 502, times: 2 }],
    })
    await until(() => errors.length === 1)
    await clock.advance(1000)
    await until(() => errors.length === 2)
    await clock.advance(1999)
    expect(telegram.count('getUpdates')).toBe(2)
    await clock.advance(1)
    telegram.say(7, 'one')
    await until(() => received.length === 1)
    expect(errors).toMatchObject([{ type: 'updates', message: 'getUpdates: 502 Bad Gateway' }, {}])
  })

  test('starts again after a poll without an answer', async () => {
    const { telegram, received, errors, clock } = await receive({}, undefined, {
      faults: [{ method: 'getUpdates', type: 'stall' }],
    })
    await until(() => telegram.count('getUpdates') === 1)
    await clock.advance(45_000)
    await until(() => errors.length === 1)
    await clock.advance(1000)
    telegram.say(7, 'one')
    await until(() => received.length === 1)
    expect(errors).toMatchObject([{ type: 'updates' }])
  })

  test('reports a webhook, with the cure', async () => {
    const { errors } = await receive({}, undefined, {
      faults: [
        {
          method: 'getUpdates',
          type: 'status',
          code: 409,
          description: "Conflict: can't use it while webhook is active",
        },
      ],
    })
    await until(() => errors.length === 1)
    expect(errors).toMatchObject([{ type: 'conflict', message: /deleteWebhook/ }])
  })

  test('ends with a wrong token, and no error contains it', async () => {
    const { telegram } = await start()
    const errors: Error[] = []
    const api = new Api('1:very-secret-other', { apiRoot: telegram.url })
    const channel = telegramChannel({ api, updates: 'polling', onInbound: () => {}, onError: (e) => errors.push(e) })
    channel.start()
    await until(() => errors.length === 1)
    await channel.stop()
    expect(await ending(Promise.reject(errors[0]))).toMatchObject({ type: 'unauthorized' })
  })

  test('reports a missing server without the token', async () => {
    const { telegram, errors } = await receive()
    await telegram.close()
    await until(() => errors.length > 0)
    for (const error of errors) expect(await ending(Promise.reject(error))).toMatchObject({ type: 'updates' })
  })
})

test("the host's own bot passes updates on, each once", async () => {
  const { telegram, api, channel, received, errors } = await receive({ updates: 'own' })
  const bot = new Bot(token, { client: { apiRoot: telegram.url } })
  await bot.init()
  bot.use(async (ctx, next) => {
    await channel.handleUpdate(ctx.update)
    await next()
  })
  telegram.say(7, 'Hi')
  const [update] = await api.getUpdates()
  if (update) await Promise.all([bot.handleUpdate(update), bot.handleUpdate(update)])
  await channel.handleUpdate({ nothing: true })
  await channel.handleUpdate({ update_id: 3, message: { message_id: 1, chat: { id: 7 }, from: { id: 5 } } })
  expect(received).toMatchObject([{ type: 'text', text: 'Hi' }])
  expect(errors).toMatchObject([{ type: 'malformed' }])
})

test('sinkFor takes the place from the inbound', async () => {
  const { channel } = await receive({ updates: 'own' })
  const sink = channel.sinkFor({ chat: { id: '-7', thread: '3' }, replyTo: { id: '1' } })
  await sink.stop()
  expect(await sink.settled()).toEqual({ shown: 0, undelivered: [], doubtful: 0, calls: 0, rateLimited: 0 })
})

// https://core.telegram.org/bots/api#update: an edited message is an update of its own.
test('an edited message changes nothing: what was taken stays as it was heard', async () => {
  const { channel, received, errors } = await receive({ updates: 'own' })
  const message = {
    message_id: 2,
    date: 1_700_000_000,
    chat: { id: 7 },
    from: { id: 7, first_name: 'Ada' },
    text: 'yes',
  }
  await channel.handleUpdate({ update_id: 1, edited_message: { ...message, edit_date: 1_700_000_100 } })
  expect([received, errors]).toEqual([[], []])
})
