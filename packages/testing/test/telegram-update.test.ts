import { createServer, type ServerResponse } from 'node:http'
import { Bot, InlineKeyboard, webhookCallback } from 'grammy'
import { afterEach, describe, expect, test } from 'vitest'
import { refusal, type Started, start, token, until } from './bot.ts'

const stops: (() => unknown)[] = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** A real bot that polls. */
const startBot = async ({ telegram }: Started, prepare: (bot: Bot) => void): Promise<Bot> => {
  const bot = new Bot(token, { client: { apiRoot: telegram.url } })
  prepare(bot)
  void bot.start()
  stops.push(() => bot.stop())
  await until(() => telegram.count('getUpdates') > 0)
  return bot
}

describe('a bot that polls', () => {
  test('receives what people say and answers', async () => {
    const started = await start()
    const { telegram } = started
    await startBot(started, (bot) => {
      bot.command('start', (ctx) => ctx.reply(`Welcome ${ctx.from?.first_name}`))
      bot.on('message:text', (ctx) => ctx.reply(`You said ${ctx.msg.text}`))
    })
    telegram.say(7, '/start')
    await until(() => telegram.screen(7).length === 2)
    telegram.say(-8, 'hello', { from: { id: 3, name: 'Ann' } })
    await until(() => telegram.screen(-8).length === 2)
    expect(telegram.screen(7)[1]?.text).toBe('Welcome Person')
    expect(telegram.screen(-8)[1]?.text).toBe('You said hello')
  })

  test('answers a press', async () => {
    const started = await start()
    const { telegram, api } = started
    await startBot(started, (bot) => {
      bot.callbackQuery('y', (ctx) =>
        ctx.answerCallbackQuery({ text: `Thanks ${ctx.from.first_name}`, show_alert: true }),
      )
    })
    await api.sendMessage(-8, 'Sure?', { reply_markup: new InlineKeyboard().text('Yes', 'y') })
    const press = telegram.press(-8, 1, 'Yes', { from: { id: 3, name: 'Ann' } })
    expect(press.status).toBe('waiting')
    expect(await press.settled).toMatchObject({ status: 'answered', text: 'Thanks Ann', isAlert: true, data: 'y' })
  })

  test('gets each update once: an offset confirms', async () => {
    const { telegram, api } = await start()
    telegram.say(7, 'one')
    telegram.say(7, 'two')
    const [first, second] = await api.getUpdates()
    expect((second?.update_id ?? 0) - (first?.update_id ?? 0)).toBe(1)
    expect(await api.getUpdates({ limit: 1 })).toEqual([first])
    expect(await api.getUpdates({ offset: second?.update_id ?? 0 })).toEqual([second])
    expect(await api.getUpdates({ offset: (second?.update_id ?? 0) + 1 })).toEqual([])
  })

  test('waits for its timeout', async () => {
    const { telegram, api, clock } = await start()
    const heard = api.getUpdates({ timeout: 30 })
    await until(() => clock.pending === 1)
    telegram.say(7, 'now')
    expect(await heard).toMatchObject([{ message: { text: 'now' } }])
    const nothing = api.getUpdates({ timeout: 30, offset: -1 })
    expect(await nothing).toHaveLength(1)
    const quiet = api.getUpdates({ timeout: 30, offset: 200_000_000 })
    await until(() => clock.pending === 1)
    await clock.advance(30_000)
    expect(await quiet).toEqual([])
  })

  test('is ended by another poll', async () => {
    const { telegram, api, clock } = await start()
    const first = refusal(api.getUpdates({ timeout: 30 }))
    await until(() => clock.pending === 1)
    const second = api.getUpdates({ timeout: 30 })
    expect(await first).toMatch('409 Conflict: terminated by other getUpdates request')
    telegram.say(7, 'hi')
    expect(await second).toHaveLength(1)
  })

  test('gets only the updates that it allows', async () => {
    const { telegram, api } = await start()
    const said = telegram.say(7, 'hi')
    telegram.setReaction(7, said, ['👍'])
    expect(await api.getUpdates({ allowed_updates: ['message_reaction'] })).toMatchObject([{ message: { text: 'hi' } }])
    telegram.say(7, 'unheard')
    telegram.setReaction(7, said, ['🔥'])
    expect(await api.getUpdates({ offset: 100_000_002 })).toMatchObject([
      { message_reaction: { message_id: said, old_reaction: [{ emoji: '👍' }], new_reaction: [{ emoji: '🔥' }] } },
    ])
  })
})

