import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { ReplyError } from '@reply/core'
import { readRecording } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConsoleError } from '../src/cli/error.ts'
import { EXIT, errorLine, exitCodeOf, exitCodeOfError } from '../src/cli/exit-code.ts'
import { main } from '../src/cli/main.ts'
import { parseDuration, parseListen, parseModel, parseSpeed } from '../src/cli/program.ts'
import { fakeProcess } from './fixture/io.ts'

let folder = ''
const file = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reply-console-'))
  for (const scenario of ['question', 'unauthorized', 'two-sessions']) {
    const { bytes } = readRecording({ version: '1.18.33', scenario })
    await writeFile(file(`${scenario}.sse.gz`), gzipSync(bytes))
    await writeFile(file(`${scenario}.sse`), bytes)
  }
  await writeFile(file('empty.sse'), '')
  await writeFile(file('garbage'), 'this is\nno recording\n')
})

afterAll(() => rm(folder, { recursive: true }))

async function run(...args: string[]) {
  const fake = fakeProcess()
  const code = await main(args, fake.io)
  return { code, out: fake.stdout(), err: fake.stderr() }
}

test('--help names every command, the exit codes and examples', async () => {
  const { code, out } = await run('--help')
  expect(code).toBe(0)
  for (const word of ['watch', 'web', 'prompt', 'replay', 'record', 'inspect', 'demo', 'Exit codes', 'Examples'])
    expect(out).toContain(word)
  const codes = out.slice(out.indexOf('Exit codes'), out.indexOf('Environment'))
  for (const one of Object.values(EXIT)) expect(codes).toMatch(new RegExp(`\\b${one}\\b`))
  for (const command of ['watch', 'web', 'prompt', 'replay', 'record', 'inspect', 'demo']) {
    expect((await run(command, '--help')).out).toContain('Examples:')
  }
})

test('bridge --check says what is wrong with each part, and init needs a terminal', async () => {
  const config = { servers: { home: { url: 'http://127.0.0.1:1' } }, channels: { tg: { type: 'none' } } }
  await writeFile(file('reply.json'), JSON.stringify(config))
  const { code, out } = await run('bridge', '--check', '--config', file('reply.json'))
  expect(code).toBe(EXIT.failed)
  expect(out).toMatch(/^✗ channel tg: .*Install it, or correct the type\.$/m)
  expect(out).toMatch(/^✗ server home: /m)
  expect(out).toMatch(/^✗ people: /m)
  expect(out).toMatch(/^✓ state: /m)
  const init = await run('bridge', 'init', '--config', file('new.json'))
  expect(init).toMatchObject({ code: EXIT.usage, err: 'reply: init asks questions, so it needs a terminal.\n' })
})

test('bridge --check shows each fault of a config on a line of its own', async () => {
  const people = { ann: { ids: ['xx:1'], may: ['fly'] }, ben: { ids: ['tg:2'], may: ['run'] } }
  await writeFile(file('faulty.json'), JSON.stringify({ servers: {}, channels: {}, people }))
  const { code, out } = await run('bridge', '--check', '--config', file('faulty.json'))
  expect(code).toBe(EXIT.failed)
  expect(out).toMatch(/^ {2}- people\.ann\.may\.0: .*"fly"/m)
  expect(out).toMatch(/^ {2}- people\.ben\.may\.0: .*"run"/m)
})

test('--listen takes a port of this computer, or an address', async () => {
  expect([parseListen('9464'), parseListen('0.0.0.0:80'), parseListen('[::]:80')]).toEqual([
    { host: '127.0.0.1', port: 9464 },
    { host: '0.0.0.0', port: 80 },
    { host: '::', port: 80 },
  ])
  for (const wrong of ['', 'http', '99999', 'a b:1', ':1'])
    expect(() => parseListen(wrong)).toThrow('is not an address')
  const { code, err } = await run('bridge', '--listen', 'nowhere')
  expect([code, err]).toEqual([EXIT.usage, expect.stringContaining('Use a port such as 9464, or host:port')])
})

