import { systemClock } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { isOurThread } from '../src/chats/our-messages.ts'
import { createRoutes } from '../src/chats/routes.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import { placeKey } from '../src/place.ts'
import { moveToCurrentKeys } from '../src/runs/runner.ts'
import type { Execution } from '../src/state/execution.ts'
import type { QueuedPrompt } from '../src/state/queued-prompt.ts'
import { createRegistry } from '../src/state/registry.ts'
import { createMemoryStore } from '../src/testing.ts'
import { stateOf } from './state-of.ts'

const telegram = { channel: 'tg', chat: { id: '1' } }
const slack = { channel: 'sl', chat: { id: 'C1' } }
const thread = { channel: 'sl', chat: { id: 'C1', thread: '7' } }
const other = { channel: 'tg', chat: { id: '2' } }

describe('mirrors', () => {
  const mirrors = createMirrors([['tg:1', 'sl:C1']])

  test('have one key, with the threads of a chat, and others have their own', () => {
    expect([telegram, slack, thread].map(mirrors.keyOf)).toEqual(Array(3).fill(placeKey(telegram)))
    expect(mirrors.keyOf(other)).toBe(placeKey(other))
  })

  test('show what runs in one of them', () => {
    expect(mirrors.others(telegram)).toEqual([slack])
    expect(mirrors.others(thread)).toEqual([telegram])
    expect(mirrors.others(other)).toEqual([])
  })

  test('are known by their channel, and a thread only if the config names it', () => {
    expect(mirrors.of('sl')).toEqual([{ id: 'C1' }])
    expect(mirrors.isNamed(thread)).toBe(false)
    expect(createMirrors([['tg:1', 'sl:C1/7']]).isNamed(thread)).toBe(true)
  })
})

test('a thread of a mirrored chat is ours once it has a session, for every member', async () => {
  const store = createMemoryStore()
  const state = stateOf(store)
  const mirrors = createMirrors([['tg:1', 'sl:C1']])
  const routes = createRoutes({ state, mirrors, clock: systemClock, servers: ['home'], routes: {} })
  expect(await isOurThread({ state, mirrors }, thread)).toBe(false)
  await state.commit(routes.writeSwitch(thread, { server: 'home', sessionID: 'ses_1' }))
  expect(await isOurThread({ state, mirrors }, thread)).toBe(true)
  expect(await isOurThread({ state, mirrors }, { channel: 'sl', chat: { id: 'C1', thread: '8' } })).toBe(false)
})

test('what an earlier config stored is moved to where this one looks for it', async () => {
  const store = createMemoryStore()
  const state = stateOf(store)
  const prompt: QueuedPrompt = {
    ...{ ...slack, id: '9', actor: { id: 'U1', name: 'Ann' }, text: 'Go on', files: [], isCommand: false },
    ...{ messageRef: { id: '9' }, receivedAt: 1 },
  }
  const execution: Execution = {
    ...{ id: 'abc123', prompt, server: 'home', phase: 'planned', status: 'running', startedAt: 1 },
  }
  const before = createRegistry({ state, mirrors: createMirrors([]), shard: '00' })
  const old = `prompts/${placeKey(slack)}`
  const log = [{ from: 'stdout', text: 'Done.' }] as const
  const stored = [before.writeExecution(execution), before.writeLog(execution, log)]
  await state.commit([...stored, { type: 'enqueue', queue: old, id: '9', value: JSON.stringify(prompt) }])
  const mirrors = createMirrors([['tg:1', 'sl:C1']])
  const registry = createRegistry({ state, mirrors, shard: '00' })
  const enqueue = (one: QueuedPrompt) =>
    ({ type: 'enqueue', queue: `prompts/${mirrors.keyOf(one)}`, id: 'sl/9', value: JSON.stringify(one) }) as const
  expect(await moveToCurrentKeys(state, registry, enqueue)).toEqual([prompt])
  expect((await registry.listRecent(telegram)).map(({ id }) => id)).toEqual(['abc123'])
  expect(await registry.logOf(execution)).toEqual(log)
  for (const kind of ['execution', 'log']) expect(await store.list(`${kind}/${placeKey(slack)}/`)).toEqual([])
  expect(await store.queue(old)).toEqual([])
  expect(await store.queue(`prompts/${placeKey(telegram)}`)).toHaveLength(1)
})
