import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@reply/core'
import { startNtfy } from '@reply/testing/ntfy'
import { startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { forgetRow, listFailed } from '../src/failed/list-failed.ts'
import { texts } from '../src/texts.ts'
import { bundleFixture, type Running, run } from './process.ts'

// A busy machine takes 15 s to start a process, and each test starts seven, one after the other. Each waits for the lease of the one
// before, so the tests wait side by side.
vi.setConfig({ testTimeout: 300_000 })
const root = mkdtempSync(join(tmpdir(), 'reply-poison-'))
let script = ''

beforeAll(async () => {
  script = await bundleFixture('poison', root)
})
afterAll(() => rmSync(root, { recursive: true }))

/** Starts the platforms of a test, and writes a config for them. Telegram's clock is this far behind the bridge's. */
async function startStage({ behindMs = 0, router = {} } = {}) {
  const ntfy = await startNtfy()
  const telegram = await startTelegram({
    token: '42:secret',
    chats: [1, 2].map((id) => ({ id, type: 'private', title: 'x' })),
    clock: { ...systemClock, now: () => systemClock.now() - behindMs },
  })
  const path = join(mkdtempSync(join(root, 'bridge-')), 'reply.json')
  writeFileSync(
    path,
    JSON.stringify({
      servers: { home: { url: 'http://127.0.0.1:1', trustPrompt: true } },
      channels: {
        tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' },
        phone: { type: 'ntfy', server: ntfy.url, topic: { env: 'TOPIC' }, on: ['failure'], awayMs: 0 },
      },
      people: {
        ann: { ids: ['tg:1'], may: ['prompt', 'approve'], notify: ['phone'] },
        bob: { ids: ['tg:2'], may: ['prompt', 'approve'] },
      },
      router,
    }),
  )
  const started: Running[] = []

  function start(...args: readonly string[]): Running {
    const one = run(script, path, ...args)
    started.push(one)
    return one
  }

  const said = (chat: number): readonly string[] =>
    telegram.screen(chat).flatMap(({ from, text }) => (from === 'bot' ? [text] : []))

  return {
    telegram,
    ntfy,
    options: { path, env: { TOKEN: '42:secret' } },
    start,
    said,
    /** Resolves when the chat has a message of the bot with these words. */
    saying: async (chat: number, words: string): Promise<void> =>
      await vi.waitFor(() => expect(said(chat).join('\n')).toContain(words), { timeout: 60_000, interval: 20 }),
    /** Starts a process that kills itself. */
    killed: async (): Promise<void> => {
      const one = start()
      await one.ended
      expect(one.child.signalCode).toBe('SIGKILL')
    },
    told: (chat: number, text: string): number => said(chat).filter((one) => one === text).length,
    close: async (): Promise<void> => {
      for (const { child, ended } of started) {
        // Those that have ended ignore it.
        child.kill('SIGKILL')
        await ended
      }
      await Promise.all([telegram.close(), ntfy.close()])
    },
  }
}

async function stopped(one: Running): Promise<void> {
  one.child.kill('SIGTERM')
  await one.ended
  expect([one.child.exitCode, one.child.signalCode]).toEqual([0, null])
}

test.concurrent('a message that kills the process is put aside at the seventh start, and all others are handled', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, options, start, said, saying, killed, told, close } = await startStage()
  onTestFinished(close)
  telegram.say(1, 'poison message')
  telegram.say(1, 'after it')
  telegram.say(2, 'beside it')
  for (let nth = 1; nth <= 6; nth++) {
    await killed()
    expect(said(1)).toEqual([])
  }
  const seventh = start('release')
  await saying(1, 'Done: after it')
  await saying(2, 'Done: beside it')
  telegram.say(1, 'one more')
  await saying(1, 'Done: one more')
  expect(told(1, texts.poisonMessage)).toBe(1)
  expect(said(2)).toEqual(['Done: beside it'])
  expect(seventh.lines.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ type: 'failures', poison: 1, metric: 'reply_bridge_failed{kind="poison"} 1' }),
  )
  const failed = await listFailed(options)
  expect(failed).toEqual([
    expect.objectContaining({ type: 'poison', what: expect.stringMatching(/^message inbox\/tg\/1\/, entry \d+$/) }),
  ])
  expect(failed.map(({ why }) => why).join()).toContain('6 processes')
  await stopped(seventh)

  const eighth = start('release')
  telegram.say(1, 'the last')
  await saying(1, 'Done: the last')
  expect(told(1, texts.poisonMessage)).toBe(1)
  expect(await forgetRow({ ...options, key: 'inbox/tg/1/' })).toBe(1)
  expect(await listFailed(options)).toEqual([])
  await stopped(eighth)
})

test.concurrent('what the chat is told of it is not lost if its platform fails', async ({ onTestFinished }) => {
  const { telegram, start, saying, killed, close } = await startStage()
  onTestFinished(close)
  telegram.say(1, 'poison message')
  for (let nth = 1; nth <= 6; nth++) await killed()
  telegram.inject({ type: 'status', code: 502, chatId: 1, method: /^send(Rich)?Message$/, times: 3 })
  const seventh = start('release')
  await saying(1, '/resend')
  telegram.say(1, '/resend')
  await saying(1, texts.poisonMessage)
  await stopped(seventh)
})

test.concurrent('a run that kills the process where it is found again is put aside, and the others go on', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, ntfy, options, start, said, saying, killed, told, close } = await startStage()
  onTestFinished(close)
  telegram.say(2, 'wait')
  const first = start()
  await saying(2, 'Working on it.')
  telegram.say(1, 'poison run')
  telegram.say(1, 'after it')
  await first.ended
  for (let nth = 2; nth <= 6; nth++) await killed()
  const seventh = start('release')
  await saying(1, 'Done: after it')
  expect(told(1, texts.poisonRun)).toBe(1)
  await expect.poll(() => ntfy.screen('ann-9Wk3hQxTz7').map(({ title }) => title)).toEqual(['Failed'])
  // Its agent was a part of the process that was killed.
  await saying(2, texts.unknownRun)
  expect(said(2)).toEqual(['Working on it.', `⚠️ Failed: ${texts.lostSight}`, texts.unknownRun])
  expect(await listFailed(options)).toEqual([
    expect.objectContaining({ type: 'prompt' }),
    expect.objectContaining({ type: 'poison', what: expect.stringMatching(/^run execution\/tg\/1\/\/\w{6}$/) }),
  ])
  await stopped(seventh)
})

test.concurrent('messages from when the bridge was down whose decision kills the process are put aside together', async ({
  expect,
  onTestFinished,
}) => {
  const { telegram, options, start, said, saying, killed, told, close } = await startStage({
    behindMs: 3_600_000,
    router: { backlog: 'all' },
  })
  onTestFinished(close)
  telegram.say(1, 'poison backlog')
  telegram.say(1, 'with it')
  await killed()
  telegram.say(2, 'beside it')
  for (let nth = 2; nth <= 6; nth++) await killed()
  const seventh = start('release')
  await saying(1, texts.poisonBacklog(2))
  await saying(2, 'Done: beside it')
  telegram.say(1, 'after it')
  await saying(1, 'Done: after it')
  expect(said(1).join()).not.toContain('Done: with it')
  expect(told(1, texts.poisonBacklog(2))).toBe(1)
  expect((await listFailed(options)).map(({ type }) => type)).toEqual(['poison', 'poison'])
  expect(await forgetRow({ ...options, key: 'backlog/tg/1/' })).toBe(2)
  await stopped(seventh)
})