test('bridge serves webhooks and health at an address each, and health under the allowed names', async () => {
  const tg = { type: 'telegram', token: { env: 'TG' }, apiRoot: 'http://127.0.0.1:1', updates: 'webhook' }
  const channels = { tg: { ...tg, secretToken: { env: 'HOOK' } } }
  await writeFile(file('served.json'), JSON.stringify({ servers: { home: { url: 'http://127.0.0.1:1' } }, channels }))
  const fake = fakeProcess({ env: { TG: '42:a-secret', HOOK: 'a-secret_1' } })
  const listens = ['--listen', '0', '--listen-health', '0', '--allow-host', 'a.test', '--allow-host', 'b.test']
  const ended = main(['bridge', '--config', file('served.json'), ...listens], fake.io)
  await expect.poll(fake.stderr).toContain('Listening on tg')
  const [webhooks = '', health = ''] = fake.stderr().match(/http:\/\/127\.0\.0\.1:\d+/g) ?? []
  const statusOf = async (url: string): Promise<number> => (await fetch(url, { method: 'GET' })).status
  const named = async (host: string): Promise<number | undefined> =>
    await new Promise((resolve) =>
      get(`${health}/healthz`, { headers: { host } }, (one) => resolve(one.resume().statusCode)),
    )
  expect([await statusOf(`${webhooks}/webhooks/tg`), await statusOf(`${webhooks}/metrics`)]).toEqual([405, 404])
  expect([await statusOf(`${health}/webhooks/tg`), await statusOf(`${health}/metrics`)]).toEqual([404, 200])
  expect([await named('a.test'), await named('b.test:80'), await named('c.test')]).toEqual([200, 200, 421])
  fake.signal('SIGTERM')
  expect(await ended).toBe(EXIT.done)
  await expect(statusOf(health)).rejects.toThrow('fetch failed')
})

test('--json and --changes have one description in every command', async () => {
  for (const command of ['watch', 'prompt', 'replay', 'record', 'demo']) {
    const help = (await run(command, '--help')).out.replace(/\s+/g, ' ')
    expect(help).toContain(
      '--json write only JSON lines to standard output, one for each settled reply with its text, answer',
    )
    expect(help).toContain(
      '--changes write only JSON lines to standard output, one for each change, without wire events',
    )
  }
})

test('--timeout says what counts', async () => {
  const { out } = await run('prompt', '--help')
  expect(out.replace(/\s+/g, ' ')).toContain('Waiting for an answer does not count, waiting for a retry does')
})

