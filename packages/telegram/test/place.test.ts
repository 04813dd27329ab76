import { memoryStore } from '@reply/sink'
import { Api, Bot } from 'grammy'
import type { UserFromGetMe } from 'grammy/types'
import { describe, expect, test } from 'vitest'
import { asks, replyWith, settledWith, text } from '../../sink/test/make.ts'
import { beginning } from '../../sink/test/timeline.ts'
import { botOf } from '../src/api.ts'
import { type TelegramMove, telegramChannel, telegramSink } from '../src/index.ts'
import { editing, ending, open, posting, start, token, until } from './bot.ts'

const [group, supergroup] = [-7, -1007]

describe('a group that became a supergroup', () => {
  test('is written to under its new id, and reported once', async () => {
    const moves: TelegramMove[] = []
    const { telegram, port, bubble } = await open({}, { chatId: group, onMoved: (move) => moves.push(move) })
    const before = await port.post(bubble('before'), posting)
    telegram.upgrade(group, supergroup)
    const ref = await port.post(bubble('after'), { ...posting, replyTo: before })
    await port.edit?.(ref, bubble('after, edited'), editing)
    await port.post(bubble('and below'), { ...posting, replyTo: ref })
    expect(telegram.screen(supergroup)).toMatchObject([
      { text: 'after, edited', replyTo: undefined },
      { text: 'and below', replyTo: Number(ref.id) },
    ])
    expect(moves).toEqual([{ from: '-7', to: '-1007' }])
  })

  test('has lost its messages: an id never names another message', async () => {
    const { telegram, port, bubble } = await open({}, { chatId: group })
    const before = await port.post(bubble('before'), posting)
    telegram.upgrade(group, supergroup)
    expect(await ending(port.edit?.(before, bubble('x'), editing))).toMatchObject({ type: 'gone' })
    await port.post(bubble('after'), posting)
    expect(await ending(port.remove?.(before, editing))).toEqual({ type: 'done' })
    expect(telegram.screen(supergroup)).toMatchObject([{ text: 'after' }])
  })

  test('gets the rest of a reply, and its asks are answered there', async () => {
    const { telegram, api, clock } = await start()
    const sink = telegramSink({ api, clock, chatId: group, policy: { statusAfterMs: 3_600_000 }, answerers: ['1000'] })
    await clock.advance(beginning - clock.now())
    sink.replyStarted?.({ type: 'replyStarted', reply: replyWith([text('One.')]) })
    await until(() => {
      void clock.advance(100)
      return telegram.screen(group).length === 1
    })
    telegram.upgrade(group, supergroup)
    const reply = replyWith([text('One.')], { phase: 'blocked', asks: [asks()] })
    sink.replyAmended?.({ type: 'replyAmended', reply })
    await until(() => {
      void clock.advance(100)
      return telegram.screen(supergroup).length === 1
    })
    const [asked] = telegram.screen(supergroup)
    const data = asked?.buttons[0]?.[0]?.data ?? ''
    const chat = { id: String(supergroup), kind: 'shared' } as const
    const messageRef = { id: String(asked?.messageId) }
    expect(await sink.readAnswer({ token: data, messageRef, chat }, { id: '1000', name: 'Ada' })).toMatchObject({
      type: 'answer',
    })
    await sink.stop()
  })

  test('is reported by a channel, too', async () => {
    const moves: TelegramMove[] = []
    const { telegram, api, clock } = await start()
    const channel = telegramChannel({
      api,
      clock,
      updates: 'own',
      onInbound: () => {},
      onError: () => {},
      onMoved: (move) => {
        moves.push(move)
        throw new Error('of the host')
      },
    })
    telegram.say(group, 'before')
    telegram.upgrade(group, supergroup)
    const sink = channel.sinkFor({ chat: { id: String(group) } })
    sink.replyStarted?.({ type: 'replyStarted', reply: settledWith([text('It is done.')]) })
    await until(() => {
      void clock.advance(100)
      return telegram.screen(supergroup).length === 1
    })
    expect(moves).toEqual([{ from: '-7', to: '-1007' }])
    await sink.stop()
  })
})

describe('the clients of a bot', () => {
  test('of one grammY bot are one, also those that grammY makes for each update', async () => {
    const bot = new Bot(token, { client: { apiRoot: 'http://127.0.0.1:9' }, botInfo: await infoOf() })
    const seen: object[] = [botOf(bot.api)]
    bot.use((ctx) => void seen.push(ctx.api, botOf(ctx.api)))
    const from = { id: 7, is_bot: false, first_name: 'A' } as const
    const message = { message_id: 1, date: 0, from, chat: { ...from, type: 'private' }, text: 'x' } as const
    await bot.handleUpdate({ update_id: 1, message })
    expect([seen[1] === bot.api, seen[2] === seen[0]]).toEqual([false, true])
  })

  test('without client options are one, and others are not', () => {
    expect(botOf(new Api('1:a'))).toBe(botOf(new Api('1:a')))
    expect(botOf(new Api('1:a'))).not.toBe(botOf(new Api('2:a')))
    expect(botOf(new Api('1:a', { apiRoot: 'http://127.0.0.1:9' }))).not.toBe(botOf(new Api('1:a')))
    const other = {}
    expect(botOf(other)).toBe(other)
  })
})

async function infoOf(): Promise<UserFromGetMe> {
  const { api } = await start()
  return await api.getMe()
}

test('a limit that hits a second chat in its time stops all chats of the bot', async () => {
  const { telegram, api, clock } = await start({
    faults: [
      { chatId: 1, type: 'rate-limited', retryAfterS: 20 },
      { chatId: 2, type: 'rate-limited', retryAfterS: 20 },
    ],
  })
  await clock.advance(beginning - clock.now())
  const sinks = [1, 2, 3].map((chatId) => telegramSink({ api, clock, chatId, store: memoryStore() }))
  const show = (index: number): void => {
    const reply = settledWith([text('It is done.')])
    sinks[index]?.replyStarted?.({ type: 'replyStarted', reply })
  }
  show(0)
  await until(() => telegram.calls.length === 1)
  show(1)
  await until(() => telegram.calls.length === 2)
  show(2)
  await clock.advance(19_000)
  expect(telegram.calls.filter(({ chatId }) => chatId === 3)).toEqual([])
  await until(() => {
    void clock.advance(200)
    return [1, 2, 3].every((chatId) => telegram.screen(chatId).length === 1)
  })
  await Promise.all(sinks.map((sink) => sink.stop()))
})
