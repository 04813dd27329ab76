import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BridgeConnection } from '@reply/sink/channel'
import { bridgeChannel } from '@reply/telegram/bridge'
import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openBridge } from '../src/open-bridge.ts'
import { checkBridge } from '../src/setup/check-bridge.ts'
import { createMemoryStore, createStoreMemory, type StoreMemory } from '../src/store/memory.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store, Write } from '../src/store/store.ts'
import { oddTexts } from '../src/testing/contract/stage.ts'
import { exportState, importState } from '../src/transfer/transfer-state.ts'
import { localAgent } from './local-agent.ts'
import { createMemoryState, giveLease } from './memory-state.ts'
import { bundleFixture, run } from './process.ts'

let folder = ''
let importer = ''
let file = ''
/** Configs: of a SQLite state, and of two in memory. */
let sqlite = ''
let one = ''
let other = ''
let memory = createMemoryState()
let clock = createHandClock()

beforeAll(async () => {
  const bundles = mkdtempSync(join(tmpdir(), 'reply-importer-'))
  importer = await bundleFixture('importer', bundles)
  return () => rmSync(bundles, { recursive: true })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-transfer-'))
  file = join(folder, 'state.jsonl')
  sqlite = writeConfig('sqlite', './state')
  one = writeConfig('one', { type: 'memory', name: { env: 'ONE' } })
  other = writeConfig('other', { type: 'memory', name: { env: 'OTHER' } })
  memory = createMemoryState()
  clock = createHandClock()
})
afterEach(() => rmSync(folder, { recursive: true }))

function writeConfig(name: string, state: unknown): string {
  const path = join(folder, `${name}.json`)
  const channels = { tg: { type: 'telegram', token: { env: 'TOKEN' } } }
  writeFileSync(path, JSON.stringify({ servers: { home: { url: 'http://127.0.0.1:1' } }, channels, state }))
  return path
}

const env = { TOKEN: '42:secret', ONE: 'one', OTHER: 'other' }

/** Options for a config in memory. */
const at = (path: string) => ({ path, file, env, clock, loadStore: memory.load })

/** The store of a state in memory. */
function storeOf(name: 'one' | 'other'): Store {
  const found = memory.memories.get(name) ?? createStoreMemory()
  memory.memories.set(name, found)
  return createMemoryStore({ memory: found, clock })
}

async function contentOf(store: Store): Promise<object> {
  const queues = (await store.queues('')).toSorted()
  const entries = await Promise.all(queues.map(async (name) => [name, await store.queue(name)]))
  return { values: await store.list(''), entries }
}

const writes: readonly Write[] = [
  { type: 'put', key: 'route/tg/7/', value: '{"server":"home"}' },
  { type: 'put', key: 'seen/tg/1', value: '', expiresInMs: 60_000 },
  { type: 'enqueue', queue: 'inbox/tg/7/', id: 'b', value: 'first' },
  { type: 'enqueue', queue: 'inbox/tg/7/', id: 'a', value: 'second' },
]

/** Exports a small state of memory. */
async function exported(): Promise<string> {
  await storeOf('one').commit(writes)
  await exportState(at(one))
  return readFileSync(file, 'utf8')
}

/** A state of memory whose stores are changed. */
function changing(name: 'one' | 'other', change: (store: Store) => Partial<Store>) {
  const open = async (): Promise<Store> => {
    const store = storeOf(name)
    return { ...store, ...change(store) }
  }
  return createMemoryState({ open, openExisting: open }).load
}

test('a file has one line for each value and entry, is for its owner alone, and ends with the counts', async () => {
  const lines = (await exported()).split('\n')
  expect(lines.slice(0, -2).map((line) => JSON.parse(line))).toEqual([
    { format: 'reply bridge state', version: 1 },
    { key: 'route/tg/7/', value: '{"server":"home"}' },
    { key: 'seen/tg/1', value: '', expiresInMs: 60_000 },
    { queue: 'inbox/tg/7/', id: 'b', value: 'first' },
    { queue: 'inbox/tg/7/', id: 'a', value: 'second' },
  ])
  expect(JSON.parse(lines.at(-2) ?? '')).toEqual({ values: 2, entries: 2, sha256: expect.any(String) })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(folder).toSorted()).toEqual(['one.json', 'other.json', 'sqlite.json', 'state.jsonl'])
})

test('what a value has left to live goes on after the import, and an expired one is left out', async () => {
  await storeOf('one').commit([...writes, { type: 'put', key: 'gone', value: '', expiresInMs: 1000 }])
  await clock.advance(10_000)
  expect(await exportState(at(one))).toEqual({ values: 2, entries: 2 })
  await clock.advance(500_000)
  expect(await importState(at(other))).toEqual({ values: 2, entries: 2 })
  expect((await storeOf('other').list('seen/')).map(({ expiresInMs }) => expiresInMs)).toEqual([50_000])
})

