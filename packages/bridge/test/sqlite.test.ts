import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { bridgeChannel } from '@reply/telegram/bridge'
import { createHandClock } from '@reply/testing'
import fc from 'fast-check'
import Libsql from 'libsql'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { beatAfter, leaveAfter, type MemberRows } from '../src/store/beat-rules.ts'
import { createMemoryStore } from '../src/store/memory.ts'
import { openDatabase } from '../src/store/sqlite/database.ts'
import { toStoreError } from '../src/store/sqlite/errors.ts'
import { migrate } from '../src/store/sqlite/schema.ts'
import { existingSqliteStore, hasState, sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { type BeatRequest, type Store, StoreError, type Write } from '../src/store/store.ts'

let root = ''
let folders = 0
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'reply-bridge-'))
})
afterAll(async () => await rm(root, { recursive: true }))

const newFolder = (): string => join(root, `${folders++}`)
const fileIn = (folder: string): string => join(folder, 'bridge.db')
const put = (key: string, value = 'value'): Write => ({ type: 'put', key, value })
const open = (folder: string): Promise<Store> => sqliteStore({ folder, clock: createHandClock(), busyTimeoutMs: 1 })

/** A beat of a member that wants two leases and a budget. */
const beatOf = (member: string): BeatRequest => ({
  ...{ member, forMs: 4000, layout: '1', wants: { shards: ['a', 'b'] } },
  budgets: { bot: { total: 25, windowMs: 1000, demand: 1, used: 0 } },
})

/** A state with one value, closed. */
async function writtenFolder(): Promise<string> {
  const folder = newFolder()
  const store = await open(folder)
  await store.commit([put('key')])
  await store.close()
  return folder
}

/** Changes a state behind the store's back. */
async function withFile(folder: string, run: (connection: Libsql.Database) => void | Promise<void>): Promise<void> {
  await mkdir(folder, { recursive: true })
  const connection = new Libsql(fileIn(folder))
  await run(connection)
  connection.close()
}

describe('the files', () => {
  test('are for their owner alone, in a folder that is made with those above it', async () => {
    const folder = join(newFolder(), 'inner', 'state')
    const store = await open(folder)
    await store.commit([put('key')])
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    for (const ending of ['', '-wal', '-shm']) expect((await stat(fileIn(folder) + ending)).mode & 0o777).toBe(0o600)
    await store.close()
  })

  test('that others of the computer can read are refused, and left as they are', async () => {
    const folder = newFolder()
    await mkdir(folder)
    // The folder of all the tests' folders is for their owner alone.
    await chmod(dirname(folder), 0o755)
    for (const mode of [0o644, 0o640]) {
      await writeFile(fileIn(folder), '')
      await chmod(fileIn(folder), mode)
      await expect(open(folder)).rejects.toThrow(/can read the state .* Run "chmod 600" on it and "chmod 700"/)
      await expect(hasState(folder)).rejects.toThrow(/can read the state/)
      expect((await stat(fileIn(folder))).mode & 0o777).toBe(mode)
    }
    await chmod(dirname(folder), 0o700)
    await (await open(folder)).close()
  })

  test('are one after the store was closed: a copy of it is a backup', async () => {
    const [folder, backup] = [newFolder(), newFolder()]
    const store = await open(folder)
    await store.commit([put('key', 'kept')])
    await store.close()
    await mkdir(backup)
    await copyFile(fileIn(folder), fileIn(backup))
    const copy = await open(backup)
    expect(await copy.read('key')).toBe('kept')
    await copy.close()
  })

  test('wait for the disk at each commit unless it need not, and let others read meanwhile', async () => {
    const file = fileIn(newFolder())
    const database = await openDatabase(file, 1)
    migrate(database, file)
    // FULL is 2, NORMAL 1: https://www.sqlite.org/pragma.html#pragma_synchronous
    expect(['journal_mode', 'synchronous', 'fullfsync'].map(database.pragma)).toEqual(['wal', 2, 1])
    database.setSynced(false)
    expect(database.pragma('synchronous')).toBe(1)
    database.setSynced(true)
    expect(database.pragma('synchronous')).toBe(2)
    database.close()
  })
})

