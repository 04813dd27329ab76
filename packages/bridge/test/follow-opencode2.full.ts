import { type Ask, type Client, connect, toolsOf } from '@reply/core'
import { type AnswerPiece, callTool, openCode2Version, sayText } from '@reply/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { question } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

// `follow.full.ts` and `follow-sub-agents.full.ts` have OpenCode 1.
const [chat, home] = [1, 1000]

/** A call that starts a sub-agent, which plays a script. */
const task = (description: string, script: string): AnswerPiece =>
  callTool('task', { description, prompt: `Do your part. [scenario:${script}]`, subagent_type: 'general' })

let stage: BridgeStage
/** The program at the desk. */
let desk: Client
/** That of the chat. */
let sessionID = ''

beforeAll(async () => {
  stage = await startStage({
    version: openCode2Version,
    scripts: {
      question,
      hello: { steps: [[sayText('Hello to you.')]] },
      say: { steps: [[sayText('The desk has its answer.')]] },
      deep: { steps: [[task('Go deep', 'child')], [sayText('The deep is explored.')]] },
      child: {
        steps: [
          [sayText('I look.'), callTool('bash', { command: 'touch deep.txt', description: 'Touch' })],
          [sayText('Nothing lives here.')],
        ],
      },
      curious: { steps: [[task('Ask around', 'asker')], [sayText('Now we know.')]] },
      asker: question,
    },
    // Presses are tried until the post is confirmed.
    router: { messagesPerMinute: 1000 },
    // Without that, sub-agents have no questions.
    extra: () => ({
      agents: { general: { permissions: [{ action: 'question', resource: '*', effect: 'allow' }] } },
    }),
    chats: [chat, home].map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
  })
  const { url, directory } = stage.server
  desk = connect({ url, directory, password: '42:secret' })
  await desk.ready
  await stage.start({ server: { follow: 'all', homeChat: `tg:${home}` } })
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await stage.answered(chat, 'Hello to you.')
  await stage.statusIs(chat, '✅')
  sessionID = await stage.sessionOf(chat)
})
beforeEach(() => {
  stage.errors.length = 0
})
afterAll(async () => {
  await desk.close()
  await stage.close()
})

/** Lets the desk prompt a session, and resolves with what its agent or a sub-agent asks. */
async function askAtDesk(script: string, inSession?: string) {
  const asking = new Promise<Ask>((resolve) => {
    const stops = (['permissionAsked', 'questionAsked'] as const).map((type) =>
      desk.on(type, ({ ask }) => {
        for (const stop of stops) stop()
        resolve(ask)
      }),
    )
  })
  const stream = desk.prompt({
    text: `Go [scenario:${script}]`,
    ...(inSession !== undefined && { sessionID: inSession }),
  })
  return { stream, ask: await asking }
}

/** Messages of the bot with these words. */
const withWords = (where: number, words: string) =>
  stage.telegram.screen(where).filter(({ from, text }) => from === 'bot' && text.includes(words))

const isClosed = async (where: number, id: number): Promise<string> =>
  (await stage.seen(where, (screen) => screen.find((one) => one.messageId === id && one.buttons.length === 0))).text

test('with `follow: "all"` on OpenCode 2, runs of the desk are shown silently below what was typed, in the chat of their session', async () => {
  for (const [where, session] of [
    [chat, { sessionID }],
    [home, {}],
  ] as const) {
    const before = stage.telegram.screen(where).length
    await desk.prompt({ ...session, text: 'Speak up [scenario:say]' }).result
    await stage.answered(where, 'The desk has its answer.')
    const [quote, answer, ...more] = stage.telegram.screen(where).slice(before)
    expect(quote?.text).toMatch(/^From the terminal, project:\n\nSpeak up/)
    expect(JSON.stringify(quote)).toContain('blockquote')
    expect([answer?.text, more]).toEqual(['The desk has its answer.', []])
    expect([quote?.isSilent, answer?.isSilent]).toEqual([true, true])
  }
  // Its requests are shown in the run, and notify no one at once.
  const { stream, ask } = await askAtDesk('deep', sessionID)
  const [asked] = await stage.seen(chat, () => {
    const found = withWords(chat, 'touch deep.txt')
    return found.length > 0 && found
  })
  expect(asked?.isSilent).toBe(true)
  await desk.answer(ask, 'once')
  await stream.result
  const answer = await stage.answered(chat, 'The deep is explored.')
  expect(answer.isSilent).toBe(true)
  await isClosed(chat, asked?.messageId ?? 0)
  expect(withWords(chat, 'Go [scenario:deep]')).toHaveLength(1)
  expect(stage.errors).toEqual([])
})

