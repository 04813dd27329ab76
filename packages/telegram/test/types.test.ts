import { Api } from 'grammy'
import { expect, test } from 'vitest'
import type { TelegramInboundApi } from '../src/index.ts'

test("grammY's Api fits where one is taken", () => {
  const api: TelegramInboundApi = new Api('42:secret')
  expect(api.getUpdates).toBeTypeOf('function')
})
