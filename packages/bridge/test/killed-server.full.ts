import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, type Scripts, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { question, slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  ...slowIn([503]),
  hello: { steps: [[sayText('Hello to you.')]] },
  question,
  permission: {
    steps: [[callTool('bash', { command: 'touch asked.txt', description: 'Touch' })], [sayText('Touched.')]],
  },
}

let stage: BridgeStage

beforeAll(async () => {
  const chats = [501, 502, 503, 504].map((id) => ({ id, type: 'private', title: 'Ann' }) as const)
  const ann = { ids: ['tg:501', 'tg:502', 'tg:503', 'tg:504'], may: ['prompt', 'approve', 'admin'] }
  stage = await startStage({ scripts, chats, people: { ann } })
})
afterAll(async () => await stage.close())

test('asks of a server that was killed are withdrawn, their chats told, and the next prompts run', async () => {
  await stage.start()
  const asks = [
    { chat: 501, scenario: 'question', words: 'Which colour?', button: 'Blue' },
    { chat: 502, scenario: 'permission', words: 'touch asked.txt', button: 'Allow once' },
  ]
  for (const { chat, scenario } of asks) stage.telegram.say(chat, `Ask [scenario:${scenario}]`)
  const shown = await Promise.all(asks.map(async ({ chat, words }) => await stage.answered(chat, words)))
  await stage.server.kill()
  // It is not known yet that the asks are gone, so the buttons stay.
  const presses = asks.map(async ({ chat, button }, index) => {
    return await stage.telegram.press(chat, shown[index]?.messageId ?? 0, button).settled
  })
  const told = (await Promise.all(presses)).map(({ text: is }) => is)
  const unreachable = 'The answer was not sent: The server can’t be reached right now. Try again in a moment.'
  expect(told).toEqual([unreachable, unreachable])
  // What an operator needs is in the log.
  const logged = stage.errors.map(({ message }) => message).filter((one) => one.includes('Start one with'))
  expect(logged.length).toBeGreaterThanOrEqual(2)
  expect(JSON.stringify(asks.map(({ chat }) => stage.said(chat)))).not.toContain(stage.server.url)
  await stage.server.restart()
  for (const { chat } of asks) {
    const closed = await stage.answered(chat, 'No longer needed.')
    expect(closed.buttons).toEqual([])
    await stage.answered(chat, 'The end of the reply never arrived.')
    stage.telegram.say(chat, 'Say hello [scenario:hello]')
    await stage.answered(chat, 'Hello to you.')
  }
  expect(await stage.isAtRest()).toBe(true)
  expect(existsSync(join(stage.server.directory, 'asked.txt'))).toBe(false)
  await stage.stop()
})

test('a stop and a typed answer while the server is down say that it can’t be reached', async () => {
  await stage.start()
  stage.telegram.say(503, 'Go on [scenario:slow503]')
  stage.telegram.say(504, 'Ask [scenario:question]')
  await stage.answered(503, 'One moment')
  await stage.answered(504, 'Which colour?')
  await stage.server.kill()
  stage.telegram.say(503, '/stop')
  stage.telegram.say(504, 'Blue')
  await stage.answered(503, 'It could not be stopped: The server did not confirm it, so it may still be running.')
  await stage.answered(503, 'The agent could not be stopped. It may still be working. Try again.')
  await stage.answered(504, 'The answer was not sent: The server can’t be reached right now.')
  await stage.server.restart()
  for (const chat of [503, 504]) {
    stage.telegram.say(chat, 'Say hello [scenario:hello]')
    await stage.answered(chat, 'Hello to you.')
  }
  await stage.stop()
})
