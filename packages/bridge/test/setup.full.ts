import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeStore } from '@reply/postgres/bridge'
import { bridgeChannel } from '@reply/telegram/bridge'
import { launchOpencode, type OpencodeServer, type ScriptedModel, startModel } from '@reply/testing'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { checkBridge } from '../src/setup/check-bridge.ts'
import type { Questions } from '../src/setup/init-bridge.ts'
import { defaultConfigPath, initBridge } from '../src/setup/init-bridge.ts'
import type { BridgeStore } from '../src/store/bridge-store.ts'

const token = '42:secret'

let model: ScriptedModel
let server: OpencodeServer
let telegram: FakeTelegram
let folder = ''
let path = ''
const said: string[] = []

beforeAll(async () => {
  model = await startModel({ scripts: {} })
  server = await launchOpencode({ model })
  telegram = await startTelegram({
    token,
    chats: [
      { id: 1, type: 'private', title: 'Ann' },
      { id: -5, type: 'supergroup', title: 'Shop' },
    ],
  })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-setup-'))
  path = join(folder, 'reply.json')
  said.length = 0
})
afterEach(() => rmSync(folder, { recursive: true }))
afterAll(async () => {
  await telegram.close()
  await server.stop()
  await model.close()
})

/** Channels speak to the fake. */
const load = async () => ({
  ...bridgeChannel,
  check: async (config: object, host: Parameters<typeof bridgeChannel.check>[1]) =>
    await bridgeChannel.check({ ...bridgeChannel.schema.parse(config), apiRoot: telegram.url }, host),
  create: async (config: object, host: Parameters<typeof bridgeChannel.create>[1]) =>
    await bridgeChannel.create({ ...bridgeChannel.schema.parse(config), apiRoot: telegram.url }, host),
})

interface Answers {
  readonly texts: readonly string[]
  readonly secrets: readonly string[]
  /** Where to keep the state, in turn. Default: the first choice. */
  readonly places?: readonly string[]
  /** Called with what is said. */
  readonly onSay?: (text: string) => void
}

function answering({ texts, secrets, places = [], onSay }: Answers): Questions {
  const [left, hidden, placesLeft] = [[...texts], [...secrets], [...places]]
  return {
    text: async (question, { check, signal } = {}) => {
      const next = left.shift()
      if (next !== undefined) {
        expect(check?.(next)).toBeUndefined()
        return next
      }
      expect(question).toContain('Waiting for the code')
      return await new Promise<never>((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)))
    },
    secret: async () => hidden.shift() ?? '',
    choose: async (question, choices) => {
      const place = question === 'Where should the bridge keep its state?' ? placesLeft.shift() : undefined
      const chosen = choices.find(({ value }) => place === undefined || value === place)
      return chosen?.value ?? expect.fail('There is nothing to choose.')
    },
    say: (text) => {
      said.push(text)
      onSay?.(text)
    },
  }
}

test('init checks what it is told, lets the first person in by a code, and writes a config that works', async () => {
  const codes: string[] = []
  const onSay = (text: string): void => {
    const [code] = /\w{4}-\w{4}$/.exec(text) ?? []
    if (code === undefined) return
    codes.push(code)
    // Others read the first one.
    if (codes.length === 1) return void telegram.say(-5, `@fake_bot ${code}`, { from: { id: 7, name: 'Eve' } })
    telegram.say(1, 'AAAA-AAAA', { from: { id: 1, name: 'Ann' } })
    telegram.say(1, code.toLowerCase(), { from: { id: 1, name: 'Ann' } })
  }
  const texts = ['http://127.0.0.1:1', server.directory, server.url, server.directory, 'ann']
  const questions = answering({ texts, secrets: ['1:wrong', token], onSay })
  await initBridge({ path, questions, load, timeoutMs: 5000 })
  expect(said.filter((line) => line.startsWith('✗'))).toHaveLength(3)
  expect(said.join()).not.toContain(token)
  const text = readFileSync(path, 'utf8')
  // Where the umask leaves files open to all, the bridge would refuse its own config.
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(JSON.parse(text)).toEqual({
    servers: { home: { url: server.url, directory: server.directory, homeChat: 'telegram:1' } },
    channels: { telegram: { type: 'telegram', token: { file: './telegram-token.secret' } } },
    people: { ann: { ids: ['telegram:1'], may: ['prompt', 'approve', 'admin'] } },
    state: './state',
  })
  expect(statSync(join(folder, 'telegram-token.secret')).mode & 0o777).toBe(0o600)
  const checked = await checkBridge({ path, load })
  expect(checked).toEqual([
    { part: 'channel telegram', isUsable: true, found: '@fake_bot' },
    { part: 'server home', isUsable: true, found: expect.stringContaining('answers, 0 sessions') },
    { part: 'people', isUsable: true, found: 'ann' },
    { part: 'state', isUsable: true, found: expect.stringContaining('will be created') },
  ])
})

