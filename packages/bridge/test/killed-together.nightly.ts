import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { launchOpencode, type OpencodeServer, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
/** After the prompts: before they are posted, while the server stores them, and when their runs begin. */
const delays = [50, 150, 250, 400]
const perKill = 3

let model: ScriptedModel
let server: OpencodeServer
let telegram: FakeTelegram
let folder: string
let child: ChildProcess
let output = ''

beforeAll(async () => {
  model = await startModel({ scripts: { hello: { steps: [[sayText('Hello to you.')]] } } })
  server = await launchOpencode({ model })
  telegram = await startTelegram({ token })
  folder = mkdtempSync(join(tmpdir(), 'reply-together-'))
  const { url, directory } = server
  const ids = delays.flatMap((_, kill) => chatsOf(kill)).map((id) => `tg:${id}`)
  const config = {
    servers: { home: { url, directory } },
    channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url } },
    people: { ann: { ids, may: ['prompt', 'approve'] } },
  }
  writeFileSync(join(folder, 'reply.json'), JSON.stringify(config))
  child = run()
})
afterAll(async () => {
  child.kill('SIGKILL')
  await telegram.close()
  await server.stop()
  await model.close()
  rmSync(folder, { recursive: true, force: true })
})

test.each(delays.map((ms, kill) => [ms, kill] as const))(
  'no prompt is told to have failed that never ran, when bridge and server are killed after %i ms',
  async (delayMs, kill) => {
    const chats = chatsOf(kill)
    await expect.poll(() => output.includes('Listening'), { timeout: 60_000 }).toBe(true)
    for (const id of chats) telegram.say(id, `Say hello in ${id} [scenario:hello]`)
    await pause(delayMs)
    output = ''
    child.kill('SIGKILL')
    await Promise.all([server.kill(), once(child, 'exit')])
    child = run()
    await server.restart()
    const ends = (id: number) =>
      said(id).filter((words) => /Hello to you|The end of the reply never arrived|Failed/.test(words))
    await expect.poll(() => chats.every((id) => ends(id).length > 0), { timeout: 100_000 }).toBe(true)
    for (const id of chats) {
      const [end = ''] = ends(id)
      // A run that had begun may have done something, so it is told, not repeated.
      const hadBegun = end.includes('The end of the reply never arrived')
      if (!hadBegun) expect(end).toContain('Hello to you.')
      expect(timesAsked(id)).toBeLessThanOrEqual(1)
      if (!hadBegun) expect(timesAsked(id)).toBe(1)
    }
  },
  200_000,
)

function chatsOf(kill: number): readonly number[] {
  return Array.from({ length: perKill }, (_, index) => 1001 + kill * perKill + index)
}

function said(id: number): readonly string[] {
  return telegram.screen(id).flatMap((message) => (message.from === 'bot' ? [message.text] : []))
}

/** How often the model was asked to answer the prompt of that chat. */
function timesAsked(id: number): number {
  return model.requests.filter(
    ({ kind, body }) => kind === 'step' && JSON.stringify(body).includes(`Say hello in ${id} `),
  ).length
}

function run(): ChildProcess {
  const started = spawn(process.execPath, [command, 'bridge', '--config', join(folder, 'reply.json')], {
    env: { ...process.env, TOKEN: token },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  started.stderr?.on('data', (chunk: Buffer) => {
    output += String(chunk)
  })
  return started
}
