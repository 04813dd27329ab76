import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createMirrors } from '../src/config/mirrors.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createRegistry } from '../src/state/registry.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

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
  const registry = createRegistry({ state, mirrors: createMirrors([]), clock })
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
  await registry.deleteOld()
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

test('a log is forgotten together with its execution', async () => {
  const { clock, state, registry, execution } = setUp()
  await state.commit([registry.writeExecution(execution), registry.writeLog(execution, log)])
  await clock.advance(86_400_000)
  await registry.deleteOld()
  expect(await state.list('')).toHaveLength(2)
  await clock.advance(1)
  await registry.deleteOld()
  expect(await state.list('')).toEqual([])
})
