import { type Ask, type Client, connect, toolsOf } from '@reply/core'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { question, slowIn } from './scripts.ts'
import { type BridgeStage, startStage } from './stage.ts'

const chats = Array.from({ length: 20 }, (_, index) => 801 + index)
const home = -800

const scripts: Scripts = {
  question,
  ...slowIn(chats),
  hello: { steps: [[sayText('Hello to you.')]] },
  ...Object.fromEntries(
    chats.flatMap((chat) => [
      [
        `desk${chat}`,
        {
          steps: [
            [sayText('Secret of the desk. '), callTool('bash', { command: `touch desk${chat}`, description: 'Touch' })],
            [holdAnswer(`end${chat}`), sayText(`The desk is done, ${chat}.`)],
          ],
        },
      ],
      [`say${chat}`, { steps: [[sayText(`The desk says ${chat}.`)]] }],
    ]),
  ),
}

let stage: BridgeStage
/** The program at the desk. */
let desk: Client
let chat = 800

beforeAll(async () => {
  stage = await startStage({
    scripts,
    people: {
      ann: { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve'] },
      bob: { ids: ['tg:2'], may: ['prompt'] },
    },
    chats: [
      ...chats.map((id) => ({ id, type: 'private', title: 'Ann' }) as const),
      { id: home, type: 'supergroup', title: 'Home' },
    ],
  })
  desk = connect({ url: stage.server.url, directory: stage.server.directory })
  await desk.ready
})
beforeEach(() => {
  chat += 1
  stage.errors.length = 0
})
afterEach(async () => await stage.stop())
afterAll(async () => {
  await desk.close()
  await stage.close()
})

const answered = async (words: string, where = chat) => await stage.answered(where, words)

const asked = async (where = chat) =>
  await stage.seen(where, (screen) =>
    screen.find(({ buttons }) => buttons.flat().some(({ text: label }) => label === 'Allow once')),
  )

/** Lets the chat work with a session, and returns its id. */
async function openSession(): Promise<string> {
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await answered('Hello to you.')
  await stage.statusIs(chat, '✅')
  return await stage.sessionOf(chat)
}

/** Lets the desk prompt a session, and resolves with its ask. */
async function askAtDesk(sessionID: string | undefined, words = `Do it [scenario:desk${chat}]`) {
  const stream = desk.prompt({ text: words, ...(sessionID !== undefined && { sessionID }) })
  const asking = new Promise<Parameters<Client['answer']>[0]>((resolve) => {
    const stop = desk.on('permissionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
  return { stream, ask: await asking }
}

test('a request of a run that the desk began is shown in the chat, and answered there', async () => {
  await stage.start()
  const sessionID = await openSession()
  const { stream } = await askAtDesk(sessionID)
  const message = await asked()
  expect(message.text).toMatch(/^❓ From the terminal, project: Allow this\? bash/)
  await stage.allow(chat)
  await answered('Allow once · Ann')
  stage.model.release(`end${chat}`)
  const { outcome } = await stream.result
  expect(outcome).toBe('completed')
  expect(stage.said(chat).join()).not.toContain('desk is done')
  expect(stage.said(chat).join()).not.toContain('Secret of the desk')
  expect(stage.errors).toEqual([])
})

test('a request that is answered at the desk is closed in the chat, and nothing notifies', async () => {
  await stage.start()
  const sessionID = await openSession()
  const { stream, ask } = await askAtDesk(sessionID)
  const { messageId } = await asked()
  await desk.answer(ask, 'once')
  await stage.seen(chat, (screen) => screen.find((one) => one.messageId === messageId && one.buttons.length === 0))
  stage.model.release(`end${chat}`)
  await stream.result
  expect(stage.telegram.screen(chat).find((one) => one.messageId === messageId)?.isSilent).toBe(true)
  expect(stage.said(chat).join()).not.toContain('waits for an answer')
})

test('a request that no one answers notifies once', async () => {
  await stage.start({ router: { quietMs: 300 } })
  const sessionID = await openSession()
  const { stream, ask } = await askAtDesk(sessionID)
  await asked()
  const told = await answered('waits for an answer')
  expect(told.isSilent).toBe(false)
  await stage.stop()
  await stage.start({ router: { quietMs: 0 } })
  await desk.answer(ask, 'once')
  stage.model.release(`end${chat}`)
  await stream.result
  await stage.seen(chat, (screen) => screen.every(({ buttons }) => buttons.length === 0))
  expect(stage.said(chat).filter((text) => text.includes('waits for an answer'))).toHaveLength(1)
})

test('a request in a session of no chat reaches the home chat, and people without the right can’t allow it', async () => {
  await stage.start({ server: { homeChat: `tg:${home}` } })
  const { stream } = await askAtDesk(undefined)
  const message = await asked(home)
  await stage.telegram.press(home, message.messageId, 'Allow once', { from: { id: 2, name: 'Bob' } }).settled
  expect((await asked(home)).messageId).toBe(message.messageId)
  await stage.allow(home, { from: { id: chat, name: 'Ann' } })
  await answered('Allow once · Ann', home)
  stage.model.release(`end${chat}`)
  await stream.result
  await stage.seen(home, (screen) => screen.every(({ buttons }) => buttons.length === 0))
  expect(stage.errors).toEqual([])
})

test('a request is closed that was answered at the desk while no bridge ran, and one that still waits is answered by its old button', async () => {
  await stage.start()
  const sessionID = await openSession()
  const { stream, ask } = await askAtDesk(sessionID)
  const { messageId } = await asked()
  await stage.stop()
  await stage.start()
  expect((await asked()).messageId).toBe(messageId)
  await stage.stop()
  await desk.answer(ask, 'once')
  stage.model.release(`end${chat}`)
  await stream.result
  await stage.start()
  await stage.seen(chat, (screen) => screen.find((one) => one.messageId === messageId && one.buttons.length === 0))
  expect(stage.said(chat).filter((text) => text.includes('Allow this?'))).toHaveLength(1)
  expect(stage.errors).toEqual([])
})

test('with /follow all the chat reads as a conversation, silently', async () => {
  await stage.start()
  const sessionID = await openSession()
  stage.telegram.say(chat, '/follow all')
  await answered('with what was asked')
  await desk.prompt({ sessionID, text: `Speak [scenario:say${chat}]` }).result
  const answer = await answered(`The desk says ${chat}.`)
  expect(answer.isSilent).toBe(true)
  const said = stage.said(chat)
  const quote = said.findIndex((text) => text.includes(`Speak [scenario:say${chat}]`))
  expect(said[quote]).toContain('From the terminal')
  expect(said.findIndex((text) => text.includes(`The desk says ${chat}.`))).toBeGreaterThan(quote)
  await desk.prompt({ sessionID, parts: [{ type: 'agent', name: 'general' }] }).result
  expect((await answered('@general')).text).toContain('From the terminal')
  stage.telegram.say(chat, '/follow none')
  await answered('shows nothing of runs')
  await desk.prompt({ sessionID, text: 'Again [scenario:hello]' }).result
  stage.telegram.say(chat, 'Hi [scenario:hello]')
  await stage.statusIs(chat, '✅')
  expect(stage.said(chat).join()).not.toContain('Again')
})

test('/new leaves the session: its requests then reach the home chat', async () => {
  await stage.start({ server: { homeChat: `tg:${home}` } })
  const sessionID = await openSession()
  stage.telegram.say(chat, '/new')
  await answered('starts a new session')
  const { stream } = await askAtDesk(sessionID)
  await stage.allow(home, { from: { id: chat, name: 'Ann' } })
  stage.model.release(`end${chat}`)
  await stream.result
  expect(stage.said(chat).join()).not.toContain('Allow this?')
})

test('without a home chat, requests of a session that a private chat has left still reach that chat', async () => {
  await stage.start()
  const sessionID = await openSession()
  stage.telegram.say(chat, '/new')
  await answered('starts a new session')
  const { stream } = await askAtDesk(sessionID)
  await stage.allow(chat)
  stage.model.release(`end${chat}`)
  await stream.result
  expect(stage.said(chat).join()).not.toContain('desk is done')
})

test('/stop ends a run of the desk whose request the chat shows', async () => {
  await stage.start()
  const sessionID = await openSession()
  const { stream } = await askAtDesk(sessionID)
  await asked()
  stage.telegram.say(chat, '/stop')
  await answered('Stopped.')
  expect((await stream.result).outcome).not.toBe('completed')
  await stage.seen(chat, (screen) => screen.every(({ buttons }) => buttons.length === 0))
})

test('a session of the desk is listed and taken over', async () => {
  await stage.start()
  const done = await desk.prompt({ text: `Speak [scenario:say${chat}]`, title: `Desk work ${chat}` }).result
  stage.telegram.say(chat, '/sessions')
  await answered(`Desk work ${chat}`)
  stage.telegram.say(chat, `/switch ${done.sessionID}`)
  await answered('This chat now continues')
  const { stream } = await askAtDesk(done.sessionID)
  await stage.allow(chat)
  stage.model.release(`end${chat}`)
  await stream.result
})

test.each(['chat', 'desk'])(
  'a request that is answered at both sides at once, in the %s first, is answered once',
  async (first) => {
    await stage.start()
    const sessionID = await openSession()
    const { stream, ask } = await askAtDesk(sessionID)
    const { messageId } = await asked()
    const inChat = async (): Promise<void> => await stage.allow(chat)
    const atDesk = async (): Promise<void> => await desk.reject(ask).catch(() => {})
    await Promise.all((first === 'chat' ? [inChat, atDesk] : [atDesk, inChat]).map((answer) => answer()))
    stage.model.release(`end${chat}`)
    const reply = await stream.result
    const shown = await stage.seen(chat, (screen) =>
      screen.find((one) => one.messageId === messageId && one.buttons.length === 0),
    )
    const status = toolsOf(reply).map(({ state }) => state.status)
    expect(status).toEqual([shown.text.includes('Allow once · Ann') ? 'completed' : 'error'])
    expect(stage.said(chat).filter((text) => text.includes('Allow this?'))).toHaveLength(1)
    expect(stage.errors).toEqual([])
  },
)

test('a chat that takes a session over also shows what a run of the chat before asks, and who began it', async () => {
  const ann = { ids: chats.map((id) => `tg:${id}`), may: ['prompt', 'approve', 'admin'] }
  await stage.start({ people: { ann } })
  const other = chat + 1
  stage.telegram.say(chat, `Do it [scenario:desk${chat}]`, { from: { id: chat, name: 'Ann' } })
  await asked()
  const sessionID = await stage.sessionOf(chat)
  stage.telegram.say(other, `/switch ${sessionID}`, { from: { id: other, name: 'Ann' } })
  const { text } = await asked(other)
  expect(text).toMatch(/^❓ From Ann in another chat, project: Allow this\? bash/)
  await stage.allow(other, { from: { id: other, name: 'Ann' } })
  for (const each of [chat, other])
    await stage.seen(each, (screen) => screen.every(({ buttons }) => buttons.length === 0))
  stage.model.release(`end${chat}`)
  await answered(`The desk is done, ${chat}.`)
  for (const each of [chat, other])
    expect(stage.said(each).filter((said) => said.includes('Allow this?'))).toHaveLength(1)
  expect(stage.said(other).join()).not.toContain('The desk is done')
  expect(stage.errors).toEqual([])
  // The next test has the next chat.
  chat += 1
})

test('a question of a run that the desk began is answered in the chat', async () => {
  await stage.start()
  const sessionID = await openSession()
  const stream = desk.prompt({ text: 'Ask me [scenario:question]', sessionID })
  const { messageId } = await answered('Which colour?')
  expect(stage.said(chat).join()).toContain('From the terminal, project: Colour')
  const isOpen = async (): Promise<boolean> => {
    const message = stage.telegram.screen(chat).find((one) => one.messageId === messageId)
    if (message?.buttons.length) await stage.telegram.press(chat, messageId, 'Blue').settled
    return message?.buttons.length !== 0
  }
  await expect.poll(isOpen, { timeout: 30_000 }).toBe(false)
  const { outcome, asks } = await stream.result
  expect([outcome, asks.map(({ status }) => status)]).toEqual(['completed', ['answered']])
  const closed = stage.telegram.screen(chat).find((one) => one.messageId === messageId)
  expect(closed?.text).toContain('Blue · Ann')
  expect(stage.said(chat).join()).not.toContain('As you like.')
  expect(stage.errors).toEqual([])
})

test('a question that is answered at the desk is closed in the chat', async () => {
  await stage.start()
  const sessionID = await openSession()
  const asking = new Promise<Ask>((resolve) => {
    const stop = desk.on('questionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
  const stream = desk.prompt({ text: 'Ask me [scenario:question]', sessionID })
  const ask = await asking
  const { messageId } = await answered('Which colour?')
  await desk.answer(ask, [['Red']])
  expect((await stream.result).outcome).toBe('completed')
  await stage.seen(chat, (screen) => screen.find((one) => one.messageId === messageId && one.buttons.length === 0))
  expect(stage.errors).toEqual([])
})

test('what the desk types into a run of the chat joins it: the chat shows the answer once', async () => {
  await stage.start()
  const sessionID = await openSession()
  stage.telegram.say(chat, `Go [scenario:slow${chat}]`)
  await answered('One moment')
  const stream = desk.prompt({ text: `Also [scenario:say${chat}]`, sessionID })
  const messages = new URL(`/session/${sessionID}/message`, stage.server.url)
  messages.searchParams.set('directory', stage.server.directory)
  await expect.poll(async () => await (await fetch(messages)).text()).toContain('Also')
  stage.model.release(`middle${chat}`)
  const { promptIDs } = await stream.result
  expect(promptIDs).toHaveLength(2)
  await answered(`The desk says ${chat}.`)
  await expect.poll(stage.isAtRest).toBe(true)
  for (const words of ['One moment, done.', `The desk says ${chat}.`])
    expect(stage.said(chat).filter((text) => text.includes(words))).toHaveLength(1)
  expect(stage.said(chat).join()).not.toContain('From the terminal')
  expect(stage.errors).toEqual([])
})

test('with /follow all, what the desk types into its run is quoted above the answer to it, once, also after a restart', async () => {
  await stage.start()
  const sessionID = await openSession()
  stage.telegram.say(chat, '/follow all')
  await answered('with what was asked')
  const first = desk.prompt({ sessionID, text: `Go [scenario:slow${chat}]` })
  await answered('One moment')
  const second = desk.prompt({ sessionID, text: `Also [scenario:desk${chat}]` })
  await expect.poll(async () => (await desk.reply(sessionID))?.promptIDs.length).toBe(2)
  stage.model.release(`middle${chat}`)
  await asked()
  await stage.stop()
  await stage.start()
  await stage.allow(chat)
  stage.model.release(`end${chat}`)
  await Promise.all([first.result, second.result])
  await answered(`The desk is done, ${chat}.`)
  await expect.poll(stage.isAtRest).toBe(true)
  const said = stage.said(chat)
  const all = [`Go [scenario:slow${chat}]`, 'One moment, done.', `Also [scenario:desk${chat}]`, 'Secret of the desk.']
  const places = all.map((words) => said.flatMap((text, at) => (text.includes(words) ? [at] : [])))
  const [start = 0] = places[0] ?? []
  expect(places).toEqual([[start], [start + 1], [start + 2], [start + 3]])
  expect(stage.errors).toEqual([])
})

test('with /follow all, what the desk types into a run of the chat is quoted, too', async () => {
  await stage.start()
  const sessionID = await openSession()
  stage.telegram.say(chat, '/follow all')
  await answered('with what was asked')
  stage.telegram.say(chat, `Go [scenario:slow${chat}]`)
  await answered('One moment')
  const second = desk.prompt({ sessionID, text: `Also [scenario:say${chat}]` })
  await expect.poll(async () => (await desk.reply(sessionID))?.promptIDs.length).toBe(2)
  stage.model.release(`middle${chat}`)
  await second.result
  await answered(`The desk says ${chat}.`)
  await expect.poll(stage.isAtRest).toBe(true)
  const quotes = stage.said(chat).filter((text) => text.includes('From the terminal'))
  expect(quotes).toEqual([expect.stringContaining(`Also [scenario:say${chat}]`)])
  expect(stage.errors).toEqual([])
})