describe('a request of a sub-agent that the desk began on OpenCode 2', () => {
  beforeAll(async () => {
    await stage.stop()
    await stage.start({ server: { homeChat: `tg:${home}` } })
  })

  test('reaches the chat of its session, and is answered there once', async () => {
    const last = stage.telegram.screen(chat).at(-1)?.messageId ?? 0
    const atHome = stage.said(home)
    // What the earlier runs showed may still go, so older messages don't count by their number.
    const shown = () => stage.telegram.screen(chat).filter(({ messageId }) => messageId > last)
    const { stream, ask } = await askAtDesk('deep', sessionID)
    expect(ask.path).toHaveLength(2)
    const asked = await stage.seen(chat, () => shown().find(({ buttons }) => buttons.flat().length > 1))
    expect(asked.text).toMatch(/^❓ From the terminal, project: [\s\S]*touch deep\.txt/)
    expect(asked.isSilent).toBe(true)
    await stage.allow(chat)
    const reply = await stream.result
    expect([reply.outcome, toolsOf(reply).map(({ state }) => state.status)]).toEqual(['completed', ['completed']])
    expect(await isClosed(chat, asked.messageId)).toContain('Allow once · Ann')
    // Nothing else of the run is shown, and nothing in the home chat.
    expect([shown().map(({ messageId }) => messageId), stage.said(home)]).toEqual([[asked.messageId], atHome])
    expect(stage.errors).toEqual([])
  })

  test('in a session of no chat reaches the home chat, and is closed there once it is answered at the desk', async () => {
    const before = stage.said(chat).length
    const { stream, ask } = await askAtDesk('deep')
    const { messageId } = await stage.seen(home, (screen) => screen.find(({ buttons }) => buttons.length > 0))
    await desk.answer(ask, 'once')
    expect((await stream.result).outcome).toBe('completed')
    await isClosed(home, messageId)
    expect([withWords(home, 'touch deep.txt').length, stage.said(chat).length]).toEqual([1, before])
    expect(stage.errors).toEqual([])
  })
})

describe('a question at the desk of OpenCode 2', () => {
  test.each([
    ['of the agent', 'question'],
    ['of a sub-agent', 'curious'],
  ])('%s is answered in the chat', async (_, script) => {
    const { stream, ask } = await askAtDesk(script, sessionID)
    const { messageId } = await stage.seen(chat, (screen) =>
      screen.find(({ text, buttons }) => text.includes('Which colour?') && buttons.length > 0),
    )
    expect(withWords(chat, 'Which colour?').at(-1)?.text).toContain('From the terminal, project: Colour')
    const isOpen = async (): Promise<boolean> => {
      const message = stage.telegram.screen(chat).find((one) => one.messageId === messageId)
      if (message?.buttons.length) await stage.telegram.press(chat, messageId, 'Blue').settled
      return message?.buttons.length !== 0
    }
    // A press counts once the platform has confirmed the message.
    await expect.poll(isOpen, { timeout: 30_000 }).toBe(false)
    const { outcome, asks } = await stream.result
    expect([outcome, asks.find(({ requestID }) => requestID === ask.requestID)?.status]).toEqual([
      'completed',
      'answered',
    ])
    expect(await isClosed(chat, messageId)).toContain('Blue · Ann')
    expect(stage.said(chat).join()).not.toContain('As you like.')
    expect(stage.errors).toEqual([])
  })

  test('that is answered at the desk is closed in the chat', async () => {
    const { stream, ask } = await askAtDesk('question', sessionID)
    const { messageId } = await stage.seen(chat, (screen) =>
      screen.find(({ text, buttons }) => text.includes('Which colour?') && buttons.length > 0),
    )
    await desk.answer(ask, [['Red']])
    expect((await stream.result).outcome).toBe('completed')
    await isClosed(chat, messageId)
    expect(stage.errors).toEqual([])
  })
})

test('with `follow: "all"` on OpenCode 2, a restarted bridge shows no run that ended before', async () => {
  await stage.stop()
  const { settledAt = 0 } = await desk.prompt({ sessionID, text: 'While it is away [scenario:say]' }).result
  // The server tells its time in whole seconds.
  await expect.poll(() => Math.floor(Date.now() / 1000)).toBeGreaterThan(Math.floor(settledAt / 1000))
  await stage.start({ server: { follow: 'all', homeChat: `tg:${home}` } })
  const before = stage.said(chat).length
  await desk.prompt({ sessionID, text: 'Once more [scenario:say]' }).result
  await expect.poll(() => stage.said(chat).slice(before)).toHaveLength(2)
  expect(stage.said(chat).slice(before)).toEqual([
    expect.stringMatching(/^From the terminal, project:\n\nOnce more/),
    'The desk has its answer.',
  ])
  expect(stage.errors).toEqual([])
})
