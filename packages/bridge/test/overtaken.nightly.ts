import { type Client, connect, type ReplyStream } from '@reply/core'
import { callTool, holdAnswer, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type BridgeStage, startStage } from './stage.ts'

const chats = [801, 802, 803, 804, 805, 806]

let stage: BridgeStage
/** The program at the desk. */
let desk: Client
/** Awaited before the bridge's next prompt reaches the server. */
let beforePost: () => Promise<unknown> = async () => undefined

beforeAll(async () => {
  stage = await startStage({
    scripts: {
      hello: { steps: [[sayText('Hello to you.')]] },
      mine: { steps: [[sayText('This is mine.')]] },
      ...Object.fromEntries(
        chats.map((chat) => [
          `slow${chat}`,
          { steps: [[sayText('One moment'), holdAnswer(`slow${chat}`), sayText(', done.')]] },
        ]),
      ),
      ...Object.fromEntries(
        chats.map((chat) => [
          `both${chat}`,
          {
            steps: [
              [holdAnswer(`both${chat}`), callTool('bash', { command: 'echo it', description: 'Say it' })],
              [sayText('Both are answered.')],
            ],
          },
        ]),
      ),
      theirs: { steps: [[sayText('This is theirs.')]] },
      asking: {
        steps: [[callTool('bash', { command: 'touch it', description: 'Touch' })], [sayText('The desk is done.')]],
      },
    },
    people: { ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] } },
    chats: chats.map((id) => ({ id, type: 'private', title: 'Ann' })),
  })
  desk = connect({ url: stage.server.url, directory: stage.server.directory })
  await desk.ready
})
afterEach(async () => await stage.stop())
afterAll(async () => {
  await desk.close()
  await stage.close()
})

/** Starts the bridge. Its prompts wait for `beforePost`. */
async function startBridge(router = {}): Promise<void> {
  await stage.start({
    router,
    fetch: async (input, init) => {
      const request = new Request(input, init)
      if (request.method === 'POST' && request.url.includes('/prompt_async')) await beforePost()
      return await fetch(request)
    },
  })
}

/** Starts the bridge, and lets the chat begin a session. */
async function openSession(chat: number, router = {}): Promise<string> {
  beforePost = async () => undefined
  await startBridge(router)
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await stage.answered(chat, 'Hello to you.')
  await stage.statusIs(chat, '✅')
  return await stage.sessionOf(chat)
}

test('a request of the desk, whose prompt overtook that of the chat, reaches the chat once, and both are answered', async () => {
  const [chat = 0] = chats
  const sessionID = await openSession(chat)
  const isAsk = ({ buttons }: { buttons: readonly (readonly { text: string }[])[] }): boolean =>
    buttons.flat().some(({ text }) => text === 'Allow once')
  let theirs: ReplyStream | undefined
  let askedFirst = 0
  beforePost = async () => {
    theirs ??= desk.prompt({ sessionID, text: 'Do it [scenario:asking]' })
    await stage.seen(chat, (screen) => screen.find(isAsk))
    askedFirst += 1
  }
  stage.telegram.say(chat, 'Mine [scenario:mine]')
  await expect.poll(() => askedFirst).toBe(1)
  await stage.allow(chat)
  await stage.answered(chat, 'This is mine.')
  await stage.statusIs(chat, '✅')
  expect((await theirs?.result)?.outcome).toBe('completed')
  expect(stage.said(chat).filter((text) => text.includes('touch it'))).toHaveLength(1)
  expect(stage.said(chat).filter((text) => text.includes('This is mine.'))).toHaveLength(1)
})

test('a chat shows its own answer alone if a run of the desk came and went before its prompt', async () => {
  const [, chat = 0] = chats
  const sessionID = await openSession(chat)
  let theirs: ReplyStream | undefined
  beforePost = async () => {
    theirs ??= desk.prompt({ sessionID, text: 'Theirs [scenario:theirs]' })
    await theirs.result
  }
  stage.telegram.say(chat, 'Mine [scenario:mine]')
  await stage.answered(chat, 'This is mine.')
  await stage.statusIs(chat, '✅')
  expect((await theirs?.result)?.outcome).toBe('completed')
  expect(stage.said(chat).join()).not.toContain('This is theirs.')
})

test('a chat that follows all shows the run of the desk that came before its prompt, with what the desk asked', async () => {
  const [, , chat = 0] = chats
  const sessionID = await openSession(chat)
  stage.telegram.say(chat, '/follow all')
  await stage.answered(chat, 'with what was asked')
  let theirs: ReplyStream | undefined
  beforePost = async () => {
    theirs ??= desk.prompt({ sessionID, text: 'Theirs [scenario:theirs]' })
    await theirs.result
  }
  stage.telegram.say(chat, 'Mine [scenario:mine]')
  await stage.answered(chat, 'This is mine.')
  await stage.answered(chat, 'This is theirs.')
  const all = stage.said(chat)
  expect(all.filter((text) => text.includes('Theirs [scenario:theirs]'))).toHaveLength(1)
  expect(all.filter((text) => text.includes('Mine [scenario:mine]'))).toEqual([])
  expect(all.filter((text) => text.includes('This is mine.'))).toHaveLength(1)
})

/** Steers a run of the chat that ends before the prompt is posted, so that the prompt joins a run of the desk, which is held. */
async function steerTheDesk(chat: number): Promise<ReplyStream> {
  const sessionID = await openSession(chat, { busy: 'steer' })
  stage.telegram.say(chat, `Slowly [scenario:slow${chat}]`)
  await stage.model.held(`slow${chat}`)
  let theirs: ReplyStream | undefined
  beforePost = async () => {
    stage.model.release(`slow${chat}`)
    await stage.answered(chat, 'One moment, done.')
    theirs = desk.prompt({ sessionID, text: `Theirs [scenario:both${chat}]` })
    await stage.model.held(`both${chat}`)
  }
  stage.telegram.say(chat, `And this in ${chat}`)
  await stage.stored(`And this in ${chat}`)
  if (!theirs) throw new Error('The desk began no run.')
  return theirs
}

test('a prompt that steers and joins a run of the desk, because its own run has just ended, is answered in the chat', async () => {
  const [, , , chat = 0] = chats
  const theirs = await steerTheDesk(chat)
  stage.model.release(`both${chat}`)
  await stage.answered(chat, 'Both are answered.')
  expect((await theirs.result).outcome).toBe('completed')
  expect(stage.said(chat).filter((text) => text.includes('Both are answered.'))).toHaveLength(1)
  expect(stage.said(chat).filter((text) => text.includes('One moment, done.'))).toHaveLength(1)
})

test.each(['goes on', 'is over'])(
  'so is one after a restart of the bridge, when the run of the desk %s by then',
  async (then) => {
    const chat = chats[then === 'goes on' ? 4 : 5] ?? 0
    const theirs = await steerTheDesk(chat)
    // The chat shows the run before the bridge stops.
    await stage.answered(chat, 'Working')
    await stage.stop()
    if (then === 'is over') {
      stage.model.release(`both${chat}`)
      await theirs.result
    }
    await startBridge({ busy: 'steer' })
    stage.model.release(`both${chat}`)
    await stage.answered(chat, 'Both are answered.')
    expect((await theirs.result).outcome).toBe('completed')
    await stage.statusIs(chat, '✅')
    expect(stage.said(chat).filter((text) => text.includes('Both are answered.'))).toHaveLength(1)
    expect(stage.said(chat).filter((text) => text.includes('One moment, done.'))).toHaveLength(1)
  },
)
