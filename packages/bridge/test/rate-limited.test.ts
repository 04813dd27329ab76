import { createHandClock, startTelegram } from '@reply/testing'
import { expect, test } from 'vitest'
import { startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { telegramOn } from './platforms.ts'

test('a chat that takes nothing for a minute holds up no other, and loses and repeats nothing', async () => {
  const clock = createHandClock()
  const chatOf = (id: number, title: string) => ({ id, type: 'private', title }) as const
  const telegram = await startTelegram({ token: '42:secret', clock, chats: [chatOf(1, 'Ann'), chatOf(2, 'Bob')] })
  const agent = localAgent((run, text) => answer(run, `You said: ${text}.`), clock)
  const chats = await startChats({ platforms: [telegramOn(telegram)], connectTo: agent.connectTo })
  await chats.start({ clock })
  const answers = (id: number): readonly string[] =>
    telegram.screen(id).flatMap(({ from, text }) => (from === 'bot' && text.startsWith('You said:') ? [text] : []))
  /** Lets time pass until it is so. Resolves with how much did, in ms. */
  const passes = async (isSo: () => boolean): Promise<number> => {
    const began = clock.now()
    while (!isSo() && clock.now() - began < 120_000) {
      // Answers over the network take real time.
      for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve))
      await clock.advance(100)
    }
    return clock.now() - began
  }
  telegram.inject({ type: 'rate-limited', retryAfterS: 60, chatId: 1, method: /Message/ })
  for (const text of ['one', 'two']) telegram.say(1, text)
  await passes(() => telegram.calls.some(({ status }) => status === 429))
  const frozenAt = clock.now()
  for (const text of ['three', 'four']) {
    telegram.say(2, text)
    expect(await passes(() => answers(2).includes(`You said: ${text}.`))).toBeLessThan(10_000)
  }
  expect(clock.now() - frozenAt).toBeLessThan(60_000)
  expect(answers(1)).toEqual([])
  await passes(() => answers(1).length === 2)
  expect(clock.now() - frozenAt).toBeGreaterThanOrEqual(59_000)
  await passes(() => clock.now() - frozenAt > 100_000)
  expect(answers(1)).toEqual(['You said: one.', 'You said: two.'])
  expect(answers(2)).toEqual(['You said: three.', 'You said: four.'])
  expect(agent.heard.toSorted()).toEqual(['four', 'one', 'three', 'two'])
  expect(telegram.calls.filter(({ status }) => status === 429).length).toBeLessThan(6)
  await chats.close()
})
