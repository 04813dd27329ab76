import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeChannel } from '@reply/telegram/bridge'
import { createHandClock } from '@reply/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { forgetRow, listFailed } from '../src/failed/list-failed.ts'
import { openBridge } from '../src/open-bridge.ts'
import { checkBridge } from '../src/setup/check-bridge.ts'
import { loadStore } from '../src/store/load-store.ts'
import { createMemoryState, giveLease } from './memory-state.ts'

let folder = ''
let path = ''
const env = { TOKEN: '42:secret', NAME: 'shop' }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-other-'))
  path = join(folder, 'reply.json')
  write({ type: 'memory', name: { env: 'NAME' } })
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(state: object): void {
  const channels = { tg: { type: 'telegram', token: { env: 'TOKEN' } } }
  const people = { ann: { ids: ['tg:1'], may: ['prompt', 'approve'] } }
  writeFileSync(path, JSON.stringify({ servers: { home: { url: 'http://127.0.0.1:1' } }, channels, people, state }))
}

const failure = {
  ...{ type: 'row', key: 'route/tg/8/', value: 'oops', reason: 'it is not JSON', at: Date.UTC(2026, 0, 1) },
}

test('a bridge opens the state that its config names, with its secret and its clock', async () => {
  const { load, memories } = createMemoryState()
  const clock = createHandClock()
  const bridge = await openBridge({ path, env, loadStore: load, load: async () => bridgeChannel, clock })
  expect([...memories.keys()]).toEqual(['shop'])
  expect(existsSync(join(folder, 'state'))).toBe(false)
  await bridge.stop()
})

test('failures are listed and forgotten in such a state, beside a process that holds its lease', async () => {
  const { load, memories } = createMemoryState()
  const options = { path, env, loadStore: load }
  expect(await listFailed(options)).toEqual([])
  expect(await forgetRow({ ...options, key: failure.key })).toBe(0)
  expect(memories.size).toBe(0)
  const bridge = await openBridge({ ...options, load: async () => bridgeChannel })
  const memory = memories.get('shop')
  memory?.values.set('failed/row/route/tg/8/', { value: JSON.stringify(failure), expiresAt: undefined })
  if (memory) giveLease(memory, { name: 'bridge', holder: 'a', fence: 1, expiresAt: Number.POSITIVE_INFINITY })
  expect(await listFailed(options)).toMatchObject([{ type: 'row', what: 'row route/tg/8/' }])
  expect(await forgetRow({ ...options, key: 'route/tg/9/' })).toBe(0)
  expect(await forgetRow({ ...options, key: failure.key })).toBe(1)
  expect(memory?.values.size).toBe(0)
  await bridge.stop()
})

test('settings that the kind of state does not accept, and a missing secret, are errors of the config', async () => {
  const { load } = createMemoryState()
  await expect(openBridge({ path, env: {}, loadStore: load })).rejects.toMatchObject({
    ...{ type: 'config', message: expect.stringContaining('The environment variable NAME is not set.') },
  })
  write({ type: 'memory', name: 'hunter2', folder: './state' })
  const opened = openBridge({ path, env, loadStore: load })
  await expect(opened).rejects.toMatchObject({ type: 'config' })
  await expect(opened).rejects.toThrow('state.name: Write either { "env": "NAME" } or { "file": "path" }.')
  await expect(opened).rejects.toThrow('state: It has no field "folder". Correct the name, or remove it.')
})

test('a check has the sentences of the state, and an end if the state does not respond', async () => {
  const { load } = createMemoryState()
  const check = async (loadOther: typeof load, timeoutMs?: number) => {
    const checked = await checkBridge({ path, env, loadStore: loadOther, load: async () => bridgeChannel, timeoutMs })
    return checked.find(({ part }) => part === 'state')
  }
  const failing = createMemoryState({ check: () => Promise.reject(new Error('The password is wrong.')) })
  const silent = createMemoryState({ check: () => new Promise(() => {}) })
  const usable = { part: 'state', isUsable: true }
  expect(await check(load)).toEqual({
    ...usable,
    found: 'shop can be written to\nwarning: it is lost with the process',
  })
  expect(await check(failing.load)).toEqual({ ...usable, isUsable: false, found: 'The password is wrong.' })
  expect(await check(silent.load, 1)).toEqual({ ...usable, isUsable: false, found: 'No response within 0 s.' })
})

test('a type without a package, or with one that has no state, is refused with the cure', async () => {
  write({ type: 'unheard' })
  const opened = openBridge({ path, env })
  await expect(opened).rejects.toMatchObject({ name: 'BridgeError', type: 'state' })
  await expect(opened).rejects.toThrow(
    /^@reply\/unheard could not be loaded: .* Install it with "npm install @reply\/unheard", or correct the type of `state`\.$/s,
  )
  await expect(loadStore('telegram')).rejects.toThrow(
    `@reply/telegram can't keep the state of a bridge: it has no export "bridgeStore".`,
  )
})
