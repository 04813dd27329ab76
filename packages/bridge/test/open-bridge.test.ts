import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bridgeChannel } from '@reply/telegram/bridge'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type OpenedBridge, openBridge } from '../src/open-bridge.ts'
import { answer, localAgent } from './local-agent.ts'

const ann = { ids: ['tg:1'], may: ['prompt', 'approve'] }
const bob = { ids: ['tg:2'], may: ['prompt', 'approve'] }
const shop = -100_700

let telegram: FakeTelegram
let bridge: OpenedBridge
let folder: string
let path: string
const notices: string[] = []
const errors: Error[] = []

function write(people: object): void {
  const channel = { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' }
  const config = { servers: { home: { url: 'http://127.0.0.1:1' } }, channels: { tg: channel }, people }
  writeFileSync(`${path}.new`, JSON.stringify(config))
  renameSync(`${path}.new`, path)
}

beforeEach(async () => {
  telegram = await startTelegram({ token: '42:secret', chats: [{ id: shop, type: 'supergroup', title: 'Shop' }] })
  folder = mkdtempSync(join(tmpdir(), 'reply-open-'))
  path = join(folder, 'reply.json')
  write({ ann })
  const agent = localAgent((run) => {
    run.write({ type: 'tool', callID: 'call_1', tool: 'bash', state: { status: 'running', input: { command: 'ls' } } })
    const permission = { permission: 'bash', patterns: ['ls'], always: [], title: 'ls', metadata: {} }
    const reply = (): void => void setImmediate(() => answer(run, 'As you like.'))
    run.ask({ type: 'permission', requestID: 'per_1', callID: 'call_1', ...permission, reply })
  })
  bridge = await openBridge({
    ...{ path, env: { TOKEN: '42:secret' }, load: async () => bridgeChannel, connectTo: agent.connectTo },
    onNotice: (notice) => notices.push(notice),
    onError: (error) => errors.push(error),
  })
  await bridge.start()
})
afterEach(async () => {
  await bridge.stop()
  await telegram.close()
  rmSync(folder, { recursive: true })
  notices.length = 0
  errors.length = 0
})

const asked = (): TelegramMessage | undefined =>
  telegram.screen(shop).find(({ buttons }) => buttons.flat().some(({ text }) => text === 'Allow once'))
const press = async (id: number): Promise<string | undefined> =>
  (await telegram.press(shop, asked()?.messageId ?? 0, 'Allow once', { from: { id, name: 'One' } }).settled).text

test('a person who left the file loses the buttons on the screen, and a new one has them', async () => {
  telegram.say(shop, '@fake_bot list', { from: { id: 1, name: 'Ann' } })
  await expect.poll(asked).toBeDefined()
  write({ bob })
  await expect.poll(() => notices.at(-1)).toBe(`Reloaded the people and their rights from ${path}: bob.`)
  expect(await press(1)).toMatch(/^You are not on the list of this bridge/)
  expect(await press(2)).toBe('✅ once')
  await expect.poll(() => telegram.screen(shop).some(({ text }) => text === 'As you like.')).toBe(true)
  expect(errors).toEqual([])
})

test('a file that is broken in an edit opens nothing, and the bridge goes on with the people that it has', async () => {
  telegram.say(shop, '@fake_bot list', { from: { id: 1, name: 'Ann' } })
  await expect.poll(asked).toBeDefined()
  writeFileSync(path, '{')
  await expect.poll(() => errors.length).toBe(1)
  expect(await press(2)).toMatch(/^You are not on the list of this bridge/)
  await bridge.reload()
  expect(errors).toHaveLength(2)
  expect(await press(1)).toBe('✅ once')
})
