import type { Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { asks, permits, replyWith, settledWith, text } from './make.ts'
import { createScene } from './scene.ts'

const origin = 'From the terminal, shop'
const asking = (): Reply =>
  replyWith([text('A secret of the desk.')], {
    phase: 'blocked',
    asks: [permits({ call: { tool: 'bash', input: { command: 'ls' } } }), asks()],
  })

test('only the asks of a reply that was started elsewhere are shown, with where that was, and none notifies', async () => {
  let shows: 'all' | 'asks' = 'asks'
  let isQuiet = true
  const scene = createScene({ sink: { origin, shows: () => shows, isQuiet: () => isQuiet } })
  scene.show(asking())
  await scene.pass(5000)
  const said = scene.fake.screen().map((message) => message.text)
  expect(said).toHaveLength(2)
  for (const one of said) expect(one).toMatch(/^❓ From the terminal, shop: /)
  expect(scene.fake.notifications).toBe(0)
  // A prompt of the chat joined it.
  shows = 'all'
  isQuiet = false
  const answered = asking().asks.map((ask) => ({ ...ask, status: 'rejected' as const }))
  scene.show(settledWith([text('The answer.')], { asks: answered }))
  await scene.end()
  expect(scene.fake.screen().map((message) => message.text)).toContainEqual(expect.stringContaining('The answer.'))
  const loud = createScene({ sink: { origin } })
  loud.show(asking())
  await loud.pass(5000)
  expect(loud.fake.notifications).toBeGreaterThan(0)
})

test('the end of a long reply in a quiet chat has no message of its own, until a prompt of the chat joined it', async () => {
  const ends = [true, false].map(async (isQuiet) => {
    const scene = createScene({ sink: { origin, isQuiet: () => isQuiet } })
    scene.show(replyWith([text('It is')]))
    await scene.pass(40_000)
    scene.show(settledWith([text('It is built.')], {}, 40_000))
    await scene.end()
    return scene.fake.screen().map((message) => message.text)
  })
  expect(await Promise.all(ends)).toEqual([['It is built.'], ['It is built.', 'Done in 40s.']])
})

test('without anything to ask, nothing of such a reply is shown, and its delivery is complete', async () => {
  const scene = createScene({ sink: { origin, shows: () => 'asks' } })
  scene.show(replyWith([text('A secret of the desk.')]))
  scene.show(settledWith([text('The end of it.')]))
  expect(await scene.end()).toMatchObject({ shown: 0, undelivered: [] })
  expect(scene.fake.screen()).toEqual([])
})
