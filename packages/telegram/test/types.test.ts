import { Api } from 'grammy'
import { expect, test } from 'vitest'
import type { TelegramInboundApi } from '../src/index.ts'

test("grammY's Api is assignable to our type", () => {
  const api: TelegramInboundApi = new Api('42:secret')
  expect(api.getUpdates).toBeTypeOf('function')
})
