import { withResolvers } from '@reply/sink/internal'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const chats = [901, 902, 903, 904, 906]

const scripts: Scripts = {
  hello: { steps: [[sayText('Hello to you.')]] },
  ...Object.fromEntries(
    chats.flatMap((chat) => {
      const prompt = `Do your part. [scenario:child${chat}]`
      const input = { description: 'Work on your own', prompt, subagent_type: 'general', background: true }
      const touch = callTool('bash', { command: `touch allowed${chat}.txt`, description: 'Touch' })
      const done = sayText(`It is done. [scenario:after${chat}]`)
      return [
        [`work${chat}`, { steps: [[callTool('task', input)], [sayText('It works in the background now.')]] }],
        [
          `child${chat}`,
          {
            steps: chat === 904 ? [[holdAnswer(`child${chat}`), touch], [done]] : [[holdAnswer(`child${chat}`), done]],
          },
        ],
        [
          `after${chat}`,
          { steps: [[sayText('The background'), holdAnswer(`after${chat}`), sayText(` work is over in ${chat}.`)]] },
        ],
      ]
    }),
  ),
}

let stage: BridgeStage

beforeAll(async () => {
  stage = await startStage({
    scripts,
    env: { OPENCODE_EXPERIMENTAL_BACKGROUND_SUBAGENTS: 'true' },
    people: { ann: { ids: [...chats, 905].map((id) => `tg:${id}`), may: ['prompt', 'approve', 'admin'] } },
    chats: [...chats, 905].map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
})
afterEach(async () => await stage.stop())
afterAll(async () => await stage.close())

const answered = async (chat: number, words: string) =>
  await stage.seen(chat, (screen) => screen.some(({ from, text: said }) => from === 'bot' && said.includes(words)))

const times = (chat: number, words: string): number => stage.said(chat).filter((said) => said.includes(words)).length

async function goOn(chat: number): Promise<void> {
  stage.telegram.say(chat, `Go [scenario:work${chat}]`)
  await answered(chat, 'It works in the background now.')
  await stage.statusIs(chat, '✅')
}

test('a prompt that joins what a session does by itself, as that is about to be shown, shows it once', async () => {
  const held = withResolvers<void>()
  const reached = withResolvers<void>()
  await stage.start({
    storeOf: (store) => ({
      ...store,
      commit: async (writes, lease) => {
        if (writes.some((write) => 'value' in write && write.value?.includes('"startedBy"'))) {
          reached.resolve()
          await held.promise
        }
        return await store.commit(writes, lease)
      },
    }),
  })
  await goOn(902)
  stage.model.release('child902')
  await reached.promise
  // The server would answer both in one step if the prompt came before the model was asked.
  await stage.model.held('after902')
  stage.telegram.say(902, 'Hi [scenario:hello]')
  await stage.stored('Hi [scenario:hello]')
  held.resolve()
  stage.model.release('after902')
  await answered(902, 'Hello to you.')
  await answered(902, 'work is over in 902.')
  await expect.poll(stage.isAtRest).toBe(true)
  await stage.stop()
  expect(times(902, 'work is over in 902.')).toBe(1)
  expect(times(902, 'Hello to you.')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('what a session does by itself is shown once the store is free again, and so is a prompt that joined it', async () => {
  /** What an earlier test left behind is restored meanwhile. */
  let refusals = Number.POSITIVE_INFINITY
  await stage.start({
    storeOf: (store) => ({
      ...store,
      commit: async (writes, lease) => {
        if (refusals < 2 && writes.some((write) => 'value' in write && write.value?.includes('"startedBy"'))) {
          refusals += 1
          throw new Error('The store is busy.')
        }
        return await store.commit(writes, lease)
      },
    }),
  })
  await goOn(903)
  refusals = 0
  stage.model.release('child903')
  await stage.model.held('after903')
  stage.telegram.say(903, 'Hi [scenario:hello]')
  await stage.stored('Hi [scenario:hello]')
  stage.model.release('after903')
  await answered(903, 'Hello to you.')
  await answered(903, 'work is over in 903.')
  expect(times(903, 'work is over in 903.')).toBe(1)
  expect(times(903, 'Hello to you.')).toBe(1)
  expect(stage.errors.map(({ message }) => message)).toEqual(['The store is busy.', 'The store is busy.'])
  stage.errors.length = 0
})

test('what a session does by itself leaves nothing running behind when its chat can not be read at first', async () => {
  let commits = 0
  /** What is read after that commit, and before the next one, fails. */
  let failing: number | undefined
  await stage.start({
    storeOf: (store) => ({
      ...store,
      read: async (key) => {
        if (failing === commits && key.startsWith('route/')) throw new Error('The store is busy.')
        return await store.read(key)
      },
      commit: async (writes, lease) => {
        const done = await store.commit(writes, lease)
        commits += 1
        if (writes.some((write) => 'value' in write && write.value?.includes('"startedBy"'))) failing ??= commits
        return done
      },
    }),
  })
  await goOn(906)
  stage.model.release('child906')
  stage.model.release('after906')
  await answered(906, 'work is over in 906.')
  await expect.poll(stage.isAtRest).toBe(true)
  const listed = async (): Promise<string | undefined> => {
    const asked = stage.telegram.say(906, '/list')
    return await stage.seen(
      906,
      (screen) => screen.find(({ messageId, text: said }) => messageId > asked && said.includes('Recent'))?.text,
    )
  }
  await expect.poll(listed).not.toContain('Running')
  expect(times(906, 'work is over in 906.')).toBe(1)
  expect(stage.errors).toEqual([])
})

test('a prompt from another chat that joins what a session does by itself is answered in that chat', async () => {
  await stage.start()
  await goOn(901)
  stage.model.release('child901')
  await answered(901, 'The background')
  stage.telegram.say(905, '/switch 1')
  await answered(905, 'This chat now continues')
  stage.telegram.say(905, 'Hi again [scenario:hello]')
  await stage.stored('Hi again [scenario:hello]')
  stage.model.release('after901')
  await answered(901, 'work is over in 901.')
  await answered(905, 'Hello to you.')
  await expect.poll(stage.isAtRest).toBe(true)
  await stage.stop()
  expect(times(901, 'work is over in 901.')).toBe(1)
  expect(times(905, 'Hello to you.')).toBe(1)
  expect(stage.errors).toEqual([])
})

// The last one: its ask stays open on the server.
test('what a sub-agent asks while a prompt waits for its file is shown when that prompt is canceled', async () => {
  await stage.start()
  await goOn(904)
  stage.telegram.inject({ type: 'delay', delayMs: 5000, method: 'getFile' })
  const file = { fileId: 'notes', name: 'notes.txt', bytes: new TextEncoder().encode('Notes.') }
  stage.telegram.say(904, 'Read this [scenario:hello]', { file })
  await stage.statusIs(904, '⏳')
  stage.model.release('child904')
  const asks = async () =>
    await (await fetch(`${stage.server.url}/permission?directory=${stage.server.directory}`)).json()
  await expect.poll(asks).toHaveLength(1)
  stage.telegram.say(904, '/stop')
  await answered(904, 'touch allowed904.txt')
  expect(stage.errors).toEqual([])
})
