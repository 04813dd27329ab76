import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callTool, launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const shop = -100_700
const ann = { ids: ['tg:1'], may: ['prompt', 'approve'] }
const bob = { ids: ['tg:2'], may: ['prompt', 'approve'] }

let model: ScriptedModel
let server: OpencodeServer
let telegram: FakeTelegram
let child: ChildProcess
let folder: string
let path: string
let printed = ''

function write(people: object): void {
  const channel = { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' }
  const { url, directory } = server
  const config = { servers: { home: { url, directory } }, channels: { tg: channel }, people }
  writeFileSync(`${path}.new`, JSON.stringify(config))
  renameSync(`${path}.new`, path)
}

function run(): void {
  child = spawn(process.execPath, [command, 'bridge', '--config', path], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TOKEN: '42:secret' },
  })
  child.stderr?.on('data', (bytes) => {
    printed += String(bytes)
  })
}

beforeAll(async () => {
  const touch = callTool('bash', { command: 'touch allowed.txt', description: 'Touch' })
  model = await startModel({ scripts: { touch: { steps: [[touch], [sayText('It is done.')]] } } })
  server = await launchOpencode({ model, config: { permission: { bash: 'ask' }, extra: { snapshot: false } } })
  telegram = await startTelegram({ token: '42:secret', chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] })
  folder = mkdtempSync(join(tmpdir(), 'reply-reload-'))
  path = join(folder, 'reply.json')
  write({ ann })
  run()
})
afterAll(async () => {
  child.kill('SIGTERM')
  await once(child, 'exit')
  await telegram.close()
  await server.stop()
  await model.close()
  rmSync(folder, { recursive: true })
})

const asked = (): TelegramMessage | undefined =>
  telegram.screen(shop).findLast(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once'))
const press = async (id: number, on = asked()?.messageId ?? 0): Promise<string | undefined> => {
  const data = asked()?.buttons.flat()[0]?.data ?? ''
  return (await telegram.press(shop, on, data, { from: { id, name: 'One' }, isForged: true }).settled).text
}
const bytes = (at: string): string =>
  readdirSync(at, { withFileTypes: true })
    .map((one) => (one.isDirectory() ? bytes(join(at, one.name)) : readFileSync(join(at, one.name), 'latin1')))
    .join('')

test('a running command follows its file: presses count by the rights as they are now, on their own message, also after a kill', async () => {
  await expect.poll(() => printed, { timeout: 60_000 }).toContain('Listening on tg.')
  const said = telegram.say(shop, '@fake_bot touch it [scenario:touch]', { from: { id: 1, name: 'Ann' } })
  await expect.poll(asked, { timeout: 60_000 }).toBeDefined()
  write({ bob })
  await expect.poll(() => printed, { timeout: 60_000 }).toContain('Reloaded the people and their rights from')
  expect(await press(1)).toMatch(/^You are not on the list of this bridge/)

  // A service is told to read it by a signal, which does not end it.
  write({ ann, bob: { ...bob, may: ['prompt'] } })
  child.kill('SIGHUP')
  await expect.poll(() => printed, { timeout: 60_000 }).toContain(': ann, bob.')
  expect(await press(2)).toBe(
    'You can’t answer this: it requires the right `approve`. The bridge’s operator can add it to your rights.',
  )
  expect(child.exitCode).toBeNull()

  const old = asked()?.buttons.flat()[0]?.data ?? ''
  child.kill('SIGKILL')
  await once(child, 'exit')
  expect(bytes(folder)).not.toContain(old)
  expect(bytes(folder)).not.toContain(old.split('.')[0])
  printed = ''
  run()
  await expect.poll(() => printed, { timeout: 60_000 }).toContain('Listening on tg.')
  expect(await press(1, said)).toMatch(/^This button only works on the original message/)
  expect(existsSync(join(server.directory, 'allowed.txt'))).toBe(false)
  expect(await press(1)).toBe('✅ once')
  await expect
    .poll(() => telegram.screen(shop).some((one) => one.text === 'It is done.'), { timeout: 60_000 })
    .toBe(true)
  expect(existsSync(join(server.directory, 'allowed.txt'))).toBe(true)
})
