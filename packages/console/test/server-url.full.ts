import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { launchOpencode, promptFor, scenarios, startModel, startProxy } from '@reply/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { testExitSignals } from './exit-signals.ts'
import { fakeProcess } from './fixture/io.ts'
import { fakeTerminal } from './fixture/terminal.ts'
import { testReadme } from './readme.ts'

/** The commands on a real OpenCode server that requires a password, with a scripted model. */
let model: Awaited<ReturnType<typeof startModel>>
let opencode: Awaited<ReturnType<typeof launchOpencode>>
const PASSWORD = 'not-to-be-seen'
const AUTHORIZATION = `Basic ${Buffer.from(`opencode:${PASSWORD}`).toString('base64')}`

beforeAll(async () => {
  model = await startModel({ scripts: Object.assign({}, ...scenarios.map(({ scripts }) => scripts)) })
  opencode = await launchOpencode({
    model,
    password: PASSWORD,
    // No test reverts changes, and the server's snapshots of the files are a third of its work.
    config: { permission: { bash: { '*': 'allow', 'echo forbidden': 'ask' } }, extra: { snapshot: false } },
    files: { 'notes.txt': 'one\ntwo\nthree\n' },
  })
})

afterAll(async () => {
  await opencode?.stop()
  await model?.close()
})

function start(...args: string[]) {
  return startAt(opencode.url, ...args)
}

function startAt(url: string, ...args: string[]) {
  const fake = fakeProcess({ env: { OPENCODE_SERVER_PASSWORD: PASSWORD } })
  const done = main([...args, '--url', url, '--directory', opencode.directory], fake.io)
  return { ...fake, done }
}

const until = (condition: () => boolean | Promise<boolean>) => expect.poll(condition, { interval: 20 }).toBe(true)

test('prompt shows the reply as it comes and ends with its outcome', async () => {
  const { done, stdout, stderr, listening } = start('prompt', promptFor('tools-todos'))
  expect(await done).toBe(0)
  expect(stdout()).toContain('✓ bash')
  expect(stdout()).toContain('The notes have three lines.\n\n- one\n- two\n- three\n')
  expect(stdout()).toContain('✓ completed · ')
  expect(stderr()).toBe('')
  expect(listening()).toBe(0)
})

test('on a terminal, prompt says how to continue the session', async () => {
  const terminal = fakeTerminal(100, 30)
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const { io } = fakeProcess({ env: { OPENCODE_SERVER_PASSWORD: PASSWORD } })
  const where = ['--url', opencode.url, '--directory', opencode.directory]
  expect(await main(['prompt', promptFor('plain'), ...where], { ...io, stdin, stdout: terminal.stdout })).toBe(0)
  expect((await terminal.rows()).at(-1)).toMatch(/^To continue: reply prompt --session ses_\w+ "…"$/)
})

test('prompt --json gives one line', async () => {
  const { done, stdout } = start('prompt', '--json', promptFor('plain'))
  expect(await done).toBe(0)
  const lines = stdout().trimEnd().split('\n')
  expect(lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ outcome: 'completed', phase: 'settled' })
  expect(JSON.parse(lines[0] ?? '').answer).toContain('Hello!')
})

test('a failure is exit code 1 with its reason', async () => {
  const { done, stdout } = start('prompt', promptFor('unauthorized'))
  expect(await done).toBe(1)
  expect(stdout()).toContain('✗ failed: ')
})

test('an ask without a person to answer is rejected, with a message', async () => {
  const { done, stdout } = start('prompt', promptFor('question'))
  expect(await done).toBe(1)
  expect(stdout()).toContain(', because it cannot be answered here')
  expect(stdout()).toContain('■ stopped: the question was rejected')
})

test('--asks wait leaves the answer to others: a watch sees the question', async () => {
  const watch = start('watch', '--json')
  await until(() => watch.stderr().includes('watching every session'))
  const prompt = start('prompt', '--asks', 'wait', promptFor('question'))
  await until(() => prompt.stdout().includes('? Colour'))
  const [, id] = /"id":"(que_\w+)"/.exec(await (await request('/question')).text()) ?? []
  await request(`/question/${id}/reply`, { answers: [['Blue']] })
  expect(await prompt.done).toBe(0)
  expect(prompt.stdout()).toContain('✓ Which colour shall it be? → Blue')
  await until(() => watch.stdout().includes('"outcome":"completed"'))
  watch.signal('SIGINT')
  expect(await watch.done).toBe(0)
  expect(JSON.parse(watch.stdout().trimEnd().split('\n').at(-1) ?? '').answer).toBe('Blue it is.')
})

