import { expect, test } from 'vitest'
import type { FakeFault } from '../src/testing/fake-options.ts'
import { asks, replyWith, settledWith, text } from './make.ts'
import { createScene, type Scene } from './scene.ts'

const answer = settledWith([text('It is done.')])
const always = (type: FakeFault['type'], count = 2000): readonly FakeFault[] =>
  Array.from({ length: count }, (_, index) => ({ call: index + 1, type }))

test.each(['ambiguous', 'unreachable'] as const)('a delivery that is %s for too long is given up', async (type) => {
  const scene = createScene({
    fake: { faults: always(type), lookUp: 'exact' },
    sink: { policy: { giveUpMs: 600_000 } },
  })
  scene.show(answer)
  const { undelivered, shown } = await scene.end()
  const reason = 'It could not be shown before the sink gave up.'
  expect([undelivered, shown]).toEqual([[{ key: 'answer#0', card: 'answer', type: 'given-up', reason }], 0])
  const calls = scene.fake.calls.length
  await scene.pass(3_600_000)
  expect(scene.fake.calls.length).toBe(calls)
  expect(scene.errors.length).toBeGreaterThan(8)
  expect(scene.errors.filter((error) => error.type === 'given-up')).toHaveLength(1)
})

/** Longer than the default of `giveUpMs`. */
const waitADay = async (scene: Scene): Promise<void> => {
  for (let hour = 0; hour < 25; hour++) await scene.pass(3_600_000)
}

test('an amendment long after the last call is shown', async () => {
  const scene = createScene()
  scene.show(settledWith([{ ...text('It is done.'), id: 'prt_a' }]))
  await scene.end()
  await waitADay(scene)
  scene.show(settledWith([{ ...text('It is done. Really.'), id: 'prt_a' }]), 'replyAmended')
  expect((await scene.end()).undelivered).toEqual([])
  expect(scene.fake.screen()).toMatchObject([{ text: 'It is done. Really.' }])
})

test('a reply that waited long for a person shows its answer', async () => {
  const scene = createScene({
    fake: { lacks: ['edit', 'remove'], limits: { edits: false } },
    sink: { policy: { verbosity: 'quiet' } },
  })
  scene.show(replyWith([], { asks: [asks()], phase: 'blocked' }))
  await scene.pass(5000)
  await waitADay(scene)
  scene.show(
    settledWith([text('It is done.')], { asks: [asks(undefined, { status: 'answered', answers: [['Red']] })] }),
  )
  expect((await scene.end()).undelivered).toEqual([])
  expect(scene.errors).toEqual([])
})

test('an amendment of a reply that was given up tries again', async () => {
  const scene = createScene({ fake: { faults: always('unreachable', 4) }, sink: { policy: { giveUpMs: 10_000 } } })
  scene.show(answer)
  expect((await scene.end()).undelivered).toMatchObject([{ type: 'given-up' }])
  scene.show({ ...answer, settledAt: (answer.settledAt ?? 0) + 1 }, 'replyAmended')
  await scene.pass(60_000)
  expect(scene.fake.screen()).toMatchObject([{ text: 'It is done.' }])
})

test('a reply that is still growing is not given up', async () => {
  const scene = createScene({ fake: { faults: always('unreachable', 20) }, sink: { policy: { giveUpMs: 10_000 } } })
  scene.show(replyWith([{ ...text('It', { status: 'open' }), id: 'prt_a' }]))
  await scene.pass(1_200_000)
  expect(scene.fake.screen()).toHaveLength(1)
})

test.each<[FakeFault['type'], number | undefined, boolean]>([
  ['gone', undefined, true],
  ['fixed', undefined, true],
  ['too-long', undefined, true],
  ['refused', undefined, true],
  ['unparsable', undefined, false],
  ['rate-limited', 59_000, false],
  ['rate-limited', 60_000, true],
])('a failure of type %s (%s ms) reaches onError: %s', async (type, retryAfterMs, isReported) => {
  const scene = createScene({ fake: { faults: [{ call: 1, type, retryAfterMs }] } })
  scene.show(answer)
  await scene.end()
  expect(scene.errors.map(({ cause }) => cause)).toMatchObject(isReported ? [{ type }] : [])
})

test('a stream that was closed early goes on by edits, and is not reported', async () => {
  const scene = createScene({
    fake: { stream: 'append', faults: [{ call: 2, type: 'fixed' }] },
    sink: { policy: { delivery: 'native', statusAfterMs: 3_600_000 } },
  })
  scene.show(replyWith([{ ...text('It', { status: 'open' }), id: 'prt_a' }]))
  await scene.pass(2000)
  scene.show(settledWith([{ ...text('It is done.'), id: 'prt_a' }]))
  await scene.end()
  expect([scene.errors, scene.fake.screen()]).toMatchObject([[], [{ text: 'It is done.' }]])
})

test('a missing message has the type of its failure', async () => {
  const scene = createScene({ fake: { faults: [{ call: 1, type: 'gone' }] } })
  scene.show(answer)
  expect((await scene.end()).undelivered).toEqual([
    { key: 'answer#0', card: 'answer', type: 'gone', reason: 'Injected fault: gone.' },
  ])
})

test('settled() waits for the first reply, and stop() ends that wait', async () => {
  const [shown, stopped] = [createScene(), createScene()]
  const deliveries = [shown.sink().settled(), stopped.sink().settled()]
  await shown.pass(1000)
  shown.show(answer)
  await shown.pass(5000)
  await stopped.sink().stop()
  expect(await Promise.all(deliveries)).toMatchObject([{ shown: 1 }, { shown: 0, undelivered: [] }])
})
