import { holdAnswer, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const endings = ['goes on', 'ends meanwhile'] as const
const chatOf = (ending: (typeof endings)[number]): number => 911 + endings.indexOf(ending)

/** Before 1.18.15, servers make the ids of prompts, and the text of a command is that of its template. */
describe.each(['1.1.65', '1.18.14', undefined])('on OpenCode %s', (version) => {
  let stage: BridgeStage
  beforeAll(async () => {
    const chats = endings.map(chatOf)
    stage = await startStage({
      ...(version !== undefined && { version }),
      scripts: Object.fromEntries(
        chats.map((chat) => [
          `slow${chat}`,
          { steps: [[sayText('One moment'), holdAnswer(`middle${chat}`), sayText(', done.')]] },
        ]),
      ),
      commands: Object.fromEntries(
        chats.map((chat) => [`go${chat}`, { template: `Go on [scenario:slow${chat}] $ARGUMENTS` }]),
      ),
      people: { ann: { ids: chats.map((chat) => `tg:${chat}`), may: ['prompt', 'approve'] } },
      chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' })),
    })
  })
  afterEach(async () => await stage.stop())
  afterAll(async () => await stage.close())

  test.each(endings)('a command that %s is answered once after a restart', async (ending) => {
    const chat = chatOf(ending)
    await stage.start()
    stage.telegram.say(chat, `/go${chat} now`)
    await stage.model.held(`middle${chat}`)
    await stage.stop()
    if (ending === 'ends meanwhile') {
      stage.model.release(`middle${chat}`)
      await expect.poll(async () => await stage.isAtRest()).toBe(true)
    }
    await stage.start()
    stage.model.release(`middle${chat}`)
    await stage.answered(chat, 'One moment, done.')
    await stage.statusIs(chat, '✅')
    expect(stage.said(chat).filter((text) => text.startsWith('One moment'))).toHaveLength(1)
    expect(stage.errors).toEqual([])
  })
})
