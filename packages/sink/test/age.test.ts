import { expect, test } from 'vitest'
import { replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const limits = { editWindowMs: 100_000 }
const policy = { statusAfterMs: 0, notifyAfterMs: 3_600_000 }
const growing = (said: string) => replyWith([{ ...text(said, { status: 'open' }), id: 'prt_a' }])
const whole = (said: string, afterMs: number) => settledWith([{ ...text(said), id: 'prt_a' }], {}, afterMs)
const textsOf = ({ fake }: Scene) => fake.screen().map((message) => message.text)

test('growing text goes on in another message before the first is too old to edit', async () => {
  const scene = createScene({ fake: { limits }, sink: { policy } })
  scene.show(growing('It begins.'))
  await scene.pass(101_000)
  scene.show(growing('It begins. It goes on.'))
  await scene.pass(10_000)
  expect(textsOf(scene)).toEqual(['It begins.', expect.stringMatching(/^It goes on\./)])
  scene.show(whole('It begins. It goes on. It ends.', 111_000))
  expect(await scene.end()).toMatchObject({ undelivered: [], doubtful: 0 })
  expect(textsOf(scene)).toEqual(['It begins.', 'It goes on. It ends.'])
})

test('a status that is too old to edit makes room for a new one', async () => {
  const scene = createScene({ fake: { limits }, sink: { policy } })
  scene.show(replyWith([]))
  await scene.pass(200_000)
  const [status, ...more] = scene.fake.screen()
  expect([status?.text, more]).toEqual([expect.stringContaining('3m 20s'), []])
  scene.show(whole('Here.', 200_000))
  await scene.end()
  expect(textsOf(scene)).toEqual(['Here.'])
})

test('nothing is edited that is too old', async () => {
  const scene = createScene({ fake: { limits }, sink: { policy } })
  for (let count = 1; count <= 60; count++) {
    scene.show(growing('word '.repeat(count)))
    await scene.pass(5000)
  }
  await scene.end().catch(() => {})
  expect(scene.fake.calls.filter(({ result }) => result !== 'done')).toEqual([])
})

test('a message is as old as the first try of its post may have made it', async () => {
  const outage = Array.from(
    { length: 6 },
    (_, at) => ({ call: at + 1, type: at === 0 ? 'done' : 'ambiguous' }) as const,
  )
  const scene = createScene({
    fake: { limits: { ...limits, idempotent: true }, faults: outage },
    sink: { policy: { ...policy, statusAfterMs: 3_600_000 } },
  })
  scene.show(growing('It begins.'))
  await scene.pass(70_000)
  expect(textsOf(scene)).toEqual(['It begins.'])
  await scene.pass(35_000)
  scene.show(growing('It begins. It goes on.'))
  await scene.pass(10_000)
  expect(textsOf(scene)).toEqual(['It begins.', 'It goes on.'])
  expect(scene.fake.calls.filter(({ verb, result }) => verb === 'edit' && result !== 'done')).toEqual([])
})