test('a beat waits for the disk if it takes leases, not if it renews them, and a commit does', async () => {
  const exec = vi.spyOn(Libsql.prototype, 'exec')
  const waits = (): unknown => exec.mock.calls.findLast(([sql]) => sql.startsWith('PRAGMA synchronous'))?.[0]
  const store = await open(newFolder())
  const beat = await store.beat(beatOf('one'))
  expect(waits()).toBe('PRAGMA synchronous = FULL')
  expect(await store.beat(beatOf('one'))).toEqual(beat)
  expect(waits()).toBe('PRAGMA synchronous = NORMAL')
  await store.commit([put('key')], beat.type === 'admitted' ? beat.leases[0] : undefined)
  expect(waits()).toBe('PRAGMA synchronous = FULL')
  exec.mockRestore()
  await store.close()
})

describe('another process that is writing', () => {
  test('makes a commit reject as busy, and nothing is changed', async () => {
    const folder = await writtenFolder()
    const store = await open(folder)
    await withFile(folder, async (other) => {
      other.exec('BEGIN IMMEDIATE')
      const commit = store.commit([put('key', 'other')])
      await expect(commit).rejects.toMatchObject({ name: 'StoreError', type: 'busy' })
      await expect(commit).rejects.toThrow('bridge.db is locked by another process. Nothing was changed. Try again')
      expect(await store.read('key')).toBe('value')
      other.exec('ROLLBACK')
      expect(await store.commit([put('key', 'later')])).toEqual({ type: 'done' })
    })
    await store.close()
  })

  test('hinders no reading, opening, or asking to be admitted beside another member', async () => {
    const folder = await writtenFolder()
    const holder = await open(folder)
    await holder.beat(beatOf('first'))
    await withFile(folder, async (other) => {
      other.exec('BEGIN IMMEDIATE')
      const store = await open(folder)
      expect(await store.read('key')).toBe('value')
      expect(await store.beat(beatOf('other'))).toEqual({ type: 'refused', reason: 'full' })
      await expect(store.sweep()).rejects.toMatchObject({ type: 'busy' })
      other.exec('ROLLBACK')
      await store.close()
    })
    await holder.close()
  })
})

