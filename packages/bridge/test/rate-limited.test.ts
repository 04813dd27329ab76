import { expect, test } from 'vitest'
import { startHandDriven } from './hand-driven.ts'
import { answer } from './local-agent.ts'

test('a chat that takes nothing for a minute holds up no other, and loses and repeats nothing', async () => {
  const { telegram, chats, clock, heard, said, passes } = await startHandDriven((run, text) =>
    answer(run, `You said: ${text}.`),
  )
  const answers = (id: number): readonly string[] => said(id).filter((text) => text.startsWith('You said:'))
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
  expect(heard.toSorted()).toEqual(['four', 'one', 'three', 'two'])
  expect(telegram.calls.filter(({ status }) => status === 429).length).toBeLessThan(6)
  await chats.close()
})