describe('a press', () => {
  test('can be answered once, within 15 s', async () => {
    const { telegram, api, clock } = await start()
    await api.sendMessage(7, 'Sure?', { reply_markup: new InlineKeyboard().text('Yes', 'y').text('No', 'n') })
    const tooOld = '400 Bad Request: query is too old and response timeout expired or query ID is invalid'
    const late = telegram.press(7, 1, 'Yes')
    await clock.advance(15_000)
    expect(late.status).toBe('expired')
    expect(await refusal(api.answerCallbackQuery(late.id))).toBe(tooOld)
    const twice = telegram.press(7, 1, 'n')
    await api.answerCallbackQuery(twice.id)
    expect([twice.status, twice.text, clock.pending]).toEqual(['answered', '', 0])
    expect(await refusal(api.answerCallbackQuery(twice.id))).toBe(tooOld)
  })

  test('needs a button', async () => {
    const { telegram, api } = await start({ chats: [{ id: 7 }] })
    await api.sendMessage(7, 'Sure?', { reply_markup: new InlineKeyboard().text('Yes', 'y') })
    expect(() => telegram.press(7, 1, 'Maybe')).toThrow(
      'Message 1 has no button "Maybe" that reaches the bot. It has "Yes".',
    )
    expect(() => telegram.press(7, 2, 'Yes')).toThrow('Chat 7 shows no message 2. It shows 1.')
    expect(() => telegram.say(9, 'hi')).toThrow("There is no chat 9: add it to startTelegram's chats.")
  })
})

describe('a webhook', () => {
  /** A real bot behind a web server, which first fails so many times. */
  const listen = async (failures = 0) => {
    const bot = new Bot(token, { botInfo: { ...(await (await start()).api.getMe()) } })
    const heard: string[] = []
    bot.on('message:text', (ctx) => {
      heard.push(ctx.msg.text)
    })
    const handle = webhookCallback(bot, 'http', { secretToken: 's3cret' })
    let left = failures
    const server = createServer((request, response) => {
      if (left === 0) return void handle(request, response)
      left -= 1
      response.writeHead(500).end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    stops.push(() => server.close())
    const address = server.address()
    return { heard, url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/hook` }
  }

  test('receives updates in order, with the secret', async () => {
    const { telegram, api } = await start()
    const { heard, url } = await listen()
    telegram.say(7, 'one')
    await api.setWebhook(url, { secret_token: 's3cret' })
    telegram.say(7, 'two')
    await until(() => heard.length === 2)
    expect(heard).toEqual(['one', 'two'])
    expect(await refusal(api.getUpdates())).toMatch("409 Conflict: can't use getUpdates method while webhook is active")
    await api.deleteWebhook()
    telegram.say(7, 'three')
    expect(await api.getUpdates()).toMatchObject([{ message: { text: 'three' } }])
  })

  test('that fails is retried later', async () => {
    const { telegram, api, clock } = await start()
    const { heard, url } = await listen(2)
    await api.setWebhook(url, { secret_token: 's3cret' })
    telegram.say(7, 'one')
    await until(() => clock.pending === 1)
    expect(await api.getWebhookInfo()).toMatchObject({
      url,
      pending_update_count: 1,
      last_error_message: 'Wrong response from the webhook: 500',
    })
    await clock.advance(1000)
    await until(() => clock.pending === 1)
    await clock.advance(2000)
    await until(() => heard.length === 1)
    await until(() => telegram.calls.length > 0)
    expect(heard).toEqual(['one'])
  })

  test('that fails an update of one chat gets those of others at once, and its next ones later', async () => {
    const { telegram, api, clock } = await start()
    const { heard, url } = await listen(1)
    await api.setWebhook(url, { secret_token: 's3cret' })
    telegram.say(7, 'one')
    await until(() => clock.pending === 1)
    telegram.say(7, 'two')
    telegram.say(8, 'other')
    await until(() => heard.length === 1)
    await clock.advance(1000)
    await until(() => heard.length === 3)
    expect(heard).toEqual(['other', 'one', 'two'])
  })

  test('with one connection gets one update at a time', async () => {
    const { telegram, api } = await start()
    const open: ServerResponse[] = []
    const server = createServer((_, response) => void open.push(response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    stops.push(() => server.close())
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/`
    await api.setWebhook(url, { max_connections: 1 })
    for (const chat of [7, 8]) telegram.say(chat, 'hi')
    await until(() => open.length === 1)
    expect(await api.getWebhookInfo()).toMatchObject({ pending_update_count: 2, max_connections: 1 })
    open[0]?.end()
    await until(() => open.length === 2)
    expect(await api.getWebhookInfo()).toMatchObject({ pending_update_count: 1 })
    await api.setWebhook(url)
    telegram.say(9, 'hi')
    await until(() => open.length === 4)
    expect(await api.getWebhookInfo()).toMatchObject({ pending_update_count: 2, max_connections: 40 })
    await api.deleteWebhook()
  })

  test('with the wrong secret rejects its updates', async () => {
    const { telegram, api, clock } = await start()
    const { heard, url } = await listen()
    await api.setWebhook(url, { secret_token: 'wrong' })
    telegram.say(7, 'one')
    await until(() => clock.pending === 1)
    expect((await api.getWebhookInfo()).last_error_message).toBe('Wrong response from the webhook: 401')
    expect(heard).toEqual([])
    expect(await refusal(api.setWebhook(url, { secret_token: 'no spaces' }))).toMatch('unallowed characters')
  })
})