describe('commits that wait for the disk together, until their turn ends or something of theirs is read', () => {
  const calls: readonly [string, (store: Store) => Promise<unknown>, unknown, boolean][] = [
    ['a read of another key', (store) => store.read('ke'), undefined, false],
    ['a read of their key', (store) => store.read('key'), 'new', true],
    ['a list of other keys', (store) => store.list('l'), [], false],
    ['a list with their key', (store) => store.list('ke'), [{ key: 'key', value: 'new' }], true],
    ['another queue', (store) => store.queue('chat'), [], false],
    ['their queue', (store) => store.queue('chat/1'), [{ id: 'a', value: '' }], true],
    ['the names of other queues', (store) => store.queues('d'), [], false],
    ['the names of their queues', (store) => store.queues('chat'), ['chat/1'], true],
  ]

  test.each(calls)('%s', async (_, call, answer, isEnd) => {
    const folder = await writtenFolder()
    const [store, file] = [await open(folder), new Libsql(fileIn(folder))]
    const commits = [
      store.commit([put('key', 'new')]),
      store.commit([{ type: 'enqueue', queue: 'chat/1', id: 'a', value: '' }]),
    ]
    const answered = call(store)
    // Another connection sees what is in the file: nothing of a group that is open.
    const seen = file.prepare('SELECT value FROM stored').all()
    file.close()
    expect(seen).toEqual([{ value: isEnd ? 'new' : 'value' }])
    expect(await answered).toEqual(answer)
    expect(await Promise.all(commits)).toEqual([{ type: 'done' }, { type: 'done' }])
    await store.close()
  })

  test('answer all calls in their order as the memory store does, whatever they are', async () => {
    const key = fc.constantFrom('a', 'a/1', 'a/2', 'b', 'b/1')
    const value = fc.constantFrom('0', '1')
    const write = fc.oneof(
      fc.record({ type: fc.constant('put' as const), key, value }),
      fc.record({ type: fc.constant('put-if-absent' as const), key, value }),
      fc.record({ type: fc.constant('remove' as const), key }),
      fc.record({ type: fc.constant('compare-and-set' as const), key, expected: value, value }),
      fc.record({ type: fc.constantFrom('enqueue' as const, 'replace' as const), queue: key, id: value, value }),
      fc.record({ type: fc.constant('dequeue' as const), queue: key, id: value }),
    )
    const call = fc.oneof(
      fc.array(write, { maxLength: 3 }).map((writes) => (store: Store) => store.commit(writes)),
      key.map((name) => (store: Store) => store.read(name)),
      key.map((name) => (store: Store) => store.list(name)),
      key.map((name) => (store: Store) => store.queue(name)),
      key.map((name) => async (store: Store) => [...(await store.queues(name))].toSorted()),
    )
    const store = await open(newFolder())
    const model = createMemoryStore({ clock: createHandClock() })
    const all = (calls: readonly ((store: Store) => Promise<unknown>)[], one: Store) =>
      Promise.all(calls.map((run) => run(one)))
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 12 }), async (calls) => {
        expect(await all(calls, store)).toEqual(await all(calls, model))
      }),
      { numRuns: 150 },
    )
    await store.close()
  })
})

