import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Store, sqliteStore } from '@reply/bridge'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

let folder = ''
let path = ''
const stateFolder = (): string => join(folder, 'state')
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-failed-'))
  chmodSync(folder, 0o700)
  path = join(folder, 'reply.json')
  const channel = { type: 'telegram', token: { env: 'TOKEN' } }
  const people = { ann: { ids: ['tg:1'], may: ['prompt'] } }
  const config = { servers: { home: { url: 'http://127.0.0.1:1' } }, channels: { tg: channel }, people }
  writeFileSync(path, JSON.stringify({ ...config, state: './state' }))
})
afterEach(() => rmSync(folder, { recursive: true }))

const answer = {
  ...{ type: 'delivery', id: 'abc234', channel: 'tg', chat: { id: '7', thread: '3' }, server: 'home' },
  ...{ sessionID: 'ses_1', missing: 2, reason: 'The platform confirmed neither.', at: Date.UTC(2026, 0, 2) },
  text: 'What the agent said.',
}
const row = { type: 'row', key: 'route/tg/8/', value: 'oops', reason: 'it is not JSON', at: Date.UTC(2026, 0, 1) }

async function written(): Promise<Store> {
  const store = await sqliteStore({ folder: stateFolder() })
  await store.commit([
    { type: 'put', key: 'failed/delivery/tg/7/3/abc234', value: JSON.stringify(answer) },
    { type: 'put', key: 'failed/row/route/tg/8/', value: JSON.stringify(row) },
    { type: 'put', key: 'route/tg/9/', value: 'oops' },
  ])
  return store
}

async function failed(...more: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const fake = fakeProcess({ env: { TOKEN: '42:secret' } })
  const code = await main(['bridge', 'failed', '--config', path, ...more], fake.io)
  return { code, said: fake.stdout() + fake.stderr() }
}

const all = [
  "✗ 2026-01-01T00:00:00Z row route/tg/8/\n  It can't be read: it is not JSON. It was put aside, and the state keeps its value until you forget it.\n",
  '✗ 2026-01-02T00:00:00Z answer of run abc234 in tg:7/3, session ses_1 on home: 2 messages may be missing\n',
  '  The platform confirmed neither. The chat will be notified as soon as it responds. Send /resend there to post it again.\n',
].join('')

test('lists what failed beside a process that works with the state, and changes nothing', async () => {
  const store = await written()
  const wants = { shard: ['shard/00'] }
  const beat = await store.beat({ member: 'a bridge', forMs: 60_000, layout: 'one', wants, budgets: {} })
  const [lease] = beat.type === 'admitted' ? beat.leases : []
  expect(lease).toBeDefined()
  expect(await failed()).toEqual({ code: 1, said: all })
  expect(await store.commit([], lease)).toEqual({ type: 'done' })
  // It reads no other row, and puts none aside.
  expect(await store.read('route/tg/9/')).toBe('oops')
  await store.close()
})

test('lists the same when no bridge runs', async () => {
  await (await written()).close()
  expect(await failed()).toEqual({ code: 1, said: all })
})

test('says so if nothing failed, and makes no state', async () => {
  expect(await failed()).toEqual({ code: 0, said: 'No permanent failures.\n' })
  expect(existsSync(stateFolder())).toBe(false)
})

const prompt = {
  ...{ id: 'p', channel: 'tg', chat: { id: '7' }, actor: { id: '1', name: 'Ann' }, text: 'Go', files: [] },
  ...{ messageRef: { id: 'm' }, isCommand: false, receivedAt: 1 },
}

test('forgets a row that was put aside, beside a process that works with the state, and nothing else', async () => {
  const store = await written()
  const entry = { ...row, key: 'inbox/tg/8/', reason: 'it is not JSON' }
  await store.commit(
    ['1', '2'].map((id) => ({
      ...{ type: 'put', key: `failed/row/inbox/tg/8//#${id}` },
      value: JSON.stringify({ ...entry, id }),
    })),
  )
  expect(await failed('--forget', 'route/tg/9/')).toEqual({ code: 1, said: 'No row route/tg/9/ is listed.\n' })
  expect(await failed('--forget', 'route/tg/8/')).toEqual({ code: 0, said: '1 row was forgotten.\n' })
  expect(await failed('--forget', 'inbox/tg/8/')).toEqual({ code: 0, said: '2 rows were forgotten.\n' })
  expect((await store.list('failed/')).map(({ key }) => key)).toEqual(['failed/delivery/tg/7/3/abc234'])
  expect(await store.read('route/tg/9/')).toBe('oops')
  await store.close()
  expect((await failed()).said).toMatch(/^✗ 2026-01-02T00:00:00Z answer of run abc234 [^✗]*$/)
})