test('any state is the same after it went to SQLite and back', async () => {
  const unit = fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code))
  const text = fc.oneof(fc.constantFrom(...oddTexts, '\u2028', '\n'), fc.string({ unit, maxLength: 8 }))
  const value = fc.record({
    key: text,
    value: text,
    expiresInMs: fc.option(fc.integer({ min: 1 }), { nil: undefined }),
  })
  const entry = fc.record({ queue: text, id: text, value: text })
  const all = fc.record({
    values: fc.uniqueArray(value, { selector: ({ key }) => key, maxLength: 12 }),
    entries: fc.uniqueArray(entry, { selector: ({ queue, id }) => JSON.stringify([queue, id]), maxLength: 12 }),
  })
  await fc.assert(
    fc.asyncProperty(all, async ({ values, entries }) => {
      memory = createMemoryState()
      const before = storeOf('one')
      await before.commit([
        ...values.map((row) => ({ type: 'put', ...row }) as const),
        ...entries.map((row) => ({ type: 'enqueue', ...row }) as const),
      ])
      const counts = { values: values.length, entries: entries.length }
      const viaFile = `${file}.sqlite`
      const inSqlite = { path: sqlite, env, clock }
      expect(await exportState(at(one))).toEqual(counts)
      expect(await importState({ ...inSqlite, file })).toEqual(counts)
      expect(await exportState({ ...inSqlite, file: viaFile })).toEqual(counts)
      expect(await importState({ ...at(other), file: viaFile })).toEqual(counts)
      expect(await contentOf(storeOf('other'))).toEqual(await contentOf(before))
      for (const path of [file, viaFile, join(folder, 'state')]) rmSync(path, { recursive: true })
    }),
    { numRuns: 20 },
  )
})

test('a large state is imported in commits of a bounded size', async () => {
  const many = Array.from({ length: 1200 }, (_, index) => ({ type: 'put', key: `key ${index}`, value: '' }) as const)
  const long = Array.from({ length: 5 }, (_, index) => {
    return { type: 'enqueue', queue: 'long', id: `${index}`, value: 'x'.repeat(600_000) } as const
  })
  await storeOf('one').commit([...many, ...long])
  await exportState(at(one))
  const sizes: number[] = []
  const load = changing('other', (store) => ({
    commit: async (batch, lease) => {
      sizes.push(batch.length)
      return await store.commit(batch, lease)
    },
  }))
  await importState({ ...at(other), loadStore: load })
  // The mark, the values, the long entries one by one, and the mark again.
  expect(sizes).toEqual([1, 500, 500, 201, 1, 1, 1, 1, 1])
  expect(await contentOf(storeOf('other'))).toEqual(await contentOf(storeOf('one')))
})

describe('a state that a process uses', () => {
  const inUse = 'Another process uses this state. Stop the bridge first. If it was killed, try again after 4 s.'

  const wants = { shard: ['shard/00'] }
  const aBridge = { member: 'a bridge', forMs: 4000, layout: 'one', wants, budgets: {} }

  test('is neither exported nor imported into, and can be once its lease has expired', async () => {
    await exported()
    for (const name of ['one', 'other'] as const) await storeOf(name).beat(aBridge)
    const again = { ...at(one), file: `${file}.2` }
    await expect(exportState(again)).rejects.toMatchObject({ name: 'BridgeError', type: 'state', message: inUse })
    await expect(importState(at(other))).rejects.toMatchObject({ name: 'BridgeError', type: 'state', message: inUse })
    expect(existsSync(again.file)).toBe(false)
    expect(await contentOf(storeOf('other'))).toEqual({ values: [], entries: [] })
    await clock.advance(4000)
    await exportState(again)
    await importState(at(other))
  })

  test('is exported once the bridge that runs on it was stopped', async () => {
    const never = (): never => expect.fail('The channel was used.')
    const connection: BridgeConnection = {
      ...{ listens: 'anywhere', posts: 'anywhere' },
      ...{ check: async () => {}, start: async () => {}, stop: async () => {}, budgets: {} },
      ...{ sinkFor: never, post: never, edit: never, typing: never, download: never },
    }
    const bridge = await openBridge({
      ...{ path: sqlite, env, connections: { tg: () => connection }, connectTo: localAgent(never).connectTo },
    })
    await bridge.start()
    const options = { path: sqlite, env, file }
    await expect(exportState(options)).rejects.toThrow(inUse)
    await bridge.stop()
    await exportState(options)
  })

  test('is not given to a bridge during an export, and is at once afterwards', async () => {
    await storeOf('one').commit(writes)
    const meanwhile: unknown[] = []
    const load = changing('one', (store) => ({
      list: async (prefix) => {
        // Longer than a lease.
        for (let seconds = 0; seconds < 10; seconds++) await clock.advance(1000)
        meanwhile.push(await store.beat(aBridge))
        return await store.list(prefix)
      },
    }))
    await exportState({ ...at(one), loadStore: load })
    expect(meanwhile).toEqual([{ type: 'refused', reason: 'alone' }])
    expect(await storeOf('one').beat(aBridge)).toMatchObject({ type: 'admitted' })
  })

  test.each(['export', 'import'] as const)('and that another one took over ends the %s with an error', async (what) => {
    await exported()
    const name = what === 'export' ? 'one' : 'other'
    const takeOver = (found: StoreMemory | undefined): void => {
      if (found) giveLease(found, { name: 'state', holder: 'other', fence: 9, expiresAt: Number.POSITIVE_INFINITY })
    }
    const load = changing(name, (store) => ({
      queues: async (prefix) => {
        takeOver(memory.memories.get(name))
        return await store.queues(prefix)
      },
    }))
    const second = `${file}.2`
    const done =
      what === 'export'
        ? exportState({ ...at(one), file: second, loadStore: load })
        : importState({ ...at(other), loadStore: load })
    await expect(done).rejects.toMatchObject({ name: 'BridgeError', type: 'taken-over' })
    expect(existsSync(second)).toBe(false)
    expect(await contentOf(storeOf('other'))).toEqual({ values: [], entries: [] })
  })
})

