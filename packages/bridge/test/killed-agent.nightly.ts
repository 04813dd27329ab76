import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { callTool, holdAnswer, sayText, startModel } from '@reply/testing'
import { agentBinary } from '@reply/testing/internal'
import { startTelegram } from '@reply/testing/telegram'
import { expect, test } from 'vitest'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
const chat = 7

const scripts = {
  plain: { steps: [[sayText('Hello there.')]] },
  cut: {
    steps: [
      [sayText('I look around.'), callTool('Bash', { command: 'ls', description: 'Lists files' })],
      [sayText('I write it d'), holdAnswer('cut'), sayText('own.')],
    ],
  },
}

test.each(['2.1.197', '2.1.332'])(
  'a bridge that is killed while Claude Code %s answers says so once',
  async (version) => {
    const model = await startModel({ scripts, fallback: 'plain' })
    const telegram = await startTelegram({ token })
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reply-killed-')))
    const directory = join(folder, 'project')
    for (const name of ['bin', 'project', 'home']) mkdirSync(join(folder, name))
    symlinkSync(await agentBinary('claude', version), join(folder, 'bin/claude'))
    const config = join(folder, 'reply.json')
    writeFileSync(
      config,
      JSON.stringify({
        servers: { home: { agent: 'claude', directory } },
        channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
        people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
      }),
    )
    const env = {
      ...process.env,
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      HOME: join(folder, 'home'),
      TOKEN: token,
      ANTHROPIC_BASE_URL: model.origin,
      ANTHROPIC_API_KEY: 'scripted-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    }
    const start = (): ChildProcess =>
      spawn(process.execPath, [command, 'bridge', '--config', config], { env, stdio: ['ignore', 'ignore', 'inherit'] })
    const texts = () => telegram.screen(chat).map(({ text }) => text)
    const saidOf = (text: string) => texts().filter((each) => each.includes(text)).length

    let bridge = start()
    telegram.say(chat, '[scenario:plain] Go.')
    await expect.poll(() => saidOf('Hello there.')).toBe(1)
    telegram.say(chat, '[scenario:cut] Go.')
    await model.held('cut')
    bridge.kill('SIGKILL')
    await once(bridge, 'exit')
    bridge = start()
    await expect.poll(() => texts().join('\n'), { timeout: 30_000 }).toContain('Aborted.')
    telegram.say(chat, '[scenario:plain] Once more.')
    await expect.poll(() => saidOf('Hello there.'), { timeout: 30_000 }).toBe(2)
    // Its two calls of the model were made once.
    expect(model.requests.filter(({ scenario }) => scenario === 'cut')).toHaveLength(2)
    bridge.kill('SIGTERM')
    await once(bridge, 'exit')
    await telegram.close()
    await model.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  },
)
