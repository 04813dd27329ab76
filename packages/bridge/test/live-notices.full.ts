import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { noticeChannel } from '@reply/ntfy/bridge'
import { bridgeChannel } from '@reply/telegram/bridge'
import { callTool, launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type FakeNtfy, startNtfy } from '@reply/testing/ntfy'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OpenedBridge, openBridge } from '../src/open-bridge.ts'

const topic = 'ann-9Wk3hQxTz7'
const env = { TOKEN: '42:secret', TOPIC: topic }
const limit = { context: 200_000, output: 8000 }

let folder = ''
let model: ScriptedModel
let server: OpencodeServer
let telegram: FakeTelegram
let ntfy: FakeNtfy
let bridge: OpenedBridge
const errors: string[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'reply-notices-'))
  model = await startModel({
    scripts: {
      work: {
        steps: [
          [callTool('write', { filePath: 'src/a.txt', content: 'one\ntwo\n' })],
          [callTool('write', { filePath: 'b.txt', content: 'three\n' })],
          [sayText('The secret plan is done.')],
        ],
      },
    },
  })
  server = await launchOpencode({
    model,
    config: {
      extra: {
        provider: {
          fake: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Fake',
            options: { baseURL: model.url, apiKey: 'x' },
            // In dollars for a million tokens.
            models: { m1: { name: 'M1', limit, cost: { input: 10_000, output: 10_000 } } },
          },
        },
      },
    },
  })
  telegram = await startTelegram({ token: env.TOKEN, chats: [{ id: 1, type: 'private', title: 'Ann' }] })
  ntfy = await startNtfy()
  const path = join(folder, 'reply.json')
  writeFileSync(
    path,
    JSON.stringify({
      servers: { shop: { url: server.url, directory: server.directory } },
      channels: {
        tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' },
        phone: { type: 'ntfy', server: ntfy.url, topic: { env: 'TOPIC' }, awayMs: 0 },
      },
      people: { ann: { ids: ['tg:1'], may: ['prompt', 'approve'], notify: ['phone'] } },
    }),
  )
  bridge = await openBridge({
    path,
    env,
    load: async (type) => (type === 'ntfy' ? noticeChannel : bridgeChannel),
    onError: ({ message }) => errors.push(message),
  })
  await bridge.start()
})
afterAll(async () => {
  await bridge.stop()
  await Promise.all([telegram.close(), ntfy.close()])
  await server.stop()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Resolves with the newest message of the bot that fits. */
async function shown(fits: (message: TelegramMessage) => boolean): Promise<TelegramMessage> {
  const find = () => telegram.screen(1).findLast((message) => message.from === 'bot' && fits(message))
  await expect.poll(find, { timeout: 60_000 }).toBeDefined()
  return find() ?? expect.unreachable()
}

test('a run of a real OpenCode that changed files rings with their number, their lines and the cost, and /diff sends what it changed', async () => {
  telegram.say(1, 'Work [scenario:work]')
  await shown(({ text }) => text.includes('The secret plan is done.'))
  await expect.poll(() => ntfy.screen(topic).length, { timeout: 60_000 }).toBe(1)
  const [notice] = ntfy.screen(topic)
  expect(notice?.title).toBe('Done')
  expect(notice?.message).toMatch(/^[\d.]+m?s · 2 files · \+3 −0 · \$\d+\.\d\d · \w+$/)
  expect(JSON.stringify(notice)).not.toMatch(/secret|plan|a\.txt/)
  const line = await shown(({ text }) => text.includes('2 files · +3 −0'))
  expect(line.buttons.flat().map(({ text }) => text)).toContain('Diff')

  telegram.say(1, '/diff')
  const { text, document } = await shown((message) => message.document !== undefined)
  expect(text).toMatch(/^2 files · \+3 −0: (?:src\/a\.txt, b\.txt|b\.txt, src\/a\.txt)$/)
  const diff = new TextDecoder().decode(document?.bytes)
  for (const part of ['+++ b/src/a.txt', '+one', '+two', '+++ b/b.txt', '+three']) expect(diff).toContain(part)

  telegram.say(1, '/diff a.txt')
  await shown((message) => message.text.includes('+++ b/src/a.txt') && !message.text.includes('three'))
  expect(ntfy.notifications(topic)).toBe(1)
  expect(errors).toEqual([])
})
