import { connect } from '@reply/core'
import { callTool, holdAnswer, sayText } from '@reply/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from '../../bridge/test/stage.ts'
import { consoleSink } from '../src/sink.ts'
import { type FakeTerminal, fakeTerminal } from './fixture/terminal.ts'

/** Ann's private chat on Telegram, and a terminal that watches the same server. */
const ann = 1
let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts: {
      hello: { steps: [[sayText('Hello to you.')]] },
      slow: { steps: [[sayText('One moment, '), holdAnswer('slow'), sayText('done.')]] },
      unseen: { steps: [[sayText('Wait, '), holdAnswer('unseen'), sayText('not in the chat.')]] },
      touch: {
        steps: [[callTool('bash', { command: 'touch seen.txt', description: 'Touch' })], [sayText('It is touched.')]],
      },
    },
  })
  await stage.start()
})
afterAll(async () => await stage.close())

async function watching(): Promise<{ readonly terminal: FakeTerminal; readonly stop: () => Promise<void> }> {
  const terminal = fakeTerminal()
  const opencode = connect({ url: stage.server.url, directory: stage.server.directory })
  const observe = () => [
    consoleSink({ client: opencode, stdout: terminal.stdout, live: false, asks: 'wait', prompt: true, env: {} }),
  ]
  opencode.watch({}, { observe })
  await opencode.ready
  return { terminal, stop: async () => await opencode.close() }
}

const told = async (words: string) =>
  await stage.seen(ann, (screen) => screen.findLast(({ from, text: said }) => from === 'bot' && said.includes(words)))

test('what runs in a chat shows in a terminal, too, and a permission that the chat allows goes on in both', async () => {
  const { terminal, stop } = await watching()
  stage.telegram.say(ann, 'Hi [scenario:hello]')
  await Promise.all([told('Hello to you.'), expect.poll(terminal.written).toContain('Hello to you.')])
  stage.telegram.say(ann, 'Touch it [scenario:touch]')
  const { messageId } = await told('touch seen.txt')
  await expect.poll(terminal.written).toContain('touch seen.txt')
  expect(terminal.written()).not.toContain('It is touched.')
  stage.telegram.press(ann, messageId, 'Allow once')
  await Promise.all([told('It is touched.'), expect.poll(terminal.written).toContain('It is touched.')])
  await stop()
  expect(stage.errors).toEqual([])
})

test('a terminal that ends in the middle of a reply is noticed neither in the chat nor in another terminal', async () => {
  const [{ terminal: gone, stop: stopGone }, { terminal, stop }] = [await watching(), await watching()]
  stage.telegram.say(ann, 'Slowly [scenario:slow]')
  await stage.model.held('slow')
  await expect.poll(gone.written).toContain('Slowly')
  gone.stdout.destroy(new Error('EPIPE'))
  stage.model.release('slow')
  await Promise.all([told('One moment, done.'), expect.poll(terminal.written).toContain('One moment, done.')])
  await Promise.all([stop(), stopGone()])
  expect(stage.errors).toEqual([])
})

test('a chat that fails in the middle of a reply is not noticed in a terminal', async () => {
  const { terminal, stop } = await watching()
  stage.telegram.say(ann, 'Unseen [scenario:unseen]')
  await stage.model.held('unseen')
  stage.telegram.inject({ type: 'status', code: 500, method: /^(send|edit)/, times: 1_000_000 })
  stage.model.release('unseen')
  await expect.poll(terminal.written).toContain('Wait, not in the chat.')
  expect(terminal.written()).toContain('completed')
  expect(stage.said(ann).join('\n')).not.toContain('not in the chat.')
  await stop()
})