test('init takes an id that is typed, and replaces no config unless it is told to', async () => {
  const texts = [server.url, server.directory, 'ann', '123']
  await initBridge({ path, questions: answering({ texts, secrets: [token] }), load })
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    servers: { home: { homeChat: 'telegram:123' } },
    people: { ann: { ids: ['telegram:123'] } },
  })
  const again = answering({ texts, secrets: [token] })
  await expect(initBridge({ path, questions: again, load })).rejects.toThrow('already exists')
  await initBridge({ path, questions: again, load, force: true })
})

test("init writes nothing into the agent's reach: it asks for another folder, until one is apart", async () => {
  const within = join(server.directory, 'reply.json')
  const texts = [server.url, server.directory, join(folder, 'own'), 'ann', '123']
  const questions = answering({ texts, secrets: [token] })
  const refused: (string | undefined)[] = []
  const written = await initBridge({
    path: within,
    questions: {
      ...questions,
      text: async (question, options = {}) => {
        if (question.startsWith('Another folder')) refused.push(options.check?.(join(server.directory, 'deeper')))
        return await questions.text(question, options)
      },
    },
    load,
  })
  expect(written).toBe(join(folder, 'own', 'reply.json'))
  expect(refused).toEqual([expect.stringMatching(/^The agent can access .*deeper\/reply\.json, too\.$/)])
  expect(said).toContain(
    `An agent in ${server.directory} can access ${within}: it could grant itself rights and read the bot’s token.`,
  )
  expect(readdirSync(join(folder, 'own')).sort()).toEqual(['reply.json', 'telegram-token.secret'])
  expect(statSync(join(folder, 'own')).mode & 0o777).toBe(0o700)
  expect(readdirSync(server.directory)).not.toContain('reply.json')
  expect((await checkBridge({ path: written, load })).map(({ isUsable }) => isUsable)).toEqual([true, true, true, true])
})

test('init says so where the agent works in a folder with the home in it', async () => {
  const home = join(server.directory, 'home')
  vi.stubEnv('HOME', home)
  const path = defaultConfigPath('bridge', { HOME: home })
  expect(path).toBe(join(home, '.config', 'reply', 'bridge', 'reply.json'))
  const texts = [server.url, server.directory, folder, 'ann', '123']
  await initBridge({ path, questions: answering({ texts, secrets: [token] }), load })
  expect(said).toContain(
    `${server.directory} contains your home folder, so an agent there can access everything in it, including ${path}.`,
  )
  vi.unstubAllEnvs()
})

test('a config of its own is placed by XDG, whose variable has to be absolute', () => {
  expect(defaultConfigPath('shop', { XDG_CONFIG_HOME: '/etc/xdg', HOME: '/home/ann' })).toBe(
    '/etc/xdg/reply/shop/reply.json',
  )
  expect(defaultConfigPath('shop', { XDG_CONFIG_HOME: 'xdg', HOME: '/home/ann' })).toBe(
    '/home/ann/.config/reply/shop/reply.json',
  )
})

