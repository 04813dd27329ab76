import type { Ask, Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { asks, permits, questionOf, replyWith, settledWith, text } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, type Scene } from './scene.ts'

const ann = { id: '5', name: 'Ann' }
const board = { id: '6', name: 'Board', isAnonymous: true } as const
const mentions = () => [ann, board]

function shared(limits = {}): Scene {
  return createScene({ fake: { limits }, sink: { mentions, chat: { id: 'chat', kind: 'shared' } } })
}

function blocked(...asks: Reply['asks']): Reply {
  return replyWith([text('Let me look.')], { phase: 'blocked', asks })
}

const named = ({ fake }: Scene) => fake.screen().map((message) => message.text.startsWith('@5\n'))

test('only the first message of an ask mentions who must answer', async () => {
  const scene = shared({ maxLength: 300 })
  const command = Array.from({ length: 24 }, (_, at) => `echo line ${at} of a long command`).join('\n')
  scene.show(blocked(permits({ call: { tool: 'bash', input: { command } } })))
  for (let page = 0; page < 9; page++) await scene.pass(5000)
  expect(named(scene).filter(Boolean)).toHaveLength(1)
  expect(named(scene)[1]).toBe(true)
  expect(scene.fake.screen().length).toBeGreaterThan(2)
  expect(scene.fake.screen().some(({ text }) => text.includes('@6'))).toBe(false)
})

test('an ask keeps its mention while it waits, and loses it with the answer', async () => {
  const scene = shared()
  const ask = asks([questionOf({ multiple: true })])
  scene.show(blocked(ask))
  await scene.pass(5000)
  expect(named(scene)).toEqual([false, true])
  const [first] = scene.fake.screen()[1]?.buttons.flat() ?? []
  await scene.sink().readAnswer(pressing(scene, first?.data ?? ''), { id: '5', name: 'Ann' })
  await scene.pass(5000)
  expect(scene.fake.screen()[1]).toMatchObject({ edits: 1, text: expect.stringMatching(/^@5\n/) })
  scene.show(settledWith([text('Let me look.')], { asks: [{ ...ask, status: 'answered', answers: [['Red']] }] }))
  await scene.end()
  expect(named(scene)).not.toContain(true)
})

test('a later question of the same ask mentions no one', async () => {
  const scene = shared()
  scene.show(blocked(asks([questionOf(), questionOf({ header: 'Size' })])))
  await scene.pass(5000)
  const [first] = scene.fake.screen()[1]?.buttons.flat() ?? []
  await scene.sink().readAnswer(pressing(scene, first?.data ?? ''), { id: '5', name: 'Ann' })
  await scene.pass(5000)
  expect(named(scene)).toEqual([false, false, false])
})

test('questions and permissions mention different people', async () => {
  const mentionsByType = (type: Ask['type']) => [{ ...ann, id: type === 'permission' ? '7' : '8' }]
  const scene = createScene({ sink: { mentions: mentionsByType, chat: { id: 'chat', kind: 'shared' } } })
  scene.show(blocked(asks()))
  await scene.pass(5000)
  expect(scene.fake.screen()[1]?.text).toMatch(/^@8\n/)
  const other = createScene({ sink: { mentions: mentionsByType, chat: { id: 'chat', kind: 'shared' } } })
  other.show(blocked(permits({ call: { tool: 'bash', input: { command: 'ls' } } })))
  await other.pass(5000)
  expect(other.fake.screen()[1]?.text).toMatch(/^@7\n/)
})

test('a private chat mentions no one', async () => {
  const scene = createScene({ sink: { mentions, chat: { id: 'chat', kind: 'private' } } })
  scene.show(blocked(asks()))
  await scene.pass(5000)
  expect(named(scene)).toEqual([false, false])
})

test('a mention that does not fit leaves less room for the text', async () => {
  const long = blocked(asks([questionOf({ question: 'Word. '.repeat(160).trim(), options: [], custom: true })]))
  const alone = createScene({ fake: { limits: { maxLength: 2000 } } })
  alone.show(long)
  await alone.pass(5000)
  const scene = shared({ maxLength: (alone.fake.screen()[1]?.text.length ?? 0) + 2 })
  scene.show(long)
  for (let step = 0; step < 6; step++) await scene.pass(5000)
  expect(named(scene)).toEqual([false, true, false])
})
