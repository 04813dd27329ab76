import { hold, type Scripts, text, tool } from '@reply/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[text('Hello to you.')]] },
  again: { steps: [[text('Again, hello.')]] },
  slow: { steps: [[text('One moment'), hold('middle'), text(', done.')]] },
  permission: {
    steps: [
      [text('I touch it.'), tool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [text('Done so.')],
    ],
  },
}

let stage: BridgeStage

beforeEach(async () => {
  stage = await startStage({ scripts, chats: [{ id: 1, type: 'private', title: 'Ann' }] })
  await stage.start()
})
afterEach(async () => await stage.close())

const answered = async (words: string): Promise<true> =>
  await stage.seen(1, (screen) => screen.some(({ from, text: said }) => from === 'bot' && said.includes(words)))

const countOf = (words: string): number => stage.said(1).filter((said) => said.includes(words)).length

test('a run goes on in its message after a restart', async () => {
  stage.telegram.say(1, 'Slowly [scenario:slow]')
  await answered('One moment')
  await stage.stop()
  await stage.start()
  stage.model.release('middle')
  await answered('One moment, done.')
  expect(countOf('One moment')).toBe(1)
})

test('what ended meanwhile is delivered', async () => {
  stage.telegram.say(1, 'Slowly [scenario:slow]')
  await stage.model.held('middle')
  await stage.stop()
  stage.model.release('middle')
  await stage.start()
  await answered('One moment, done.')
  expect(countOf('One moment')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('queued prompts run once', async () => {
  stage.telegram.say(1, 'Slowly [scenario:slow]')
  await stage.model.held('middle')
  stage.telegram.say(1, 'Then again [scenario:again]')
  await answered('Queued, number 1.')
  await stage.stop()
  await stage.start()
  stage.model.release('middle')
  await answered('Again, hello.')
  expect(countOf('Again, hello.')).toBe(1)
})

test('a stop works on a run of before', async () => {
  stage.telegram.say(1, 'Slowly [scenario:slow]')
  await stage.model.held('middle')
  await stage.stop()
  await stage.start()
  stage.telegram.say(1, '/stop')
  await answered('Stopped.')
  stage.telegram.say(1, '/status')
  await answered('❌ Error')
})

test('an ask of before is answered by its old button', async () => {
  stage.telegram.say(1, 'Touch it [scenario:permission]')
  const asked = await stage.seen(1, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )
  await stage.stop()
  await stage.start()
  stage.telegram.press(1, asked.messageId, 'Allow once')
  await answered('Done so.')
  expect(countOf('Allow this?')).toBe(1)
})

test('of old messages the latest is run, and the others can be', async () => {
  await stage.stop()
  stage.telegram.say(1, 'First [scenario:hello]')
  stage.telegram.say(1, 'Second [scenario:again]')
  await stage.start({ aheadMs: 600_000 })
  await answered('Again, hello.')
  const list = await stage.seen(1, (screen) => screen.find(({ text: said }) => said.includes('1. First')))
  expect(countOf('Hello to you.')).toBe(0)
  stage.telegram.press(1, list.messageId, 'Run 1')
  await answered('Hello to you.')
})
