import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from '@reply/bridge'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

let folder = ''
let file = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-state-'))
  file = join(folder, 'state.jsonl')
  for (const name of ['old', 'new']) {
    const channels = { tg: { type: 'telegram', token: { env: 'TOKEN' } } }
    const config = { servers: { home: { url: 'http://127.0.0.1:1' } }, channels, state: `./${name}` }
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))
  }
})
afterEach(() => rmSync(folder, { recursive: true }))

async function state(...words: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const fake = fakeProcess({ env: { TOKEN: '42:secret' } })
  const code = await main(['bridge', 'state', ...words], fake.io)
  return { code, said: fake.stdout() + fake.stderr() }
}

const config = (name: string): readonly string[] => ['--config', join(folder, `${name}.json`)]

test('a state is exported to a file, and imported into another, with what it has', async () => {
  const store = await sqliteStore({ folder: join(folder, 'old') })
  await store.commit([
    { type: 'put', key: 'route/tg/7/', value: 'one' },
    { type: 'put', key: 'route/tg/8/', value: 'two' },
    { type: 'enqueue', queue: 'inbox/tg/7/', id: 'a', value: 'three' },
  ])
  await store.close()
  const counts = '2 values and 1 queue entry'
  expect(await state('export', file, ...config('old'))).toEqual({ code: 0, said: `Exported ${counts} to ${file}.\n` })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(await state('import', file, ...config('new'))).toEqual({ code: 0, said: `Imported ${counts} from ${file}.\n` })
  const copy = await sqliteStore({ folder: join(folder, 'new') })
  expect((await copy.list('')).map(({ key, value }) => [key, value])).toEqual([
    ['route/tg/7/', 'one'],
    ['route/tg/8/', 'two'],
  ])
  expect(await copy.queue('inbox/tg/7/')).toEqual([{ id: 'a', value: 'three' }])
  // That of an import that did not end, which the next one removes.
  await copy.commit([{ type: 'put', key: 'importing', value: '/a/file' }])
  await copy.close()
  expect(await state('import', file, ...config('new'))).toEqual({
    code: 0,
    said: `Imported ${counts} from ${file}.\nreply: The state has a part of /a/file, because that import did not end. Removing it first.\n`,
  })
})

test('a state that a process uses, and a file that exists, end in a sentence with the cure', async () => {
  const store = await sqliteStore({ folder: join(folder, 'old') })
  const wants = { shard: ['shard/00'] }
  await store.beat({ member: 'a bridge', forMs: 60_000, layout: 'one', wants, budgets: {} })
  const used = await state('export', file, ...config('old'))
  expect(used.code).toBe(1)
  expect(used.said).toContain('Another process uses this state. Stop the bridge first.')
  expect(existsSync(file)).toBe(false)
  await store.close()
  writeFileSync(file, 'mine')
  expect(await state('export', file, ...config('old'))).toMatchObject({
    ...{ code: 1, said: expect.stringContaining(`${file} already exists. Choose another file.`) },
  })
  expect((await state('import', file, ...config('new'))).said).toContain(`${file} has no state of a bridge.`)
  expect(existsSync(join(folder, 'new'))).toBe(false)
})

test('without a direction or a file, it is a usage error', async () => {
  expect((await state()).code).toBe(2)
  expect((await state('export')).code).toBe(2)
})