describe('a state', () => {
  test('is made once by many that open it at the same time', async () => {
    const folder = newFolder()
    const stores = await Promise.all(Array.from({ length: 5 }, () => sqliteStore({ folder })))
    await stores[0]?.commit([put('key')])
    expect(await Promise.all(stores.map((store) => store.read('key')))).toEqual(Array(5).fill('value'))
    for (const store of stores) await store.close()
  })

  test('is opened while another process merges its WAL', async () => {
    const folder = newFolder()
    const store = await open(folder)
    await store.commit([put('key')])
    // What a process sees that opens the state in the middle of a merge.
    await withFile(folder, (file) => void file.exec(`PRAGMA user_version = ${2 * 0x100 + 1}`))
    const reader = new Libsql(fileIn(folder))
    reader.exec('BEGIN; SELECT * FROM stored')
    await store.commit([put('key', 'newer')])
    // Merges for as long as the reader reads.
    const merge = `const db = new (require('libsql'))(process.argv[1])
      db.exec('PRAGMA busy_timeout = 60000; PRAGMA wal_checkpoint(TRUNCATE)')`
    const merging = spawn(process.execPath, ['-e', merge, fileIn(folder)], {
      cwd: import.meta.dirname,
      stdio: 'inherit',
    })
    const looker = new Libsql(fileIn(folder))
    const merged = looker.prepare('PRAGMA wal_checkpoint(PASSIVE)').raw()
    await expect.poll(() => merged.all()).toEqual([[1, -1, -1]])
    looker.close()
    const other = await open(folder)
    expect(await other.read('key')).toBe('newer')
    reader.exec('COMMIT')
    await once(merging, 'exit')
    reader.close()
    for (const one of [other, store]) await one.close()
  })

  test('is busy, and not lost, while another process begins its merged WAL anew', async () => {
    const folder = newFolder()
    await (await open(folder)).close()
    const merging = new Libsql(fileIn(folder))
    // The first process to commit after a merge. Its transaction doesn't fit its cache, so it writes before its commit.
    merging.exec(
      `PRAGMA user_version = ${2 * 0x100 + 1}; PRAGMA wal_checkpoint(PASSIVE); PRAGMA cache_size = 1; BEGIN IMMEDIATE`,
    )
    const insert = merging.prepare('INSERT INTO stored (key, value) VALUES (?, ?)')
    for (let key = 0; key < 50; key++) insert.run([Buffer.from(`${key}`), 'x'.repeat(10_000)])
    await expect(open(folder)).rejects.toMatchObject({ type: 'busy' })
    merging.exec(`PRAGMA user_version = ${0x100 + 1}; COMMIT`)
    await (await open(folder)).close()
    merging.close()
  })

  test('of a newer version is refused with the cure, and left as it is', async () => {
    const folder = await writtenFolder()
    await withFile(folder, (file) => void file.exec('PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)'))
    const before = await readFile(fileIn(folder))
    await expect(open(folder)).rejects.toMatchObject({ name: 'StoreError', type: 'newer' })
    await expect(open(folder)).rejects.toThrow(
      /has version 99, and this bridge knows up to \d+\. Install the newer bridge/,
    )
    expect(await readFile(fileIn(folder))).toEqual(before)
  })

  test('of another program is refused, and left as it is', async () => {
    const folder = newFolder()
    await withFile(folder, (file) => void file.exec('CREATE TABLE theirs (key)'))
    const before = await readFile(fileIn(folder))
    await expect(open(folder)).rejects.toThrow('belongs to another program. Name another folder for the state.')
    expect(await readFile(fileIn(folder))).toEqual(before)
  })

  test('that is not a database is refused, and left as it is', async () => {
    const folder = newFolder()
    const text = 'The notes of a meeting.\n'.repeat(500)
    await mkdir(folder)
    await writeFile(fileIn(folder), text)
    await expect(open(folder)).rejects.toThrow('bridge.db is not a state of the bridge. Name another folder')
    await expect(open(folder)).rejects.toMatchObject({ name: 'StoreError', type: 'failed' })
    expect(await readFile(fileIn(folder), 'utf8')).toBe(text)
  })

  test('that is damaged says so', async () => {
    const folder = await writtenFolder()
    const bytes = await readFile(fileIn(folder))
    // The first page has the schema; the others have the rows.
    await writeFile(fileIn(folder), bytes.fill(0x5a, 4096))
    const store = await open(folder)
    await expect(store.read('key')).rejects.toThrow('bridge.db is damaged. Restore it from a backup')
    await store.close()
    await expect(hasState(folder)).rejects.toThrow('bridge.db is damaged. Restore it from a backup')
  })

  test('that could not be made in its folder is found before the start', async () => {
    const folder = newFolder()
    await mkdir(folder, { mode: 0o755 })
    expect(await hasState(folder)).toBe(false)
    await writeFile(join(folder, 'notes.txt'), '')
    await expect(hasState(folder)).rejects.toThrow('Run "chmod 700" on it, or name another folder')
    await expect(open(folder)).rejects.toThrow('Run "chmod 700" on it, or name another folder')
  })

  test('in a folder that is a file cannot be opened', async () => {
    const folder = newFolder()
    await writeFile(folder, '')
    await expect(open(folder)).rejects.toThrow('cannot be opened. Name a folder that exists or can be made')
    await expect(open(join(folder, 'inner'))).rejects.toMatchObject({ name: 'StoreError', type: 'failed' })
  })
})

