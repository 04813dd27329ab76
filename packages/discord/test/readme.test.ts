import { REST, type RESTOptions } from '@discordjs/rest'
import { until } from '@reply/testing'
import { startDiscord } from '@reply/testing/discord'
import { Client, type ClientOptions, GatewayIntentBits } from 'discord.js'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as discordPackage from '../src/index.ts'

test("the README's second program posts the answer before it ends", async () => {
  const discord = await startDiscord({ token: 'MTA.readme' })
  class Local extends REST {
    constructor(options: Partial<RESTOptions>) {
      super({ ...options, api: discord.url })
    }
  }
  const modules = { '@reply/discord': discordPackage, '@discordjs/rest': { REST: Local } }
  const logged = await runProgram({
    page: 'packages/discord/README.md',
    nth: 2,
    modules,
    env: { DISCORD_TOKEN: 'MTA.readme' },
  })
  expect(discord.screen('123456789012345678')).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await discord.close()
})

test("the README's first program answers the person that it names, and no other", async () => {
  const discord = await startDiscord({ token: 'MTA.readme' })
  const clients: Client[] = []
  class Local extends Client {
    constructor(options: ClientOptions) {
      super({ ...options, rest: { ...options.rest, api: discord.url } })
      clients.push(this)
    }
  }
  const ends: (() => unknown)[] = []
  await runProgram({
    page: 'packages/discord/README.md',
    ends,
    modules: {
      '@reply/discord': discordPackage,
      'discord.js': { Client: Local, GatewayIntentBits },
    },
    env: { DISCORD_TOKEN: 'MTA.readme' },
  })
  await until(() => clients.every((client) => client.isReady()))
  // The person's id in the program; the fake's channel has the same.
  const id = '123456789012345678'
  discord.say(id, 'And for me?', { from: { id: '9', name: 'Bob' } })
  discord.say(id, 'What is it?', { from: { id, name: 'Ann' } })
  await until(() => discord.screen(id).some(({ from }) => from === 'bot'))
  expect(discord.screen(id).filter(({ from }) => from === 'bot')).toMatchObject([{ text: 'It is a typo.' }])
  for (const end of ends) await end()
  await discord.close()
})