test('--version is that of the package', async () => {
  expect((await run('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test.each([
  ['no command', []],
  ['an unknown command', ['wach']],
  ['an unknown option', ['watch', '--sesion', 'x']],
  ['a port that is none', ['web', '--port', '70000']],
  ['no text', ['prompt']],
  ['an empty text', ['prompt', ' ']],
  ['a speed that is none', ['replay', '--speed', 'fast', 'x']],
  ['a duration that is none', ['prompt', 'x', '--timeout', 'soon']],
  ['a model without a provider', ['prompt', 'x', '--model', 'opus']],
  ['an address that is none', ['watch', '--url', 'localhost:4096']],
  ['a folder that is not there', ['record', 'no/such/folder.sse']],
  ['a recording and lines on one stream', ['record', '-', '--json']],
  ['an unknown scenario', ['demo', 'nope']],
])('%s is wrong usage: exit code 2 and one line that says so', async (_, args) => {
  const { code, out, err } = await run(...args)
  expect(code).toBe(2)
  expect(out).toBe('')
  expect(err).not.toContain('    at ')
})

test('no server: one sentence with the cure, no credentials, exit code 1', async () => {
  const { code, out, err } = await run('watch', '--url', 'http://me:geheim@127.0.0.1:9')
  expect(code).toBe(1)
  expect(out).toBe('')
  expect(err).toMatch(/^reply: [^\n]+http:\/\/127\.0\.0\.1:9[^\n]+opencode serve[^\n]+\n$/)
  expect(err).not.toContain('geheim')
})

test('replay shows a recording as text, gzipped or not', async () => {
  const plain = await run('replay', file('question.sse'))
  const gzipped = await run('replay', file('question.sse.gz'))
  expect(plain.code).toBe(0)
  expect(plain.out).toContain('✓ Which colour shall it be? → Blue\n')
  expect(gzipped.out).toBe(plain.out)
})

test('replay reads standard input', async () => {
  const { bytes } = readRecording({ version: '1.18.33', scenario: 'question' })
  const fake = fakeProcess({ stdin: Buffer.from(bytes).toString() })
  expect(await main(['replay', '-'], fake.io)).toBe(0)
  expect(fake.stdout()).toContain('Blue it is.')
})

test('--json: one line per settled reply, with file, text, answer and reasoning, and nothing else', async () => {
  const { code, out } = await run('replay', '--json', file('two-sessions.sse'), file('unauthorized.sse'))
  expect(code).toBe(0)
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.map((line) => [line.file, line.outcome, line.answer])).toEqual([
    [file('two-sessions.sse'), 'completed', 'The first session begins and ends after the second began.'],
    [file('two-sessions.sse'), 'completed', 'The second session begins and ends last.'],
    [file('unauthorized.sse'), 'failed', ''],
  ])
  expect(lines[0]).toMatchObject({ text: lines[0].answer, reasoning: '', phase: 'settled' })
})

test('--changes: one small line per change', async () => {
  const { out } = await run('replay', '--changes', file('question.sse'))
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines[0]).toEqual({ type: 'replyStarted', sessionID: lines[0].sessionID })
  expect(lines.at(-1)).toEqual({ type: 'replySettled', sessionID: lines[0].sessionID, outcome: 'completed' })
  expect(lines.some((line) => 'raw' in line || 'reply' in line || 'raw' in (line.part ?? {}))).toBe(false)
  const deltas = lines.filter((line) => line.type === 'partChanged')
  expect(deltas.every((line) => typeof line.delta === 'string' && line.part.text === undefined)).toBe(true)
})

test('--json and --changes together: both', async () => {
  const { out } = await run('replay', '--changes', '--json', file('question.sse'))
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(lines.filter((line) => 'outcome' in line && !('type' in line))).toHaveLength(1)
  expect(lines.length).toBeGreaterThan(10)
})

test.each([
  ['a missing file', 'missing', "can't be read: no such file."],
  ['a folder', '.', "can't be read: it is a folder."],
  ['garbage', 'garbage', 'is not a recording of an event stream: '],
])('%s is an error with exit code 1', async (_, name, words) => {
  const { code, err } = await run('replay', file(name))
  expect(code).toBe(1)
  expect(err).toContain(words)
})

test('a recording without a reply says so and succeeds', async () => {
  expect(await run('replay', file('empty.sse'))).toEqual({
    code: 0,
    out: `${file('empty.sse')}: contains no replies\n`,
    err: '',
  })
})

test('demo --list names the scenarios', async () => {
  expect((await run('demo', '--list')).out).toMatch(/^demo: /)
})

test('the exit code depends on the outcome', () => {
  const outcomes = ['completed', 'failed', 'stopped', 'aborted', 'timed-out', 'lost'] as const
  expect(outcomes.map(exitCodeOf)).toEqual([0, 1, 1, 1, 3, 4])
  expect(exitCodeOfError(new ReplyError('invalid', ''))).toBe(2)
  expect(exitCodeOfError(new ReplyError('unreachable', ''))).toBe(1)
  expect(exitCodeOfError(new ConsoleError('unreadable', ''))).toBe(1)
})

test('an error is one clean line without credentials', () => {
  const error = new Error('http://me:pw@host\n said \u001b[2J"geheim"')
  expect(errorLine(error, { OPENCODE_SERVER_PASSWORD: 'geheim' })).toBe('reply: http://***@host said "***"')
})

test('durations, speeds and models', () => {
  expect(['90', '90s', '5m', '1h', '500ms', '1.5s'].map(parseDuration)).toEqual([
    90_000, 90_000, 300_000, 3_600_000, 500, 1500,
  ])
  expect(['1', '10x', '0.5'].map(parseSpeed)).toEqual([1, 10, 0.5])
  expect(parseModel('openrouter/a/b')).toEqual({ providerID: 'openrouter', modelID: 'a/b' })
  for (const wrong of ['', '0', '-1', '5 parsecs', '99999h']) expect(() => parseDuration(wrong)).toThrow(ConsoleError)
})

test('inspect says what it can’t open', async () => {
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['missing.sse'], EXIT.failed, /missing\.sse can't be read: no such file/],
    [[file('garbage')], EXIT.failed, /is not a recording of an event stream\. Make one with `reply record FILE`/],
    [['--html', file('a.html')], EXIT.usage, /--html needs a recording/],
    [['http://127.0.0.1:1', '--html', file('a.html')], EXIT.usage, /--html needs a recording/],
    [[file('question.sse'), '--html', file('garbage')], EXIT.usage, /already exists/],
    [[file('question.sse'), '--port', '70000'], EXIT.usage, /is not a port/],
  ]
  for (const [args, expected, message] of cases) {
    const { code, err } = await run('inspect', ...args)
    expect([code, err]).toEqual([expected, expect.stringMatching(message)])
  }
})