describe('a copy of a state at work', () => {
  /** Copies what a store has while it is open. */
  async function copied(files: readonly string[], store: Store, from: string): Promise<string> {
    const to = newFolder()
    await mkdir(to, { mode: 0o700 })
    for (const ending of files) await copyFile(fileIn(from) + ending, fileIn(to) + ending)
    await store.close()
    return to
  }

  async function worked(lengths: readonly number[]): Promise<{ readonly folder: string; readonly store: Store }> {
    const folder = newFolder()
    const store = await open(folder)
    for (const [index, length] of lengths.entries()) await store.commit([put(`key ${index}`, 'x'.repeat(length))])
    return { folder, store }
  }

  const lost =
    /lacks what was written last, because its file .*bridge\.db-wal is missing or damaged\. .* Put that file back/

  test.each([
    ['after its first commit', [1]],
    ['after some', [1, 2, 3]],
    ['after it was merged several times', [3_000_000, 3_000_000, 10, 3_000_000, 10]],
  ])('without its WAL is refused with the cure, %s', async (_, lengths) => {
    const { folder, store } = await worked(lengths)
    const copy = await copied([''], store, folder)
    const before = await readFile(fileIn(copy))
    for (const use of [open, hasState, (one: string) => existingSqliteStore({ folder: one })]) {
      const used = use(copy)
      await expect(used).rejects.toThrow(lost)
      await expect(used).rejects.toMatchObject({ name: 'StoreError', type: 'failed' })
    }
    expect(before.equals(await readFile(fileIn(copy)))).toBe(true)
  })

  test('with its WAL has everything', async () => {
    const { folder, store } = await worked([3_000_000, 3_000_000, 10])
    const copy = await open(await copied(['', '-wal'], store, folder))
    expect((await copy.list('key')).map(({ value }) => value.length)).toEqual([3_000_000, 3_000_000, 10])
    await copy.close()
  })

  test('whose WAL is damaged is refused', async () => {
    const { folder, store } = await worked([1, 2])
    const copy = await copied(['', '-wal'], store, folder)
    const wal = `${fileIn(copy)}-wal`
    await writeFile(wal, (await readFile(wal)).fill(0x5a))
    await expect(open(copy)).rejects.toThrow(lost)
  })

  test('that another program merged has everything, also without a WAL', async () => {
    const { folder, store } = await worked([1, 2])
    const copy = await copied(['', '-wal'], store, folder)
    await withFile(copy, (file) => void file.exec('PRAGMA wal_checkpoint(TRUNCATE)'))
    const again = await open(copy)
    expect(await again.list('key')).toHaveLength(2)
    await again.close()
  })
})

describe('members', () => {
  test('work one at a time: the next one is admitted once the first one left or died, whatever it is like', async () => {
    const [folder, clock] = [newFolder(), createHandClock()]
    const [one, other] = [await sqliteStore({ folder, clock }), await sqliteStore({ folder, clock })]
    const full = { type: 'refused', reason: 'full' }
    expect(await one.beat(beatOf('one'))).toMatchObject({ leases: [{ fence: 1 }, { fence: 1 }] })
    expect(await other.beat(beatOf('other'))).toEqual(full)
    expect(await other.beat({ ...beatOf('other'), layout: '2', isAlone: true })).toEqual(full)
    await clock.advance(3999)
    expect(await other.beat(beatOf('other'))).toEqual(full)
    await clock.advance(1)
    expect(await other.beat(beatOf('other'))).toMatchObject({ leases: [{ fence: 2 }, { fence: 2 }], others: 0 })
    expect(await one.beat(beatOf('one'))).toEqual(full)
    await other.leave('other')
    expect(await one.beat(beatOf('one'))).toMatchObject({
      ...{ leases: [{ fence: 3 }, { fence: 3 }], budgets: { bot: { share: 25 } } },
    })
    await one.close()
    await other.close()
  })

  test('are stored as the rules say, whatever they call', async () => {
    const member = fc.constantFrom('a', '\0b', 'c')
    const name = fc.constantFrom('bot', 'w\ud83d')
    const beat = fc.record({
      ...{ type: fc.constant('beat' as const), member, isAlone: fc.constantFrom(undefined, true) },
      wants: fc.dictionary(fc.constantFrom('x', '\0y'), fc.constant(['1', '2', '\ud83d'])),
      budgets: fc.dictionary(
        name,
        fc.record({
          ...{ total: fc.nat(30), windowMs: fc.nat(3000), demand: fc.nat(5), used: fc.nat(30) },
          freezeForMs: fc.constantFrom(undefined, 700),
        }),
      ),
    })
    const step = fc.oneof(
      { weight: 6, arbitrary: beat },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('leave' as const), member }) },
      { weight: 3, arbitrary: fc.record({ type: fc.constant('pass' as const), ms: fc.constantFrom(1, 500, 4000) }) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const [folder, clock] = [newFolder(), createHandClock()]
        const store = await sqliteStore({ folder, clock })
        let rows: MemberRows = { members: [], leases: [], shares: [], freezes: [] }
        for (const next of steps) {
          if (next.type === 'pass') await clock.advance(next.ms)
          if (next.type === 'leave') {
            await store.leave(next.member)
            rows = leaveAfter(rows, next.member, clock.now())
          }
          if (next.type === 'beat') {
            const wanted = { ...next, forMs: 4000, layout: '1' }
            const expected = beatAfter(rows, wanted, clock.now(), 1)
            expect(await store.beat(wanted)).toEqual(expected.beat)
            rows = expected.rows
          }
        }
        await store.close()
      }),
      { numRuns: 40 },
    )
  })
})

