import { connect, systemClock } from '@reply/core'
import { SinkError } from '@reply/sink'
import { launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startChats } from './chats.ts'
import { whatsappOn } from './platforms.ts'

let model: ScriptedModel
let server: OpencodeServer

beforeAll(async () => {
  model = await startModel({
    scripts: { hello: { steps: [[sayText('Hello to you.')]] }, again: { steps: [[sayText('Hello again.')]] } },
  })
  server = await launchOpencode({ model, config: { extra: { snapshot: false } } })
})
afterAll(async () => {
  await server.stop()
  await model.close()
})

test('an answer that WhatsApp no longer takes is shown when the person writes, also after a restart of the bridge', async () => {
  let aheadMs = 0
  const now = (): number => systemClock.now() + aheadMs
  const clock = { ...systemClock, now, wall: now }
  const whatsapp = await startWhatsApp({ token: 'EAA-very-secret', clock })
  const platform = whatsappOn(whatsapp)
  const { url, directory } = server
  const chats = await startChats({ platforms: [platform], connectTo: () => connect({ url, directory }) })
  const held = () => chats.errors.filter((error) => error instanceof SinkError && error.type === 'chat-closed').length
  try {
    await chats.start()
    platform.say('ann', 'Hi [scenario:hello]')
    // A day passes while the agent works.
    await expect.poll(() => whatsapp.count('typing')).toBeGreaterThan(0)
    aheadMs = 86_400_001
    await expect.poll(held).toBe(1)
    expect(platform.texts()).toEqual([])
    await chats.stop()
    await chats.start()
    await expect.poll(held).toBe(2)
    expect(platform.texts()).toEqual([])
    platform.say('ann', 'And now? [scenario:again]')
    const answers = () => platform.texts().filter((words) => words.startsWith('Hello'))
    await expect.poll(answers, { timeout: 60_000 }).toEqual(['Hello to you.', 'Hello again.'])
  } finally {
    await chats.close()
  }
})
