import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@reply/core'
import { startNtfy } from '@reply/testing/ntfy'
import { startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { bundleFixture, type Running, run } from './process.ts'

const root = mkdtempSync(join(tmpdir(), 'reply-poison-'))
let script = ''

/** Has the program of the tests in a file made before them. */
export function bundlePoison(): void {
  // A busy machine takes 15 s to start a process, and each test starts seven, one after the other. Each waits for the lease of the
  // one before, so the tests wait side by side.
  vi.setConfig({ testTimeout: 300_000 })
  beforeAll(async () => {
    script = await bundleFixture('poison', root)
  })
  afterAll(() => rmSync(root, { recursive: true }))
}

/** Starts the platforms of a test, and writes a config for them. Telegram's clock is this far behind the bridge's. */
export async function startStage({ behindMs = 0, router = {} } = {}) {
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

/** Stops a process gracefully. */
export async function stopped(one: Running): Promise<void> {
  one.child.kill('SIGTERM')
  await one.ended
  expect([one.child.exitCode, one.child.signalCode]).toEqual([0, null])
}