test('the first Control-C aborts the reply on the server and still shows how it ended', async () => {
  const { done, stdout, signal } = start('prompt', '--changes', '--json', promptFor('abort-text'))
  await until(() => stdout().includes('"delta"'))
  signal('SIGINT')
  expect(await done).toBe(1)
  const reply = JSON.parse(stdout().trimEnd().split('\n').at(-1) ?? '')
  expect(reply).toMatchObject({ outcome: 'aborted', phase: 'settled' })
  expect(reply.text).toContain('This answer will')
})

test('the second Control-C leaves at once', async () => {
  const { done, signal, stdout } = start('prompt', '--changes', promptFor('abort-text'))
  await until(() => stdout().includes('replyStarted'))
  signal('SIGINT')
  signal('SIGINT')
  expect(await done).toBe(130)
})

test('record writes what replay can show, without the password, and refuses to overwrite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reply-record-'))
  const file = join(folder, 'new.sse')
  // A reply that an earlier test aborted may still be running, and would be recorded, too.
  await until(async () => (await (await request('/session/status')).text()) === '{}')
  const record = start('record', file)
  await until(() => record.stdout().includes('Press Control-C to stop'))
  const prompt = start('prompt', '--json', promptFor('plain'))
  await prompt.done
  const { sessionID } = JSON.parse(prompt.stdout())
  // The recorder has its own stream, which may lag behind the prompt's.
  await until(async () =>
    (await readFile(file, 'utf8')).includes(`"session.idle","properties":{"sessionID":"${sessionID}"`),
  )
  record.signal('SIGINT')
  expect(await record.done).toBe(0)
  expect(record.stdout()).toMatch(/\d+ frames, 1 reply\n$/)
  expect(await readFile(file, 'utf8')).not.toContain(PASSWORD)
  const replayed = fakeProcess()
  expect(await main(['replay', file], replayed.io)).toBe(0)
  expect(replayed.stdout()).toContain('Hello!')
  const again = start('record', file)
  expect(await again.done).toBe(2)
  expect(again.stderr()).toContain('already exists. Use another name or --force.')
  await rm(folder, { recursive: true })
})

test('a wrong password is reported with its cure, and never shown', async () => {
  const guarded = createServer((_, response) => response.writeHead(401).end())
  await new Promise<void>((listening) => guarded.listen(0, '127.0.0.1', listening))
  const address = guarded.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const fake = fakeProcess({ env: { OPENCODE_SERVER_PASSWORD: PASSWORD } })
  expect(await main(['watch', '--url', `http://127.0.0.1:${port}`], fake.io)).toBe(1)
  expect(fake.stderr()).toMatch(/^reply: .*OPENCODE_SERVER_PASSWORD/)
  expect(fake.stderr()).not.toContain(PASSWORD)
  guarded.close()
})

test('a session that the server does not know ends the command, with how to list the known ones', async () => {
  const watch = start('watch', '--session', 'ses_nobody')
  expect(await watch.done).toBe(1)
  expect(watch.stderr()).toMatch(/^reply: No session ses_nobody at [^\n]+ `opencode session list`[^\n]+\n$/)
  const prompt = start('prompt', '--session', 'ses_nobody', 'Hello')
  expect(await prompt.done).toBe(1)
  expect(prompt.stdout()).toContain('✗ failed: no session ses_nobody on this server')
})

test('a watch outlives its server and says so', async () => {
  // Uses its own session, as other tests may have left one running.
  const [, id = ''] = /"id":"(ses_\w+)"/.exec(await (await request('/session', {})).text()) ?? []
  const proxy = await startProxy({ target: opencode.url })
  const { done, stdout, stderr, signal } = startAt(proxy.url, 'watch', '--session', id)
  await until(() => stdout().includes(`watching ${id}`))
  await proxy.refuse()
  await until(() => stdout().includes('connection lost, reconnecting …\n'))
  await proxy.resume()
  await until(() => /connection restored after \S+, nothing missed\n/.test(stdout()))
  signal('SIGINT')
  expect(await done).toBe(0)
  expect(stdout().trimEnd().split('\n')).toHaveLength(3)
  expect(stderr()).toBe('')
  await proxy.close()
})

describe('a command that is interrupted', () => testExitSignals(() => opencode, PASSWORD))

describe('the README', () => testReadme(() => opencode, PASSWORD))

function request(path: string, body?: unknown): Promise<Response> {
  return fetch(`${opencode.url}${path}?directory=${encodeURIComponent(opencode.directory)}`, {
    headers: { authorization: AUTHORIZATION, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
}
