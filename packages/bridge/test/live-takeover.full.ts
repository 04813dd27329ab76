import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '@reply/core'
import { createHandClock, type HandClock } from '@reply/testing'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ScriptedServer, startScriptedServer } from '../scripts/scale/scripted-server.ts'
import { askOf, endingOf, messageOf } from '../scripts/scale/task.ts'
import { type Bridge, createBridge } from '../src/bridge.ts'
import { parseConfig } from '../src/config/parse.ts'
import { sqliteStore } from '../src/index.ts'
import type { Store } from '../src/store/store.ts'
import { createMemoryStore, createStoreMemory } from '../src/testing.ts'
import { telegramOn } from './platforms.ts'

const chat = 1
const token = 't000001'
const rejectedToken = 't000002'
/** How long the agent could write, in ms. */
const mostMs = 600_000

let clock: HandClock
let telegram: FakeTelegram
/** Speaks the wire of OpenCode 1, which does not repeat a text before its end. */
let server: ScriptedServer
let folder: string
/** What the bot's messages in the chat said, joined, at each change. */
let screens: string[]
let errors: Error[]
let running: Process[]
let closeNetwork: () => void

beforeEach(async () => {
  clock = createHandClock()
  screens = []
  errors = []
  running = []
  closeNetwork = () => {}
  folder = mkdtempSync(join(tmpdir(), 'reply-live-'))
  server = await startScriptedServer()
  telegram = await startTelegram({ token: '42:secret', clock, chats: [{ id: chat, type: 'private', title: 'Ann' }] })
  telegram.observe(() => {
    const screen = telegram
      .screen(chat)
      .flatMap(({ from, text }) => (from === 'bot' ? [text] : []))
      .join(' ')
    if (screen !== screens.at(-1)) screens.push(screen)
  })
})

afterEach(async () => {
  for (const process of running) await process.stop()
  closeNetwork()
  await telegram.close()
  await server.close()
  rmSync(folder, { recursive: true })
  // The next process counts the calls of the one before.
  expect(telegram.calls.filter(({ status }) => status === 429)).toEqual([])
  expect(errors).toEqual([])
})

/** A bridge as a process of its own. */
interface Process {
  /** It makes no more calls, and writes nothing. */
  kill(): void
  stop(): Promise<void>
  /** Begins to stop. Returns a function that tells whether it has. */
  beginStop(): () => boolean
}

async function startProcess(store: Store, { url = server.url } = {}): Promise<Process> {
  let isDead = false
  const own: Clock = {
    now: clock.now,
    monotonic: clock.monotonic,
    after: (delayMs, run) => clock.after(delayMs, () => isDead || run()),
  }
  const alive =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> =>
      isDead ? await new Promise(() => {}) : await call(...given)
  const platform = telegramOn(telegram)
  const bridge: Bridge = createBridge({
    config: parseConfig({
      servers: { home: { url, trustPrompt: true } },
      channels: { telegram: platform.entry },
      people: { ann: { ids: [`telegram:${chat}`], may: ['prompt', 'approve', 'admin'] } },
    }),
    clock: own,
    store: { ...store, commit: alive(store.commit), beat: alive(store.beat), read: alive(store.read) },
    secret: () => '42:secret',
    load: async () => platform.channel,
    onError: (error) => isDead || /has no password/.test(error.message) || errors.push(error),
  })
  let isStarted = false
  void bridge.start().then(() => {
    isStarted = true
  })
  await passes('it is started', () => isStarted)
  const process: Process = {
    kill: () => {
      isDead = true
      running = running.filter((one) => one !== process)
    },
    stop: async () => await passes('it is stopped', process.beginStop()),
    beginStop: () => {
      running = running.filter((one) => one !== process)
      let isStopped = false
      void bridge.stop().then(() => {
        isStopped = true
      })
      return () => isStopped
    },
  }
  running.push(process)
  return process
}

