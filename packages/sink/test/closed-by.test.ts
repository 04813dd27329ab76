import { expect, test } from 'vitest'
import { asks, questionOf, replyWith } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, type Scene } from './scene.ts'

const ada = { id: 'ada', name: 'Ada' }
const bob = { id: 'bob', name: 'Bob' }
const blocked = replyWith([], { phase: 'blocked', asks: [asks()] })
const rejected = replyWith([], { asks: [asks([questionOf()], { status: 'rejected' })] })
const answered = replyWith([], { asks: [asks([questionOf()], { status: 'answered', answers: [['Red']] })] })

async function asking(): Promise<Scene> {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  scene.show(blocked)
  await scene.pass(1000)
  return scene
}

async function said(scene: Scene): Promise<string> {
  await scene.pass(10_000)
  return scene.fake.screen()[0]?.text ?? ''
}

test('an ask that a stop closed names the person who stopped', async () => {
  const scene = await asking()
  scene.sink().closedBy(ada)
  scene.show(rejected)
  expect(await said(scene)).toContain('Ada')
})

test('a stop that failed is taken back: what closes the ask later names no one', async () => {
  const scene = await asking()
  const undo = scene.sink().closedBy(ada)
  undo()
  scene.show(rejected)
  expect(await said(scene)).not.toContain('Ada')
})

test('a stop does not take over an answer that is under way', async () => {
  const scene = await asking()
  const token = scene.fake.screen()[0]?.buttons.flat()[0]?.data ?? ''
  expect(await scene.sink().readAnswer(pressing(scene, token), bob)).toMatchObject({ type: 'answer' })
  scene.sink().closedBy(ada)()
  scene.show(answered)
  expect(await said(scene)).toMatch(/Bob/)
})

test('an answer from outside of the chat names the person on its ask alone', async () => {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  const other = { ...asks(), requestID: 'que_other' }
  scene.show(replyWith([], { phase: 'blocked', asks: [asks(), other] }))
  await scene.pass(5000)
  scene.sink().closedBy(ada, 'que_other')
  const end = { status: 'answered', answers: [['Red']] } as const
  scene.show(
    replyWith([], { asks: [asks([questionOf()], end), { ...asks([questionOf()], end), requestID: 'que_other' }] }),
  )
  await scene.pass(10_000)
  expect(scene.fake.screen().map(({ text }) => text.includes('Ada'))).toEqual([false, true])
})