test("init leaves another config's secrets alone, and writes none that the config does not name", async () => {
  const others = join(folder, 'telegram-token.secret')
  writeFileSync(others, 'theirs')
  // A server elsewhere needs a password, which is asked for before its first call.
  const texts = ['http://192.0.2.1:1', server.directory, server.url, server.directory, 'ann', '123']
  await initBridge({ path, questions: answering({ texts, secrets: ['pass', token] }), load, timeoutMs: 100 })
  expect(readFileSync(others, 'utf8')).toBe('theirs')
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
    channels: { telegram: { token: { file: './telegram-token-2.secret' } } },
  })
  expect(readdirSync(folder).sort()).toEqual(['reply.json', 'telegram-token-2.secret', 'telegram-token.secret'])
  expect(statSync(join(folder, 'telegram-token-2.secret')).mode & 0o777).toBe(0o600)
})

test('init accepts a device that is not linked yet, and asks for an id where no code can be heard', async () => {
  const create = () => Promise.reject(new Error('It is not linked.'))
  const check = () => Promise.reject(Object.assign(new Error('No device is linked.'), { type: 'unlinked' }))
  const unlinked = async () => ({ ...(await load()), check, create })
  const texts = [server.url, server.directory, 'ann', '123']
  await initBridge({ path, questions: answering({ texts, secrets: [token] }), load: unlinked })
  expect(said.filter((line) => line.startsWith('✗'))).toEqual(['✗ No device is linked.', '✗ It is not linked.'])
  expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ people: { ann: { ids: ['telegram:123'] } } })
})

/** A kind of state whose check fails unless its address is `good`, and that makes nothing. */
const database: BridgeStore<{ readonly type: 'postgres'; readonly url: { readonly env: string } }> = {
  schema: z.strictObject({ type: z.literal('postgres'), url: z.strictObject({ env: z.string() }) }),
  check: async ({ url }, { secret }) => {
    if (secret(url) !== 'good') throw new Error('The database refused the password.')
    return ['PostgreSQL 17.2, can be written to', 'warning: it is slow']
  },
  openExisting: async () => undefined,
  open: () => expect.fail('A state was made.'),
}

test('init checks a database by the variable with its address, and asks again until it can be used', async () => {
  const names: (string | undefined)[] = []
  const texts = [server.url, server.directory, 'WRONG', 'GOOD', 'ann', '123']
  const questions = answering({ texts, secrets: [token], places: ['postgres', 'postgres'] })
  await initBridge({
    path,
    questions: {
      ...questions,
      text: async (question, options = {}) => {
        if (question.startsWith('The environment variable')) names.push(options.check?.('postgres://me:pass@db/reply'))
        return await questions.text(question, options)
      },
    },
    load,
    loadStore: async () => database,
    env: { WRONG: 'bad', GOOD: 'good' },
  })
  expect(names).toEqual(Array(2).fill('Write the name of an environment variable, not the secret.'))
  expect(said).toContain('✗ The database refused the password.')
  expect(said).toContain('✓ PostgreSQL 17.2, can be written to\nwarning: it is slow')
  expect(JSON.parse(readFileSync(path, 'utf8')).state).toEqual({ type: 'postgres', url: { env: 'GOOD' } })
  expect(readFileSync(path, 'utf8')).not.toContain('good')
})

test('init takes a database whose variable is only set where the bridge runs, but none without its package', async () => {
  const texts = [server.url, server.directory, 'DATABASE_URL', 'DATABASE_URL', 'ann', '123']
  const missing = new Error('@reply/postgres could not be loaded.')
  const loads = [() => Promise.reject(missing), async () => database]
  await initBridge({
    ...{ path, load, env: {} },
    questions: answering({ texts, secrets: [token], places: ['postgres', 'postgres'] }),
    loadStore: async () => (await loads.shift()?.()) ?? expect.fail('It was loaded too often.'),
  })
  expect(said).toContain('✗ @reply/postgres could not be loaded.')
  expect(said).toContain('DATABASE_URL is not set here, so the database was not checked. Set it where the bridge runs.')
  expect(JSON.parse(readFileSync(path, 'utf8')).state).toEqual({ type: 'postgres', url: { env: 'DATABASE_URL' } })
})

