import { type TelegramConnection, telegramConnection } from '@reply/telegram/bridge'
import { sayText } from '@reply/testing'
import { Bot } from 'grammy'
import { expect, test } from 'vitest'
import { startStage } from './stage.ts'

test("a bot of the program's own keeps its own commands, and passes the rest on", async () => {
  const stage = await startStage({
    scripts: { hello: { steps: [[sayText('Hello to you.')]] } },
    people: { ann: { ids: ['tg:1'], may: ['prompt'] } },
    chats: [{ id: 1, type: 'private', title: 'Ann' }],
  })
  const bot = new Bot('42:secret', { client: { apiRoot: stage.telegram.url } })
  let connection: TelegramConnection | undefined
  bot.command('ping', async (context) => await context.reply('pong'))
  bot.use(async (context) => await connection?.handleUpdate(context.update))
  try {
    await stage.start({
      connect: (host) => {
        connection = telegramConnection({ api: bot.api, updates: 'own' }, host)
        return connection
      },
    })
    void bot.start()
    stage.telegram.say(1, '/ping')
    await stage.seen(1, () => stage.said(1).includes('pong'))
    stage.telegram.say(1, 'Say hello [scenario:hello]')
    await stage.seen(1, () => stage.said(1).some((said) => said.includes('Hello to you.')))
    expect(stage.errors).toEqual([])
  } finally {
    await bot.stop()
    await stage.close()
  }
})
