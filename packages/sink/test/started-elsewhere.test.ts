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

test('a prompt that joined is one message above what answers it, also in a second process, and is cut to fit', async () => {
  const joinedPrompt = (id: string, { text: said }: { readonly text: string }): string | undefined =>
    id === 'u2' ? `> ${said}` : undefined
  const scene = createScene({ sink: { joinedPrompt } })
  const [first] = replyWith([text('It builds.')]).messages
  if (!first) throw new Error('It has no message.')
  const prompts = Object.fromEntries(
    ['u2', 'u3'].map((id) => [id, { text: 'Use pnpm. '.repeat(1000), files: [], parts: [] }]),
  )
  const joined = { promptIDs: ['u1', 'u2', 'u3'], joinedPrompts: prompts }
  const second = { ...first, id: 'm2', parentID: 'u2', parts: [text('I do.', { id: 'p2' })] }
  scene.show(replyWith([], { ...joined, messages: [first] }))
  await scene.pass(5000)
  scene.show(replyWith([], { ...joined, messages: [first, second] }))
  await scene.pass(5000)
  scene.restart()
  scene.show(settledWith([], { ...joined, messages: [first, second] }))
  await scene.end()
  const shown = scene.fake.screen().map((message) => message.text)
  expect(shown).toEqual(['It builds.', expect.stringMatching(/^> Use pnpm/), 'I do.'])
})
