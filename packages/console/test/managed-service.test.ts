import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { errorLine } from '../src/cli/exit-code.ts'
import { addressOf, DEFAULT_URL } from '../src/cli/server-url.ts'

let home: string
const url = 'http://127.0.0.1:40961'
const password = 'of-the-service'

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'reply-service-'))
})
afterEach(async () => await rm(home, { recursive: true }))

async function register(content: unknown, folder = join(home, '.local', 'state')): Promise<void> {
  await mkdir(join(folder, 'opencode'), { recursive: true })
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  await writeFile(join(folder, 'opencode', 'service.json'), text)
}

const alive = { id: 's1', version: '2.0.0', url, pid: process.pid, password }

test('without --url and OPENCODE_URL, the running service is the server', async () => {
  await register(alive)
  expect(addressOf({}, { HOME: home })).toEqual({ url, password })
})

test('XDG_STATE_HOME takes precedence over the home folder', async () => {
  await register(alive, join(home, 'state'))
  expect(addressOf({}, { HOME: '/nowhere', XDG_STATE_HOME: join(home, 'state') })).toEqual({ url, password })
})

test("--url comes first, then OPENCODE_URL; neither gets the service's password", async () => {
  await register(alive)
  const env = {
    HOME: home,
    OPENCODE_URL: 'http://one',
    OPENCODE_PASSWORD: 'secret-2',
    OPENCODE_SERVER_PASSWORD: 'secret-1',
  }
  expect(addressOf({}, env)).toEqual({ url: 'http://one', password: 'secret-2' })
  expect(addressOf({ url: 'http://two' }, env)).toEqual({ url: 'http://two', password: 'secret-2' })
  expect(addressOf({ url: 'http://me:mine@two' }, env)).toEqual({ url: 'http://me:mine@two' })
})

test("the service's own address gets its password, however it was given", async () => {
  await register(alive)
  const env = { HOME: home, OPENCODE_SERVER_PASSWORD: 'secret-1' }
  expect(addressOf({ url: `${url}/` }, env)).toEqual({ url: `${url}/`, password })
})

test.each([
  ['nothing', undefined],
  ['a process that has ended', { ...alive, pid: 2 ** 30 }],
  ['text that is not JSON', '{'],
  ['other fields', { port: 1 }],
  ['no address', { ...alive, url: 'somewhere' }],
])('with %s in service.json, the default port is the server', async (_, content) => {
  if (content !== undefined) await register(content)
  expect(addressOf({}, { HOME: home })).toEqual({ url: DEFAULT_URL })
})

test('no error contains a password', async () => {
  await register(alive)
  const env = { HOME: home, OPENCODE_PASSWORD: 'secret-2', OPENCODE_SERVER_PASSWORD: 'secret-1' }
  const said = errorLine(new Error(`with ${password}, secret-1 and secret-2`), env)
  expect(said).toBe('reply: with ***, *** and ***')
})
