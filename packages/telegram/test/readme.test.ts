import { until } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as telegramPackage from '../src/index.ts'

test("the README's second program posts the answer before it ends", async () => {
  const telegram = await startTelegram({ token: '1:readme' })
  class Local extends Api {
    constructor(token: string) {
      super(token, { apiRoot: telegram.url })
    }
  }
  const modules = { '@reply/telegram': telegramPackage, grammy: { Api: Local } }
  const logged = await runProgram({
    page: 'packages/telegram/README.md',
    nth: 2,
    modules,
    env: { TELEGRAM_TOKEN: '1:readme' },
  })
  expect(telegram.screen(123_456_789)).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await telegram.close()
})

test("the README's first program answers the person that it names, and no other", async () => {
  const telegram = await startTelegram({ token: '1:readme' })
  class Local extends Api {
    constructor(token: string) {
      super(token, { apiRoot: telegram.url })
    }
  }
  const modules = { '@reply/telegram': telegramPackage, grammy: { Api: Local } }
  const ends: (() => unknown)[] = []
  const page = 'packages/telegram/README.md'
  await runProgram({ page, modules, ends, env: { TELEGRAM_TOKEN: '1:readme' } })
  telegram.say(7, 'What is it?')
  telegram.say(123_456_789, 'What is it?')
  await until(() => telegram.screen(123_456_789).some(({ from }) => from === 'bot'))
  expect(telegram.screen(123_456_789).at(-1)).toMatchObject({ text: 'It is a typo.' })
  expect(telegram.screen(7)).toHaveLength(1)
  for (const end of ends) await end()
  await telegram.close()
})
