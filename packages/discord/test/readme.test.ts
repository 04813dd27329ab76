import { REST, type RESTOptions } from '@discordjs/rest'
import { startDiscord } from '@reply/testing'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as discordPackage from '../src/index.ts'

test("the README's first program posts the answer before it ends", async () => {
  const discord = await startDiscord({ token: 'MTA.readme' })
  class Local extends REST {
    constructor(options: Partial<RESTOptions>) {
      super({ ...options, api: discord.url })
    }
  }
  const modules = { '@reply/discord': discordPackage, '@discordjs/rest': { REST: Local } }
  const logged = await runProgram({
    page: 'packages/discord/README.md',
    ...{ modules, env: { DISCORD_TOKEN: 'MTA.readme' } },
  })
  expect(discord.screen('123456789012345678')).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await discord.close()
})