test('a process that only reads leaves no mark in a state', async () => {
  const folder = await writtenFolder()
  const before = await readFile(fileIn(folder))
  await hasState(folder)
  const existing = await existingSqliteStore({ folder })
  expect(await existing?.list('')).toHaveLength(1)
  await existing?.close()
  const store = await open(folder)
  await store.read('key')
  await store.close()
  expect(await readFile(fileIn(folder))).toEqual(before)
})

describe('a state that is opened beside the process that uses it', () => {
  test('is not made if there is none, or if a bridge is about to make its tables', async () => {
    const folder = newFolder()
    expect(await existingSqliteStore({ folder })).toBeUndefined()
    await expect(stat(folder)).rejects.toThrow('ENOENT')
    await mkdir(folder, { mode: 0o700 })
    await writeFile(fileIn(folder), '', { mode: 0o600 })
    expect(await existingSqliteStore({ folder })).toBeUndefined()
    expect((await stat(fileIn(folder))).size).toBe(0)
  })

  test('is written without merging its WAL, and its user sees the change', async () => {
    const folder = newFolder()
    const store = await open(folder)
    await store.commit([put('key')])
    const before = await readFile(fileIn(folder))
    const existing = await existingSqliteStore({ folder })
    // More than SQLite's own limit of 1,000 pages.
    expect(await existing?.commit([put('other', 'x'.repeat(5_000_000))])).toEqual({ type: 'done' })
    await existing?.close()
    expect((await readFile(fileIn(folder))).equals(before)).toBe(true)
    expect((await store.read('other'))?.length).toBe(5_000_000)
    await store.close()
  })

  test('that others of the computer can read is refused', async () => {
    const folder = await writtenFolder()
    await chmod(root, 0o755)
    await chmod(folder, 0o755)
    await chmod(fileIn(folder), 0o644)
    await expect(existingSqliteStore({ folder })).rejects.toThrow(/can read the state .* Run "chmod 600" on it/)
    await chmod(root, 0o700)
  })
})

/** What really happens to files: a copy that was cut off, a bad block, a wrong file, and an empty one. */
const damages: readonly (readonly [string, (bytes: Buffer) => Buffer, RegExp])[] = [
  ['cut off', (bytes) => bytes.subarray(0, 8192), /bridge\.db is damaged\. Restore it from a backup/],
  ['overwritten in its pages', (bytes) => bytes.fill(0x5a, 4096), /bridge\.db is damaged\. Restore it from a backup/],
  ['overwritten in its schema', (bytes) => bytes.fill(0x5a, 100, 4096), /bridge\.db is damaged\. Restore it/],
  ['overwritten in its head', (bytes) => bytes.fill(0x5a, 0, 100), /bridge\.db is not a state of the bridge\. Name/],
  ['of a newer version', (bytes) => Buffer.from(bytes.fill(77, 63, 64)), /has version 77, .* Install the newer bridge/],
]

