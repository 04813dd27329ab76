import { withResolvers } from '@reply/sink/channel'
import { hold, type Scripts, text, tool } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const scripts: Scripts = {
  hello: { steps: [[text('Hello to you.')]] },
  ...Object.fromEntries(
    [902].flatMap((chat) => {
      const prompt = `Do your part. [scenario:child${chat}]`
      const input = { description: 'Work on your own', prompt, subagent_type: 'general', background: true }
      return [
        [`work${chat}`, { steps: [[tool('task', input)], [text('It works in the background now.')]] }],
        [`child${chat}`, { steps: [[hold(`child${chat}`), text(`It is done. [scenario:after${chat}]`)]] }],
        [
          `after${chat}`,
          { steps: [[text('The background'), hold(`after${chat}`), text(` work is over in ${chat}.`)]] },
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
    people: { ann: { ids: ['tg:902'], may: ['prompt', 'approve'] } },
    chats: [{ id: 902, type: 'private', title: 'Ann' }],
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
        if (writes.some((write) => 'value' in write && write.value?.includes('"wokenBy"'))) {
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
