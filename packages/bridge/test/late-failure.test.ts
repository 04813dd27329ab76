import { createFastClock } from '@reply/testing/internal'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { whatsappOn } from './platforms.ts'

/** WhatsApp's and the bridge's. */
const clock = createFastClock(20)
let whatsapp: Awaited<ReturnType<typeof startWhatsApp>>
let platform: ReturnType<typeof whatsappOn>
let chats: Chats
const deliveries: string[] = []

beforeEach(async () => {
  whatsapp = await startWhatsApp({ token: 'EAA-very-secret', clock })
  platform = whatsappOn(whatsapp)
  const agent = localAgent((run, text) => answer(run, `Did: ${text}`), clock)
  chats = await startChats({ platforms: [platform], connectTo: () => agent.connectTo() })
  deliveries.length = 0
  await chats.start({ clock, observers: [({ type }) => type === 'delivery' && deliveries.push(type)] })
})
afterEach(async () => await chats.close())

test('an answer that Meta reports as failed after its run is over may be missing, which the chat says once', async () => {
  whatsapp.inject({ type: 'undelivered', code: 131026, afterMs: 40_000, kind: 'text' })
  platform.say('ann', 'hello')
  await expect.poll(() => deliveries.length, { timeout: 20_000 }).toBe(1)
  const missing = () => platform.texts().filter((text) => text.includes('may be missing'))
  expect(missing()).toEqual([])
  await expect.poll(() => missing().length, { timeout: 20_000 }).toBe(1)
  platform.say('ann', '/resend')
  await expect
    .poll(() => platform.texts().filter((text) => text.includes('Did: hello')).length, { timeout: 20_000 })
    .toBe(1)
  platform.say('ann', 'next')
  await expect.poll(() => platform.texts().some((text) => text.includes('Did: next')), { timeout: 20_000 }).toBe(true)
  expect(missing()).toHaveLength(1)
})
