import { emptyReply, reduce } from '@reply/core'
import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createRegistry } from '../src/state/registry.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const dayMs = 86_400_000
const place = { channel: 'tg', chat: { id: '1' } }
const prompt: QueuedPrompt = {
  ...{ ...place, id: '9', actor: { id: '7', name: 'Ann' }, text: 'Go on', files: [], isCommand: false },
  ...{ messageRef: { id: '9' }, receivedAt: 1 },
}
const log = Array.from({ length: 200 }, (_, at) => ({ from: 'stdout', text: `${at} ${'x'.repeat(500)}` }) as const)

function setUp() {
  const clock = createHandClock()
  const store = createMemoryStore({ clock })
  const read: string[] = []
  const state = {
    ...stateOf(store),
    list: async (within: string) => {
      const found = await store.list(within)
      read.push(...found.map(({ value }) => value))
      return found
    },
  }
  const registry = createRegistry({ state, mirrors: createMirrors([]), shard: '00' })
  const execution: Execution = {
    ...{ id: 'abc123', prompt, server: 'home', phase: 'done', status: 'complete' },
    ...{ startedAt: clock.now(), finishedAt: clock.now() },
  }
  return { clock, state, registry, execution, units: () => read.join('').length }
}

test('logs are read by nothing but a question for one: not by a list, a start or a sweep', async () => {
  const { state, registry, execution, units } = setUp()
  for (const id of ['abc123', 'abc456', 'abc789']) {
    const one = { ...execution, id, sessionID: id }
    await state.commit([registry.writeExecution(one), registry.writeLog(one, log)])
  }
  expect(await registry.listRecent(place)).toHaveLength(3)
  expect(await registry.all()).toHaveLength(3)
  expect(await registry.newestOfSessions()).toEqual([])
  await state.sweep()
  expect(units()).toBeLessThan(3 * 3 * 1000)
  expect(await registry.logOf(execution)).toEqual(log)
})

test('what is written of an execution after its log does not contain it', async () => {
  const { registry, execution } = setUp()
  expect(registry.writeLog(execution, log).value.length).toBeGreaterThan(100_000)
  expect(registry.writeExecution(execution).value.length).toBeLessThan(1000)
})

test('an execution without a log has no lines', async () => {
  const { registry, execution } = setUp()
  expect(await registry.logOf(execution)).toEqual([])
})

test('an execution that is over is listed for an hour by the store’s clock, with its log, however long its delivery took', async () => {
  for (const deliveryMs of [1000, 3_500_000, 5_000_000, 7_199_999]) {
    // The clock of the machine that ended it was a day ahead, or a day behind.
    for (const aheadMs of [dayMs, -dayMs]) {
      const { clock, state, registry, execution } = setUp()
      const one = { ...execution, finishedAt: clock.now() + aheadMs }
      await state.commit([registry.writeLog({ ...one, phase: 'delivering' }, log)])
      await clock.advance(deliveryMs)
      const atEnd = await registry.writesAtEnd(one)
      // A log may be long, so it is written once unless the delivery took long.
      expect(atEnd).toHaveLength(deliveryMs > 3_600_000 ? 1 : 0)
      await state.commit([registry.writeExecution(one), ...atEnd])
      await clock.advance(3_599_999)
      expect(await registry.listRecent(place)).toEqual([one])
      expect(await registry.logOf(one)).toEqual(log)
      await clock.advance(1)
      expect(await registry.listRecent(place)).toEqual([])
      await clock.advance(3_600_000)
      expect(await state.list('')).toEqual([])
    }
  }
})

test('the ages of ends are told by the store’s clock, and not those of runs that go on, steered, or ended long ago', async () => {
  const { clock, state, registry, execution } = setUp()
  const write = async (change: Partial<Execution>): Promise<void> =>
    void (await state.commit([registry.writeExecution({ ...execution, finishedAt: clock.now() + dayMs, ...change })]))
  await write({ id: 'old', phase: 'undelivered' })
  await clock.advance(3_600_000)
  await write({ id: 'done' })
  await clock.advance(1000)
  await write({ id: 'late', phase: 'undelivered' })
  await clock.advance(1000)
  await write({ id: 'ended', phase: 'delivering' })
  await write({ id: 'running', phase: 'posting', finishedAt: undefined })
  await write({ id: 'followed', phase: 'delivering', finishedAt: undefined })
  await write({ id: 'steered', isSteer: true })
  await clock.advance(500)
  expect((await registry.endAgesMs(place)).toSorted()).toEqual([1500, 2500, 500])
})

test('a log that expired during a long delivery is stored again from the reply', async () => {
  const { clock, state, registry, execution } = setUp()
  await state.commit([registry.writeLog({ ...execution, phase: 'delivering' }, log)])
  await clock.advance(dayMs)
  expect(await registry.writesAtEnd(execution)).toEqual([])
  const error = { name: 'oops', message: 'It broke.', raw: undefined }
  const reply = reduce(emptyReply('ses_1'), { type: 'error', sessionID: 'ses_1', at: 1, error }).reply
  const unfollow = registry.followReply(execution, () => reply)
  await state.commit([...(await registry.writesAtEnd(execution))])
  unfollow()
  expect(await registry.logOf(execution)).toEqual([{ from: 'stderr', text: 'It broke.' }])
})

test('an answer that was not delivered is kept for 30 days with its log, and one that is delivered for an hour more', async () => {
  const { clock, state, registry, execution } = setUp()
  const undelivered = { ...execution, phase: 'undelivered' } as const
  await state.commit([registry.writeExecution(undelivered), registry.writeLog(undelivered, log)])
  await clock.advance(29 * dayMs)
  expect(await registry.listRecent(place)).toEqual([undelivered])
  await state.commit([registry.writeExecution(execution), ...(await registry.writesAtEnd(execution))])
  await clock.advance(3_599_999)
  expect(await registry.listRecent(place)).toEqual([execution])
  expect(await registry.logOf(execution)).toEqual(log)
  await clock.advance(1)
  expect(await registry.listRecent(place)).toEqual([])
  // The log is not written again to end earlier.
  await clock.advance(dayMs - 3_600_000)
  expect((await state.list('')).map(({ key }) => key)).toEqual([])
})

test('the newest run of a session is remembered for a day from its end, without its text', async () => {
  const { clock, state, registry, execution } = setUp()
  const one = { ...execution, sessionID: 'ses_1', phase: 'posting' } as const
  await state.commit([...registry.writeNewest(one)])
  await clock.advance(1000)
  const two = { ...one, id: 'two222' } as const
  await state.commit([...registry.writeNewest(two)])
  // The older one ends later.
  await state.commit([...(await registry.writesAtEnd({ ...one, phase: 'done' }))])
  await clock.advance(dayMs - 1)
  await state.commit([...(await registry.writesAtEnd({ ...two, phase: 'done' }))])
  await clock.advance(dayMs - 1)
  const bare = { ...prompt, text: '' }
  expect(await registry.newestOfSessions()).toEqual([
    { execution: { ...two, phase: 'done', prompt: bare }, ageMs: dayMs - 1 },
  ])
  await clock.advance(1)
  expect(await state.list('')).toEqual([])
  expect(registry.writeNewest({ ...one, isSteer: true })).toEqual([])
  expect(registry.writeNewest(execution)).toEqual([])
})
