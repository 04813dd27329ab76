import { withResolvers } from '@reply/sink/internal'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  again: { steps: [[sayText('Again, hello.')]] },
  // A place to wait at opens once: each test has its own.
  ...Object.fromEntries(
    Array.from({ length: 20 }, (_, index) => {
      return [
        `slow${101 + index}`,
        { steps: [[sayText('One moment'), holdAnswer(`middle${101 + index}`), sayText(', done.')]] },
      ]
    }),
  ),
  twoSteps: {
    steps: [
      [sayText('At first'), holdAnswer('first step'), callTool('bash', { command: 'true', description: 'Wait' })],
      [sayText('It has two steps.')],
    ],
  },
  permission: {
    steps: [
      [sayText('I touch it.'), callTool('bash', { command: 'touch asked-for.txt', description: 'Touch' })],
      [sayText('Done so.')],
    ],
  },
}

let stage: BridgeStage

/** Each test has a chat of its own. */
let chat = 100

beforeAll(async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `tg:${101 + index}`)
  stage = await startStage({ scripts, people: { ann: { ids, may: ['prompt', 'approve'] } } })
})
beforeEach(async () => {
  chat += 1
  stage.errors.length = 0
  await stage.start()
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (words: string): Promise<true> =>
  await stage.seen(chat, (screen) => screen.some(({ from, text: said }) => from === 'bot' && said.includes(words)))

const countOf = (words: string): number => stage.said(chat).filter((said) => said.includes(words)).length

test('a run goes on in its message after a restart', async () => {
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await answered('One moment')
  await stage.stop()
  await stage.start()
  stage.model.release(`middle${chat}`)
  await answered('One moment, done.')
  expect(countOf('One moment')).toBe(1)
})

test('what ends before the new process has read its state is of its prompt, and is shown once', async () => {
  const reads = { begun: withResolvers<void>(), answered: withResolvers<void>() }
  stage.telegram.say(chat, 'Go [scenario:twoSteps]')
  await answered('At first')
  await stage.stop()
  const started = stage.start({
    storeOf: (store) => ({
      ...store,
      read: async (key) => {
        if (key.startsWith('route/')) {
          reads.begun.resolve()
          await reads.answered.promise
        }
        return await store.read(key)
      },
    }),
  })
  await reads.begun.promise
  stage.model.release('first step')
  await stage.stored('It has two steps.')
  await expect.poll(stage.isAtRest).toBe(true)
  reads.answered.resolve()
  await started
  await answered('It has two steps.')
  await stage.statusIs(chat, '✅')
  expect([countOf('At first'), countOf('It has two steps.')]).toEqual([1, 1])
})

test('what ended meanwhile is delivered', async () => {
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  await stage.stop()
  stage.model.release(`middle${chat}`)
  await stage.start()
  await answered('One moment, done.')
  expect(countOf('One moment')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('queued prompts run once', async () => {
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  stage.telegram.say(chat, 'Then again [scenario:again]')
  await answered('Queued, number 1.')
  await stage.stop()
  await stage.start()
  stage.model.release(`middle${chat}`)
  await answered('Again, hello.')
  expect(countOf('Again, hello.')).toBe(1)
})

test('a stop works on a run of before', async () => {
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`middle${chat}`)
  await stage.stop()
  await stage.start()
  stage.telegram.say(chat, '/stop')
  await answered('Stopped.')
  stage.telegram.say(chat, '/status')
  await answered('⏹️ Stopped')
  stage.telegram.say(chat, '/list')
  await expect.poll(() => stage.said(chat).at(-1)).toMatch(/^Recent executions .*\n• \w+ ⏹️ Stopped /)
})

test('an ask of before is answered by its old button', async () => {
  stage.telegram.say(chat, 'Touch it [scenario:permission]')
  const asked = await stage.seen(chat, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )
  await stage.stop()
  await stage.start()
  stage.telegram.press(chat, asked.messageId, 'Allow once')
  await answered('Done so.')
  expect(countOf('Allow this?')).toBe(1)
})

test.each(['while no bridge runs', 'while the next bridge connects'])(
  'a request keeps its command that is allowed at the desk %s',
  async (when) => {
    const { url, directory } = stage.server
    /** Allows what the server lists, as another client does. */
    const allowAtDesk = async (): Promise<void> => {
      const address = (path: string): string => `${url}${path}?${new URLSearchParams({ directory })}`
      const [ask] = JSON.parse(await (await fetch(address('/permission'))).text())
      const body = JSON.stringify({ reply: 'once' })
      await fetch(address(`/permission/${ask.id}/reply`), {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
    }
    let isAllowed = false
    stage.telegram.say(chat, 'Touch it [scenario:permission]')
    const asked = await stage.seen(chat, (screen) =>
      screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
    )
    await stage.stop()
    if (when === 'while no bridge runs') await allowAtDesk()
    // The answer comes after the stream has begun, and before the first list of requests.
    const late: typeof fetch = async (input, init) => {
      const request = new Request(input, init)
      if (new URL(request.url).pathname === '/permission' && !isAllowed) {
        isAllowed = true
        await allowAtDesk()
      }
      return await fetch(request)
    }
    await stage.start(when === 'while no bridge runs' ? {} : { fetch: late })
    await answered('Done so.')
    const closed = await stage.seen(chat, (screen) =>
      screen.find(({ messageId, buttons }) => messageId === asked.messageId && buttons.length === 0),
    )
    expect(closed.text).toContain('touch asked-for.txt')
    expect(closed.text).toMatch(/Answered elsewhere, or no longer needed|Allow once/)
    expect(countOf('Allow this?')).toBe(1)
  },
)

test('of old messages the latest is run, and the others can be', async () => {
  await stage.stop()
  stage.telegram.say(chat, 'First [scenario:hello]')
  stage.telegram.say(chat, 'Second [scenario:again]')
  await stage.start({ aheadMs: 600_000 })
  await answered('Again, hello.')
  const list = await stage.seen(chat, (screen) => screen.find(({ text: said }) => said.includes('1. First')))
  expect(countOf('Hello to you.')).toBe(0)
  stage.telegram.press(chat, list.messageId, 'Run 1')
  await answered('Hello to you.')
})