test.each(damages)(
  'a bridge whose state is %s ends with a sentence that names the file and the cure',
  async (_, damage, says) => {
    const folder = newFolder()
    const store = await open(folder)
    for (let index = 0; index < 50; index++) await store.commit([put(`route/tg/${index}/`, 'x'.repeat(500))])
    await store.close()
    await writeFile(fileIn(folder), damage(await readFile(fileIn(folder))))
    const config = parseConfig({
      servers: { home: { url: 'http://127.0.0.1:1' } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } } },
      people: { ann: { ids: ['tg:1'], may: ['prompt'] } },
    })
    const started = open(folder).then(
      async (opened) =>
        await createBridge({
          config,
          store: opened,
          secret: () => '42:secret',
          load: async () => bridgeChannel,
        }).start(),
    )
    await expect(started).rejects.toThrow(says)
  },
)

test('a state whose file is a folder is refused', async () => {
  const folder = newFolder()
  await mkdir(fileIn(folder), { recursive: true })
  await expect(open(folder)).rejects.toThrow('bridge.db is not a file. Name another folder for the state.')
})

describe('a full disk', () => {
  test('rejects the commit in plain words, undoes it, and the next that fits is done', async () => {
    const file = fileIn(newFolder())
    const database = await openDatabase(file, 1)
    migrate(database, file)
    database.exec('PRAGMA max_page_count = 20; CREATE TABLE filled (value)')
    const fill = database.prepare('INSERT INTO filled VALUES (?)')
    const filled = database.prepare('SELECT length(value) FROM filled')
    const write = (lengths: readonly number[]): void =>
      database.transact(() => {
        for (const length of lengths) fill.run('x'.repeat(length))
        return { keep: true, result: undefined }
      })
    expect(() => write([10, 1_000_000])).toThrow('bridge.db cannot grow: the disk is full. Make room on it.')
    write([20])
    expect(filled.rows()).toEqual([[20]])
    database.close()
  })
})

describe('an error', () => {
  const says = (error: unknown): string => toStoreError('bridge.db', error).message

  test.each(['EACCES', 'EPERM', 'EROFS'])('%s names the right that is missing', (code) => {
    expect(says(Object.assign(new Error(code), { code }))).toBe(
      "The state bridge.db cannot be written. Let the bridge's user write the file and its folder.",
    )
  })

  test('of SQLite is known by its primary code', () => {
    // SQLITE_IOERR_FSYNC and SQLITE_READONLY_DIRECTORY: https://www.sqlite.org/rescode.html
    expect(says(Object.assign(new Error('disk I/O error'), { rawCode: 1034 }))).toContain('the disk reports an error')
    expect(says(Object.assign(new Error('readonly'), { rawCode: 1544 }))).toContain('cannot be written')
  })

  test('of another kind keeps its words and its cause', () => {
    const cause = new Error('Something new')
    expect(says(cause)).toBe('The state bridge.db failed: Something new.')
    expect(toStoreError('bridge.db', cause).cause).toBe(cause)
    expect(says('a text')).toBe('The state bridge.db failed: a text.')
  })

  test('of the store stays as it is', () => {
    const error = new StoreError('closed', 'It is closed.')
    expect(toStoreError('bridge.db', error)).toBe(error)
  })

  test('of a write names no value', async () => {
    const folder = await writtenFolder()
    const store = await open(folder)
    await withFile(folder, (file) => void file.exec('DROP TABLE stored'))
    const failed = await store.commit([put('secret key', 'secret value')]).catch((error: unknown) => error)
    expect(failed).toMatchObject({ type: 'failed', message: expect.stringContaining('no such table: stored') })
    expect(JSON.stringify([failed, String(failed), String((failed as Error).cause)])).not.toContain('secret')
    await store.close()
  })
})
