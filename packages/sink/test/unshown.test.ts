import { expect, test } from 'vitest'
import { replyWith, settledWith, text } from './make.ts'
import { createScene } from './scene.ts'
import { beginning } from './timeline.ts'

const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])

test('a chat lacks something from its last change on, while a growing text waits for its next edit', async () => {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  const since = () => scene.sink().unshownSince()
  expect(since()).toBeUndefined()
  scene.show(growing('It begins here.'))
  await scene.pass(100)
  expect(since()).toBeUndefined()
  const postedAt = scene.fake.calls.findLast(({ verb }) => verb === 'post')?.at
  scene.show(growing('It begins here. It goes on.'))
  await scene.pass(100)
  expect(since()).toBe(postedAt)
  await scene.pass(5000)
  expect(scene.fake.screen()).toMatchObject([{ text: 'It begins here. It goes on.' }])
  expect(since()).toBeUndefined()
})

test('a chat lacks the first text of a reply from when the sink got it', async () => {
  const scene = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  // Few letters wait for more.
  scene.show(growing('It'))
  await scene.pass(100)
  expect(scene.sink().unshownSince()).toBe(beginning)
})

test('a chat lacks nothing while only a status waits, after the end of a reply, and after a stop', async () => {
  const scene = createScene()
  scene.show(replyWith([]))
  await scene.pass(100)
  expect(scene.sink().unshownSince()).toBeUndefined()
  scene.show(settledWith([{ ...text('It is done.'), id: 'prt_a' }]))
  await scene.end()
  expect(scene.sink().unshownSince()).toBeUndefined()
  const other = createScene({ sink: { policy: { verbosity: 'quiet' } } })
  other.show(growing('It'))
  await other.sink().stop()
  expect(other.sink().unshownSince()).toBeUndefined()
})
