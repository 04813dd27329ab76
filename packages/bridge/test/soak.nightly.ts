import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { callTool, launchOpencode, sayText, startModel } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** `REPLY_SOAK_MINUTES`: how long. Default: an hour. */
const minutes = Number(process.env.REPLY_SOAK_MINUTES ?? 60)
const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const chats = Array.from({ length: 20 }, (_, index) => 1001 + index)
const words = 'A sentence of an answer that is a little longer. '.repeat(20)

let model: Awaited<ReturnType<typeof startModel>>
let server: Awaited<ReturnType<typeof launchOpencode>>
let telegram: Awaited<ReturnType<typeof startTelegram>>
let bridge: ChildProcess
const folder = mkdtempSync(join(tmpdir(), 'reply-soak-'))

beforeAll(async () => {
  model = await startModel({
    keepRequests: 100,
    scripts: {
      plain: { steps: [[sayText(words), sayText('The end.')]] },
      tool: { steps: [[callTool('bash', { command: 'echo soaked', description: 'Echo' })], [sayText('The end.')]] },
    },
  })
  server = await launchOpencode({ model, config: { extra: { snapshot: false } } })
  telegram = await startTelegram({ token: '42:secret' })
  const path = join(folder, 'reply.json')
  writeFileSync(
    path,
    JSON.stringify({
      servers: { home: { url: server.url, directory: server.directory } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url } },
      people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt'] } },
      router: { messagesPerMinute: 1000 },
    }),
  )
  bridge = spawn(process.execPath, [command, 'bridge', '--config', path], {
    env: { ...process.env, TOKEN: '42:secret' },
    stdio: 'inherit',
  })
})
afterAll(async () => {
  bridge.kill('SIGKILL')
  await telegram.close()
  await server.stop()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The process's resident memory, in MB. Linux only. */
function resident(): number {
  const [, kilobytes = 'unknown'] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${bridge.pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

test(`memory is flat over ${minutes} minutes of prompts`, { timeout: (minutes + 10) * 60_000 }, async () => {
  const end = Date.now() + minutes * 60_000
  const memory: number[] = []
  let prompts = 0
  for (; Date.now() < end; prompts++) {
    const chat = chats[prompts % chats.length] ?? 0
    const before = said(chat)
    telegram.say(chat, `Go on [scenario:${prompts % 3 === 0 ? 'tool' : 'plain'}]`)
    while (said(chat) === before && Date.now() < end) {
      if (bridge.exitCode !== null || bridge.signalCode !== null)
        expect.fail(`The bridge ended: ${JSON.stringify(ending())}`)
      await pause(50)
    }
    // A session that grows would be the server's load.
    if (Math.floor(prompts / chats.length) % 10 === 9) telegram.say(chat, '/new')
    memory.push(resident())
  }
  const quarter = Math.floor(memory.length / 4)
  const quarters = [0, 1, 2, 3].map((index) => median(memory.slice(index * quarter, (index + 1) * quarter)))
  const [, early = 0, , late = 0] = quarters
  console.log(`${prompts} prompts; MB by quarter: ${quarters.map((each) => each.toFixed(0)).join(', ')}`)
  expect(late).toBeLessThan(early * 1.15)
})

function ending(): object {
  return { code: bridge.exitCode, signal: bridge.signalCode }
}

/** How many answers a chat has. */
function said(chat: number): number {
  return telegram.screen(chat).filter((message) => message.from === 'bot' && message.text.includes('The end.')).length
}