test.skipIf(!hasPostgres())(
  `init takes a real PostgreSQL, and names what is wrong with one (${needsPostgres})`,
  async () => {
    const url = await (await sharedPostgres()).createDatabase()
    const wrong = new URL(url)
    wrong.password = 'hunter2-hunter2'
    const texts = [server.url, server.directory, 'WRONG', 'DATABASE_URL', 'ann', '123']
    await initBridge({
      ...{ path, load, env: { WRONG: wrong.href, DATABASE_URL: url } },
      questions: answering({ texts, secrets: [token], places: ['postgres', 'postgres'] }),
      loadStore: async () => bridgeStore,
    })
    const { host, pathname } = new URL(url)
    expect(said).toContain(
      `✗ PostgreSQL at ${host}${pathname} refuses the user or the password. Correct them in the URL.`,
    )
    expect(said.join('\n')).toMatch(
      /✓ PostgreSQL .*, can be written to, no state yet\nsynchronous_commit is on, and no standby/,
    )
    expect(JSON.parse(readFileSync(path, 'utf8')).state).toEqual({ type: 'postgres', url: { env: 'DATABASE_URL' } })
    expect(`${said} ${readFileSync(path, 'utf8')}`).not.toMatch(new RegExp(`hunter2|${new URL(url).password}`))
  },
)

test('a check names each part that does not work, and goes on', async () => {
  writeFileSync(join(folder, 'file'), '')
  const config = {
    servers: { home: { url: 'http://127.0.0.1:1' } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' } }, sl: { type: 'telegram', token: { env: 'NONE' } } },
    state: './file/state',
  }
  writeFileSync(path, JSON.stringify(config))
  const checked = await checkBridge({ path, load, env: { TOKEN: '1:wrong' }, timeoutMs: 2000 })
  expect(checked.map(({ part, isUsable }) => [part, isUsable])).toEqual([
    ['channel tg', false],
    ['channel sl', false],
    ['server home', false],
    ['people', false],
    ['state', false],
  ])
  expect(checked.map(({ found }) => found).join('\n')).toContain('The environment variable NONE is not set.')
  expect(JSON.stringify(checked)).not.toContain('1:wrong')
  expect(await checkBridge({ path: join(folder, 'none.json') })).toMatchObject([{ part: 'config', isUsable: false }])
})

test('a check says that the server does not have the directory', async () => {
  const tg = { type: 'telegram', token: { env: 'TOKEN' } }
  const config = { servers: { home: { url: server.url, directory: '/no/such' } }, channels: { tg } }
  writeFileSync(path, JSON.stringify(config))
  const checked = await checkBridge({ path, load, env: { TOKEN: token } })
  expect(checked.find(({ part }) => part === 'server home')).toMatchObject({
    isUsable: false,
    found: expect.stringContaining('can\'t open the directory "/no/such"'),
  })
})

test('a check of an older server, which takes any directory for an empty one, says that it finds nothing there', async () => {
  const old = await launchOpencode({ model, version: '1.1.65' })
  try {
    const tg = { type: 'telegram', token: { env: 'TOKEN' } }
    const found = async (directory: string) => {
      writeFileSync(path, JSON.stringify({ servers: { home: { url: old.url, directory } }, channels: { tg } }))
      const checked = await checkBridge({ path, load, env: { TOKEN: token } })
      return checked.find(({ part }) => part === 'server home')
    }
    const [wrong, right] = [await found('/no/such'), await found(old.directory)]
    expect([wrong?.isUsable, right?.isUsable]).toEqual([true, true])
    expect(wrong?.found).toContain('0 sessions in /no/such')
    expect(wrong?.found).toContain(`finds nothing in the directory "/no/such": it is empty or doesn't exist.`)
    expect(right?.found).not.toContain('finds nothing')
  } finally {
    await old.stop()
  }
})