test('lists a prompt that may have run before a restart, as long as its person has not decided', async () => {
  const store = await sqliteStore({ folder: stateFolder() })
  const receivedAt = Date.UTC(2026, 0, 3)
  await store.commit([
    { type: 'put', key: 'unknown/tg/7//xyz789', value: JSON.stringify({ ...prompt, receivedAt }) },
    { type: 'put', key: 'unknown/tg/7//odd999', value: 'oops' },
  ])
  await store.close()
  const said = [
    '✗ 2026-01-03T00:00:00Z prompt of run xyz789 in tg:7: it may have run\n',
    '  The bridge was restarted, and the server can\'t tell. Its author decides with "Run it again" or "Leave it" in the chat.\n',
  ].join('')
  expect(await failed()).toEqual({ code: 1, said })
})

const year = 31_536_000_000

test('lists answers that wait for their chat below what failed, and alone they are no failure', async () => {
  const run = { prompt, server: 'home', status: 'complete', startedAt: 1, finishedAt: Date.UTC(2026, 0, 3) }
  const put = (id: string, more: object, expiresInMs: number) =>
    ({ type: 'put', key: `execution/tg/7/${id}`, value: JSON.stringify({ ...run, id, ...more }), expiresInMs }) as const
  const store = await sqliteStore({ folder: stateFolder() })
  await store.commit([
    // How long it has waited follows from what is left of a year.
    put('held11', { phase: 'delivering' }, year - 60_000),
    put('done11', { phase: 'done' }, 3_600_000),
    put('soon11', { phase: 'delivering', finishedAt: Date.now() }, year),
    { type: 'put', key: 'execution/tg/8/odd', value: 'oops' },
  ])
  await store.close()
  const held = [
    '… 2026-01-03T00:00:00Z answer of run held11 in tg:7: its chat does not show all of it yet\n',
    '  The chat accepts no messages right now, or does not respond. The answer is shown as soon as that changes.\n',
  ].join('')
  expect(await failed()).toEqual({ code: 0, said: `${held}No permanent failures.\n` })
  await (await written()).close()
  expect(await failed()).toEqual({ code: 1, said: all + held })
})

test('lists messages and runs that were put aside because they ended the process, and forgets them', async () => {
  const store = await sqliteStore({ folder: stateFolder() })
  const poison = { type: 'poison', value: 'What a person wrote', tries: 3, at: Date.UTC(2026, 0, 3) }
  await store.commit([
    {
      type: 'put',
      key: 'failed/poison/inbox/tg/7/3/#12',
      value: JSON.stringify({ ...poison, key: 'inbox/tg/7/3', id: '12' }),
    },
    {
      type: 'put',
      key: 'failed/poison/execution/tg/8//abc',
      value: JSON.stringify({ ...poison, key: 'execution/tg/8//abc' }),
    },
  ])
  await store.close()
  const { code, said } = await failed()
  expect(code).toBe(1)
  expect(said).toContain('✗ 2026-01-03T00:00:00Z message inbox/tg/7/3, entry 12\n')
  expect(said).toContain('✗ 2026-01-03T00:00:00Z run execution/tg/8//abc\n')
  expect(said).toContain('soon after it began to handle it, which 3 processes did.')
  expect(said).not.toContain('What a person wrote')
  expect(await failed('--forget', 'inbox/tg/7/3')).toEqual({ code: 0, said: '1 row was forgotten.\n' })
  expect(await failed('--forget', 'execution/tg/8//abc')).toEqual({ code: 0, said: '1 row was forgotten.\n' })
  expect(await failed()).toEqual({ code: 0, said: 'No permanent failures.\n' })
})

test('a state that can’t be read ends in a sentence with its file and the cure', async () => {
  await (await written()).close()
  writeFileSync(join(stateFolder(), 'bridge.db'), 'The notes of a meeting.\n'.repeat(500))
  const { code, said } = await failed()
  expect(code).toBe(1)
  expect(said).toMatch(/The state .*bridge\.db is not a state of the bridge\. Name another folder/)
})
