import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '@reply/agents/codex'
import { type Client, type PermissionAsk, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { bridgeChannel } from '@reply/telegram/bridge'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type CutListener, cutListener } from '../../agents/test/codex/cut-listener.ts'
import { type Listener, listenerToken, startListener } from '../../agents/test/codex/listener.ts'
import { openBridge } from '../src/open-bridge.ts'
import { checkBridge } from '../src/setup/check-bridge.ts'

const chat = 1
let listener: Listener
/** Between the bridge and the listener. */
let network: CutListener
let telegram: FakeTelegram
let desk: Client
let folder: string
let path: string

beforeEach(async () => {
  listener = await startListener('0.169.0')
  network = await cutListener(listener.url)
  telegram = await startTelegram({ token: '42:secret', chats: [{ id: chat, type: 'private', title: 'Ann' }] })
  desk = connectSource(codex({ url: listener.url, token: listenerToken }))
  await desk.ready
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-'))
  path = join(folder, 'reply.json')
  const { directory } = listener
  const laptop = {
    agent: 'codex',
    url: network.url,
    directory,
    token: { env: 'CODEX_TOKEN' },
    follow: 'all',
    homeChat: `tg:${chat}`,
  }
  writeFileSync(
    path,
    JSON.stringify({
      servers: { laptop },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
    }),
  )
})
afterEach(async () => {
  await desk.close()
  network.close()
  await Promise.all([telegram.close(), listener.close()])
  rmSync(folder, { recursive: true })
})

const env = { TOKEN: '42:secret', CODEX_TOKEN: listenerToken }

/** Resolves once the chat shows a message of the bot that fits. */
async function shown(fits: (message: TelegramMessage) => boolean): Promise<TelegramMessage> {
  const find = () => telegram.screen(chat).find((message) => message.from === 'bot' && fits(message))
  return await new Promise((resolve) => {
    const look = (): void => {
      const found = find()
      if (!found) return
      stop()
      resolve(found)
    }
    const stop = telegram.observe(look)
    look()
  })
}

test('a config alone lets a chat follow a Codex that runs already: its request is answered once, and its answer shown', async () => {
  const errors: string[] = []
  const onError = ({ message }: Error) => void errors.push(message)
  const bridge = await openBridge({ path, env, load: async () => bridgeChannel, onError })
  await bridge.start()
  const stream = desk.prompt({ text: 'Go [scenario:permission]' })
  const { messageId, text } = await shown(({ buttons }) => buttons.flat().some((one) => one.text === 'Allow once'))
  expect(text).toContain('touch made.txt')
  const isClosed = (): boolean => telegram.screen(chat).find((one) => one.messageId === messageId)?.buttons.length === 0
  // A press counts once the platform has confirmed the message.
  while (!isClosed()) await telegram.press(chat, messageId, 'Allow once', { from: { id: chat, name: 'Ann' } }).settled
  const reply = await stream.result
  expect([reply.outcome, toolsOf(reply).map(({ state }) => state.status)]).toEqual(['completed', ['completed']])
  await shown((message) => message.text.includes('It is made.'))
  await bridge.stop()
  const said = telegram.screen(chat).map((message) => message.text)
  for (const words of ['Go [scenario:permission]', 'Allow once · Ann', 'It is made.'])
    expect(said.filter((one) => one.includes(words))).toHaveLength(1)
  expect(errors).toEqual([])
})

test("a request of a sub-agent of Codex's other client reaches the chat, and is answered there once", async () => {
  const errors: string[] = []
  const onError = ({ message }: Error) => void errors.push(message)
  const bridge = await openBridge({ path, env, load: async () => bridgeChannel, onError })
  await bridge.start()
  const stream = desk.prompt({ text: 'Go [scenario:delegate]' })
  const { messageId, text } = await shown(({ buttons }) => buttons.flat().some((one) => one.text === 'Allow once'))
  expect(text).toContain('touch child.txt')
  const isClosed = (): boolean => telegram.screen(chat).find((one) => one.messageId === messageId)?.buttons.length === 0
  // A press counts once the platform has confirmed the message.
  while (!isClosed()) await telegram.press(chat, messageId, 'Allow once', { from: { id: chat, name: 'Ann' } }).settled
  const reply = await stream.result
  expect([reply.outcome, reply.children.map((child) => child.reply.outcome)]).toEqual(['completed', ['completed']])
  await bridge.stop()
  const said = telegram.screen(chat).map((message) => message.text)
  expect(said.filter((one) => one.includes('touch child.txt') && one.includes('Allow once · Ann'))).toHaveLength(1)
  expect(errors).toEqual([])
})

test.each(['chat', 'desk'] as const)(
  'a request keeps its message when the connection is lost and the bridge is started again, and is answered once, in the %s',
  async (where) => {
    const begin = async () => {
      const bridge = await openBridge({ path, env, load: async () => bridgeChannel, onError: () => {} })
      await bridge.start()
      return bridge
    }
    const first = await begin()
    const asked = nextAsk()
    const stream = desk.prompt({ text: 'Go [scenario:permission]' })
    const ask = await asked
    const hasButtons = ({ buttons }: TelegramMessage): boolean =>
      buttons.flat().some((one) => one.text === 'Allow once')
    const { messageId } = await shown(hasButtons)
    network.cut()
    network.mend()
    await first.stop()
    const second = await begin()
    const isClosed = (): boolean =>
      telegram.screen(chat).find((one) => one.messageId === messageId)?.buttons.length === 0
    if (where === 'desk') {
      network.cut()
      await desk.answer(ask, 'once')
      network.mend()
      await expect.poll(isClosed, { timeout: 30_000 }).toBe(true)
    } else
      while (!isClosed())
        await telegram.press(chat, messageId, 'Allow once', { from: { id: chat, name: 'Ann' } }).settled
    expect((await stream.result).asks.map(({ status }) => status)).toEqual([
      where === 'desk' ? 'answered' : 'withdrawn',
    ])
    await shown((message) => message.text.includes('It is made.'))
    await second.stop()
    expect(telegram.screen(chat).filter(({ text }) => text.includes('touch made.txt'))).toHaveLength(1)
  },
)

async function nextAsk(): Promise<PermissionAsk> {
  return await new Promise((resolve) => {
    const stop = desk.on('permissionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
}

test('the check tries the listener, and says what is wrong if it is not reached or refuses the token', async () => {
  const check = async (given: Readonly<Record<string, string>>) => {
    const parts = await checkBridge({ path, env: given, load: async () => bridgeChannel, timeoutMs: 3000 })
    return parts.find(({ part }) => part === 'server laptop')
  }
  expect(await check(env)).toEqual({
    part: 'server laptop',
    isUsable: true,
    found: `${network.url} answers, 0 sessions in ${listener.directory}\nRuns that were started elsewhere: all, in the chat of their session. Those of other sessions: tg:1.`,
  })
  expect(await check({ ...env, CODEX_TOKEN: 'another-token-1234567890' })).toEqual({
    part: 'server laptop',
    isUsable: false,
    found: `${network.url} refused the token. Pass the token that the listener was started with.`,
  })
  expect(await check({ TOKEN: env.TOKEN })).toEqual({
    part: 'server laptop',
    isUsable: false,
    found: 'The environment variable CODEX_TOKEN is not set. Set it to the value of the secret.',
  })
  await listener.kill()
  const gone = await check(env)
  expect(gone?.isUsable).toBe(false)
  expect(gone?.found).toContain(`No connection to ${network.url}: `)
})
