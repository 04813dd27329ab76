import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdAnswer, type Script, sayText, startModel } from '@reply/testing'
import { startTelegram } from '@reply/testing/telegram'
import { expect, onTestFinished, test } from 'vitest'
import { texts } from '../src/texts.ts'
import { killedAgents } from './killed-agents.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
const chat = 7

const cases = Object.entries(killedAgents).flatMap(([name, agent]) =>
  agent.versions.map((version) => ({ name, version, agent })),
)

test.each(cases)('a bridge that is killed while $name $version answers says so once', async ({ version, agent }) => {
  const plain = { steps: [[sayText('Hello there.')]] }
  const cut = {
    steps: [
      [sayText('I look around.'), agent.look],
      [sayText('I write it d'), holdAnswer('cut'), sayText('own.')],
    ],
  }
  const scripts: Record<string, Script> = { turn: plain }
  const model = await startModel({ scripts, fallback: 'turn' })
  const telegram = await startTelegram({ token })
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'reply-killed-')))
  const [directory, home, bin] = [join(folder, 'project'), join(folder, 'home'), join(folder, 'bin')]
  for (const each of [directory, home, bin]) mkdirSync(each)
  const config = join(folder, 'reply.json')
  writeFileSync(
    config,
    JSON.stringify({
      servers: { home: { agent: await agent.commandLine(bin, version), directory } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
    }),
  )
  const own = { PATH: `${bin}:${process.env.PATH}`, HOME: home, TOKEN: token }
  const env = { ...process.env, ...own, ...agent.prepare(home, model) }
  const start = (): ChildProcess =>
    spawn(process.execPath, [command, 'bridge', '--config', config], { env, stdio: ['ignore', 'ignore', 'inherit'] })
  const shown = () => telegram.screen(chat).map(({ text }) => text)
  const timesShown = (text: string) => shown().filter((each) => each.includes(text)).length

  let bridge = start()
  onTestFinished(() => void bridge.kill('SIGKILL'))
  // The same text three times. The prompt that is cut off must not be taken for one of the others.
  for (const times of [1, 2]) {
    telegram.say(chat, '[scenario:turn] Go on.')
    await expect.poll(() => timesShown('Hello there.'), { timeout: 40_000 }).toBe(times)
  }
  const before = model.requests.length
  scripts.turn = cut
  telegram.say(chat, '[scenario:turn] Go on.')
  await model.held('cut')
  bridge.kill('SIGKILL')
  await once(bridge, 'exit')
  bridge = start()
  const end = agent.keepsSessions ? 'Aborted.' : texts.lostSession
  await expect.poll(() => shown().join('\n'), { timeout: 30_000 }).toContain(end)
  // Its two calls of the model were made once.
  expect(model.requests.slice(before).filter(({ kind }) => kind === 'step')).toHaveLength(2)
  scripts.turn = plain
  telegram.say(chat, '[scenario:turn] Once more.')
  await expect.poll(() => timesShown('Hello there.'), { timeout: 40_000 }).toBe(3)
  expect(timesShown(end)).toBe(1)
  bridge.kill('SIGTERM')
  await once(bridge, 'exit')
  await telegram.close()
  await model.close()
  // An agent writes its files until it has ended.
  rmSync(folder, { recursive: true, force: true, maxRetries: 100, retryDelay: 100 })
})