describe('an export', () => {
  test('overwrites no file, not even one that is made meanwhile', async () => {
    writeFileSync(file, 'mine')
    await storeOf('one').commit(writes)
    await expect(exportState(at(one))).rejects.toThrow(`${file} already exists. Choose another file.`)
    const late = `${file}.late`
    const load = changing('one', (store) => ({
      list: async (prefix) => {
        writeFileSync(late, 'mine')
        return await store.list(prefix)
      },
    }))
    await expect(exportState({ ...at(one), file: late, loadStore: load })).rejects.toThrow(`${late} already exists.`)
    expect([readFileSync(file, 'utf8'), readFileSync(late, 'utf8')]).toEqual(['mine', 'mine'])
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  test('leaves nothing behind if the state can not be read', async () => {
    await storeOf('one').commit(writes)
    const load = changing('one', () => ({ queue: () => Promise.reject(new Error('The disk is gone.')) }))
    await expect(exportState({ ...at(one), loadStore: load })).rejects.toThrow('The disk is gone.')
    expect(readdirSync(folder).filter((name) => name.startsWith('state'))).toEqual([])
  })

  test('writes no file where an agent could read it', async () => {
    await storeOf('one').commit(writes)
    const directory = join(folder, 'project')
    mkdirSync(directory)
    const config = JSON.parse(readFileSync(one, 'utf8'))
    writeFileSync(one, JSON.stringify({ ...config, servers: { home: { url: 'http://127.0.0.1:1', directory } } }))
    const within = join(directory, 'state.jsonl')
    await expect(exportState({ ...at(one), file: within })).rejects.toThrow(
      `An agent in ${directory} could read ${within}`,
    )
    expect(readdirSync(directory)).toEqual([])
  })

  test('makes no state if there is none, and names a folder that is missing', async () => {
    await expect(exportState({ path: sqlite, file, env })).rejects.toThrow('There is no state yet')
    expect(existsSync(join(folder, 'state'))).toBe(false)
    await storeOf('one').commit(writes)
    const elsewhere = join(folder, 'none', 'state.jsonl')
    await expect(exportState({ ...at(one), file: elsewhere })).rejects.toThrow(
      `${elsewhere} could not be written: ENOENT`,
    )
  })
})

describe('an import writes nothing of', () => {
  const changed = 'is not complete, or was changed after the export.'

  async function refused(text: string, message: string): Promise<void> {
    writeFileSync(file, text)
    const done = importState(at(other))
    await expect(done).rejects.toMatchObject({ name: 'BridgeError', type: 'state' })
    await expect(done).rejects.toThrow(message)
    expect(memory.memories.has('other')).toBe(false)
  }

  test('a file that is cut off after any byte', async () => {
    const text = await exported()
    const headerLength = text.indexOf('\n')
    for (let length = headerLength; length < text.length; length++) await refused(text.slice(0, length), changed)
    await refused(text.slice(0, headerLength - 1), 'has no state of a bridge.')
  })

  test('a file that was edited', async () => {
    const text = await exported()
    const lines = text.split('\n')
    for (const edited of [
      text.replace('first', 'fIrst'),
      text.replace('"values":2', '"values":3'),
      [...lines.slice(0, 1), ...lines.slice(2)].join('\n'),
      [lines[0], lines[2], lines[1], ...lines.slice(3)].join('\n'),
      `${text}{"key":"a","value":"b"}\n`,
      `${text}\n`,
      `${text}${lines.at(-2)}\n`,
      text.replace('"value":"first"', '"value":1'),
    ])
      await refused(edited, changed)
  })

  test('a file of another kind, or of a newer version', async () => {
    await refused('', 'has no state of a bridge. Name one that "reply bridge state export" wrote.')
    await refused('The notes of a meeting.\n'.repeat(500), 'has no state of a bridge.')
    await refused('{"servers":{}}\n', 'has no state of a bridge.')
    await refused(
      '{"format":"reply bridge state","version":2,"more":true}\n{"any":1}\n',
      'has version 2 of the format, and this bridge knows up to 1. Install the newer bridge.',
    )
    await expect(importState({ ...at(other), file: folder })).rejects.toThrow('it is not a regular file.')
    await expect(importState({ ...at(other), file: `${file}.none` })).rejects.toThrow('could not be read: ENOENT')
  })

  test('a file, if the state has a value or an entry', async () => {
    await exported()
    for (const write of [writes[0], writes[2]]) {
      memory.memories.delete('other')
      await storeOf('other').commit(write ? [write] : [])
      const before = await contentOf(storeOf('other'))
      await expect(importState(at(other))).rejects.toThrow(
        'The state is not empty. Empty it, or choose another `state` in the config.',
      )
      expect(await contentOf(storeOf('other'))).toEqual(before)
    }
  })
})

describe('an import that did not end', () => {
  const half =
    /^The state has only a part of .*state\.jsonl, because that import did not end\. Run "reply bridge state import"/

  /** Neither a bridge nor an export uses the state, and a check says why. */
  async function requireUnused(path: string): Promise<void> {
    const options = { ...at(path), ...(path === sqlite && { loadStore: undefined }) }
    const load = async () => bridgeChannel
    const bridge = await openBridge({ ...options, load })
    await expect(bridge.start()).rejects.toThrow(half)
    const checked = await checkBridge({ ...options, load, clock: undefined })
    expect(checked.find(({ part }) => part === 'state')).toMatchObject({
      ...{ isUsable: false, found: expect.stringMatching(half) },
    })
    await expect(exportState({ ...options, file: `${file}.2` })).rejects.toThrow(half)
  }

  test.each([1, 2, 3])(
    'because it was killed after %i commits is noticed, and the next one begins anew',
    async (kills) => {
      const many = Array.from({ length: 900 }, (_, index) => ({ type: 'put', key: `${index}`, value: 'x' }) as const)
      await storeOf('one').commit([...writes, ...many])
      await exportState(at(one))
      const { ended, child } = run(importer, sqlite, file, `${kills}`)
      await ended
      expect(child.signalCode).toBe('SIGKILL')
      const notices: string[] = []
      await requireUnused(sqlite)
      await importState({ path: sqlite, env, file, clock, onNotice: (notice) => notices.push(notice) })
      expect(notices).toEqual([`The state has a part of ${file}, because that import did not end. Removing it first.`])
      const store = await sqliteStore({ folder: join(folder, 'state'), clock })
      expect(await contentOf(store)).toEqual(await contentOf(storeOf('one')))
      await store.close()
    },
  )

  test('because the file was changed after it was checked is noticed', async () => {
    const text = await exported()
    const { load } = memory
    const changingFile = async () => {
      const kind = await load()
      return {
        ...kind,
        open: async (...args: Parameters<typeof kind.open>) => {
          writeFileSync(file, text.replace('first', 'fIrst'))
          return await kind.open(...args)
        },
      }
    }
    await expect(importState({ ...at(other), loadStore: changingFile })).rejects.toThrow('was changed after the export')
    await requireUnused(other)
  })

  test('because the file has a key twice is noticed', async () => {
    const rows = [
      { format: 'reply bridge state', version: 1 },
      { key: 'a', value: '' },
      { key: 'a', value: '' },
    ]
    const text = rows.map((row) => `${JSON.stringify(row)}\n`).join('')
    const sha256 = createHash('sha256').update(text).digest('hex')
    writeFileSync(file, `${text}${JSON.stringify({ values: 2, entries: 0, sha256 })}\n`)
    await expect(importState(at(other))).rejects.toThrow('has a key twice')
    await requireUnused(other)
  })
})
