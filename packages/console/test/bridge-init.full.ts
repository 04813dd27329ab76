import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { systemClock } from '@reply/core'
import { launchOpencode, type OpencodeServer, type ScriptedModel, startModel } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { main } from '../src/cli/main.ts'
import { fakeTerminal } from './fixture/terminal.ts'

let model: ScriptedModel
let server: OpencodeServer
let folder = ''
let path = ''

beforeAll(async () => {
  model = await startModel({ scripts: {} })
  server = await launchOpencode({ model })
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-init-'))
  path = join(folder, 'reply.json')
})
afterEach(() => rmSync(folder, { recursive: true }))
afterAll(async () => {
  await server.stop()
  await model.close()
})

const plain = (text: string): string => stripVTControlCharacters(text)

function terminalIO(env: Readonly<Record<string, string>> = {}) {
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const terminal = fakeTerminal(300, 40)
  const io = {
    stdin: keys,
    stdout: terminal.stdout,
    stderr: terminal.stdout,
    env,
    clock: systemClock,
    onSignal: () => () => {},
  }
  return { io, keys, terminal, said: () => plain(terminal.written()) }
}

/** `reply bridge init` in a terminal. */
function init(...args: readonly string[]) {
  const { io, keys, terminal } = terminalIO()
  const code = main(['bridge', 'init', '--config', path, ...args], io)
  /** Waits for the question, then types. */
  const type = async (question: string, answer: string): Promise<void> => {
    await sees(question)
    keys.write(answer)
  }
  const sees = async (words: string): Promise<void> => {
    await expect.poll(() => plain(terminal.written())).toContain(words)
  }
  return { code, type, sees, written: terminal.written }
}

const [enter, down, controlC] = ['\r', '\u001b[B', '\u0003']

test('in a terminal, init asks, hides a secret, goes on after a wrong one, and Control-C writes nothing', async () => {
  const { code, type, sees, written } = init()
  await type('The address of the OpenCode server', `not-an-address${enter}`)
  await sees('Write an address such as')
  await type('', `\u0015${server.url}${enter}`)
  await type('folder on that server', `${server.directory}${enter}`)
  await sees('answers, 0 sessions')
  await type('Where do people write', `${down}${down}${down}${enter}`)
  await type('api:', enter)
  await type('token:', `very-secret${controlC}`)
  expect(await code).toBe(130)
  expect(written()).not.toContain('very-secret')
  expect(existsSync(path)).toBe(false)
})

test('without --config, it writes to a folder of the user by the name of the bridge', async () => {
  const config = join(folder, 'reply', 'shop', 'reply.json')
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, '{}')
  const { io, said } = terminalIO({ XDG_CONFIG_HOME: folder })
  expect(await main(['bridge', 'init', '--name', 'shop'], io)).toBe(1)
  expect(said()).toContain(`${config} already exists`)
  expect(await main(['bridge', 'init', '--name', '../shop'], io)).toBe(2)
  expect(said()).toContain('"../shop" is not a name')
})

test('a config that exists is left alone', async () => {
  writeFileSync(path, '{}')
  const { code, sees } = init()
  expect(await code).toBe(1)
  await sees('already exists')
  expect(readFileSync(path, 'utf8')).toBe('{}')
})
