import { startTelegram } from '@reply/testing'
import { Api } from 'grammy'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import * as telegramPackage from '../src/index.ts'

test("the README's first program posts the answer before it ends", async () => {
  const telegram = await startTelegram({ token: '1:readme' })
  class Local extends Api {
    constructor(token: string) {
      super(token, { apiRoot: telegram.url })
    }
  }
  const modules = { '@reply/telegram': telegramPackage, grammy: { Api: Local } }
  const logged = await runProgram({
    page: 'packages/telegram/README.md',
    ...{ modules, env: { TELEGRAM_TOKEN: '1:readme' } },
  })
  expect(telegram.screen(123_456_789)).toMatchObject([{ text: 'It is a typo.' }])
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await telegram.close()
})
