import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  slow: { steps: [[sayText('One moment'), holdAnswer('middle'), sayText(', done.')]] },
  touch: {
    steps: [[callTool('bash', { command: 'touch seen.txt', description: 'Touch' })], [sayText('It is touched.')]],
  },
}

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({ scripts })
  await stage.start()
})
afterAll(async () => await stage.close())

/** A terminal that watches the server of the bridge. */
function watch() {
  const child = spawn(process.execPath, [command, 'watch', '--url', stage.server.url], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (printed += String(data)))
  const shows = async (words: string): Promise<void> => await expect.poll(() => printed).toContain(words)
  return { child, shows, ended: once(child, 'exit') }
}

const inChat = async (words: string): Promise<number> =>
  await stage.seen(
    1,
    (screen) => screen.findLast(({ from, text: is }) => from === 'bot' && is.includes(words))?.messageId,
  )

test('a terminal shows what runs in a chat, and neither notices that the other ends', async () => {
  const terminal = watch()
  await terminal.shows('watching every session')
  stage.telegram.say(1, 'Touch it [scenario:touch]')
  await terminal.shows('touch seen.txt')
  stage.telegram.press(1, await inChat('touch seen.txt'), 'Allow once')
  await Promise.all([terminal.shows('It is touched.'), inChat('It is touched.')])
  stage.telegram.say(1, 'Go on [scenario:slow]')
  await Promise.all([terminal.shows('› Go on'), inChat('One moment')])
  terminal.child.kill('SIGKILL')
  await terminal.ended
  stage.model.release('middle')
  await inChat('One moment, done.')
  const second = watch()
  await second.shows('watching every session')
  stage.telegram.say(1, 'Hi [scenario:hello]')
  await Promise.all([second.shows('Hello to you.'), inChat('Hello to you.')])
  await stage.stop()
  second.child.kill('SIGINT')
  expect((await second.ended)[0]).toBe(0)
})