/** Lets time pass, a tenth of a second after the other, until it is so. */
async function passes(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 6000) throw new Error(`It never happened that ${what}: ${screens.at(-1)} ${errors}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
    await clock.advance(100)
  }
}

/** Waits until it is so, without letting time pass. */
async function rests(what: string, isSo: () => boolean): Promise<void> {
  for (let tries = 0; !isSo(); tries++) {
    if (tries > 1000) throw new Error(`It never happened that ${what}.`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A network between the processes and the server, on which prompts wait until they are released. Those that are given up are lost. */
async function slowNetwork() {
  const prompts: (() => void)[] = []
  const front = createServer((incoming, outgoing) => {
    const pass = (): void => {
      if (outgoing.destroyed) return
      const { method, headers, url = '/' } = incoming
      const passed = request(new URL(url, server.url), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      outgoing.on('close', () => passed.destroy())
      passed.on('error', () => outgoing.destroy())
      incoming.pipe(passed)
    }
    if (incoming.url?.includes('/prompt_async')) prompts.push(pass)
    else pass()
  })
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve))
  closeNetwork = () => {
    front.closeAllConnections()
    front.close()
  }
  const address = front.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, prompts }
}

/** The numbers of the sentences on a screen, and its marks. */
const saidOn = (screen: string): readonly string[] => screen.match(/Sentence \d+|…(?! \()/g) ?? []
const newest = (): readonly string[] => saidOn(screens.at(-1) ?? '')

/** Expects that each screen goes on from the one before, and that the last one is the whole text. */
async function expectWhole(): Promise<void> {
  server.endAnswer(token)
  const isWhole = (screen: string): boolean => screen.includes(endingOf(token)) && !saidOn(screen).includes('…')
  await passes('the answer is whole', () => isWhole(screens.at(-1) ?? ''))
  const whole = saidOn(screens.at(-1) ?? '')
  expect(whole).toEqual(whole.map((_, index) => `Sentence ${index + 1}`))
  expect(server.tasks).toHaveLength(1)
  const growing = screens.filter((screen) => !isWhole(screen)).map(saidOn)
  for (const [index, before] of growing.entries()) {
    const after = growing[index + 1] ?? before
    expect(after.slice(0, before.length)).toEqual(before)
    const sentences = after.filter((one) => one !== '…')
    expect(whole.filter((one) => sentences.includes(one))).toEqual(sentences)
  }
}

async function grows(): Promise<void> {
  const before = newest().length
  await passes('it grows', () => newest().length > before + 2)
}

test.each(['stopped', 'killed'] as const)('a live answer grows on after its bridge was %s', async (how) => {
  const memory = createStoreMemory()
  let process = await startProcess(createMemoryStore({ memory, clock }))
  telegram.say(chat, messageOf({ token, kind: 'answer', ms: mostMs }))
  await grows()
  for (let times = 0; times < 2; times++) {
    if (how === 'killed') process.kill()
    const next = await startProcess(createMemoryStore({ memory, clock }))
    if (how === 'stopped') await process.stop()
    process = next
    await grows()
  }
  // The next one hears what a bridge that stops still hears, too.
  if (how === 'killed') expect(newest()).toContain('…')
  await expectWhole()
})

test('a live answer grows on after a restart with SQLite', async () => {
  const open = (): Promise<Store> => sqliteStore({ folder: join(folder, 'state'), clock })
  const process = await startProcess(await open())
  telegram.say(chat, messageOf({ token, kind: 'answer', ms: mostMs }))
  await grows()
  await process.stop()
  await startProcess(await open())
  await grows()
  expect(newest()).toContain('…')
  await expectWhole()
})

test('a bridge that hands a chat over waits for a prompt that is being posted, so that the next one finds it at once', async () => {
  const memory = createStoreMemory()
  const network = await slowNetwork()
  const process = await startProcess(createMemoryStore({ memory, clock }), network)
  telegram.say(chat, messageOf({ token, kind: 'answer', ms: 0 }))
  await passes('it is being posted', () => network.prompts.length > 0)
  await startProcess(createMemoryStore({ memory, clock }), network)
  const began = clock.now()
  const isStopped = process.beginStop()
  await passes('the others are handed over', () => clock.now() >= began + 500)
  expect([isStopped(), server.tasks]).toEqual([false, []])
  for (const pass of network.prompts) pass()
  await rests('the server has it', () => server.tasks.length > 0)
  await passes('it is stopped', isStopped)
  await passes('the chat shows the answer', () => screens.at(-1)?.includes(endingOf(token)) === true)
  // A prompt that is not found is looked for during 10 s, and then posted again.
  expect([network.prompts.length, clock.now() - began < 10_000]).toEqual([1, true])
})

test.each(['stopped', 'killed'] as const)(
  'a live answer after a rejected request grows on in its own message after its bridge was %s',
  async (how) => {
    const memory = createStoreMemory()
    const process = await startProcess(createMemoryStore({ memory, clock }))
    telegram.say(chat, messageOf({ token: rejectedToken, kind: 'ask', ms: 0 }))
    const asked = () =>
      telegram.screen(chat).find(({ text }) => text.includes(askOf(rejectedToken)) && /Allow/.test(text))
    await passes('it asks', () => asked() !== undefined)
    telegram.press(chat, asked()?.messageId ?? 0, 'Reject')
    await passes('it was rejected', () => /Stopped:/.test(screens.at(-1) ?? ''))
    const before = telegram.screen(chat).filter(({ from }) => from === 'bot')
    telegram.say(chat, messageOf({ token, kind: 'answer', ms: mostMs }))
    await grows()
    if (how === 'killed') process.kill()
    await startProcess(createMemoryStore({ memory, clock }))
    if (how === 'stopped') await process.stop()
    await grows()
    server.endAnswer(token)
    await passes('the answer is whole', () => (screens.at(-1) ?? '').includes(endingOf(token)))
    await passes('its text has no hole', () => !newest().includes('…'))
    const bot = telegram.screen(chat).filter(({ from }) => from === 'bot')
    // What the rejected run said stays, and the answer has one message.
    expect(bot.slice(0, before.length)).toEqual(before)
    expect(bot.length).toBe(before.length + 1)
  },
)
