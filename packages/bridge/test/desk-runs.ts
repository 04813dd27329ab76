import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '@reply/agents/codex'
import { type Client, connect, type PermissionAsk, pendingAsks, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { callTool, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { listenerToken, startListener } from '../../agents/test/codex/listener.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { doubtsIn } from './doubts.ts'
import type { PlatformName } from './platforms.ts'
import { bundleFixture, type Running, runWith } from './process.ts'
import { type Chat, type Seen, startTowns, type Town } from './towns.ts'

/** What became of runs that began at a second client. */
export interface DeskResult {
  /** In the order in which they ran. */
  readonly runs: readonly DeskRun[]
  /** In words. Empty if each request was in the right chat, and answered once. */
  readonly faults: readonly string[]
  /** How many messages show a request that another one shows too, and how many the ledgers count as doubtful. */
  readonly copies: number
  readonly doubtful: number
}

/** A run that began at a second client. */
export interface DeskRun {
  readonly platform: PlatformName
  readonly kind: Kind
  /**
   * How long after the desk got its request the chat had it, in ms. If the bridge was killed before it posted the request: how long
   * after it was back and received messages again.
   */
  readonly shownMs: number
}

/** A server, and a program that begins runs there. */
interface DeskServer {
  readonly desk: Client
  /** Its entry in the config. */
  readonly entry: object
  readonly directory: string
  /** What the desk types, and a part of what the request shows. */
  prompt(nth: number): { readonly text: string; readonly shows: string }
  /** What the chat says for a session of its own, and a part of the answer. */
  readonly greeting: { readonly text: string; readonly says: string }
  close(): Promise<void>
}

const password = '42:secret'
/** How many runs a script has at most. */
const mostRuns = 60

/** Starts an OpenCode of a version. */
async function startOpencode(version: string): Promise<DeskServer> {
  const isV2 = isOpenCode2(version)
  const scripts: Scripts = {
    hello: { steps: [[sayText('Hello to you.')]] },
    ...Object.fromEntries(
      Array.from({ length: mostRuns }, (_, nth) => [
        `run${nth}x`,
        { steps: [[callTool('bash', touch(nth))], [sayText('It is done.')]] },
      ]),
    ),
  }
  const model = await startModel({ scripts, generation: isV2 ? 2 : 1 })
  const server = await launchOpencode({
    ...{ model, version },
    ...(isV2 && { password }),
    config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, ...(!isV2 && { extra: { snapshot: false } }) },
  })
  const { url, directory } = server
  const desk = connect({ url, directory, ...(isV2 && { password }) })
  await desk.ready
  return {
    ...{ desk, directory },
    greeting: { text: 'Hi [scenario:hello]', says: 'Hello to you.' },
    entry: { url, ...(isV2 && { password: { env: 'PASSWORD' } }) },
    prompt: (nth) => ({ text: `Go [scenario:run${nth}x]`, shows: `touch made${nth}x` }),
    close: async () => {
      await desk.close()
      await server.stop()
      await model.close()
    },
  }
}

function touch(nth: number) {
  return { command: `touch made${nth}x`, description: 'Touch' }
}

/** Starts a Codex that listens. Its script has one request. */
async function startCodex(version: string): Promise<DeskServer> {
  const listener = await startListener(version)
  const { url, directory } = listener
  const desk = connectSource(codex({ url, token: listenerToken }))
  await desk.ready
  return {
    ...{ desk, directory },
    greeting: { text: 'Hi [scenario:plain]', says: 'Hello there, nice to meet you.' },
    entry: { agent: 'codex', url, token: { file: join(listener.home, 'token') }, trustPrompt: true },
    prompt: () => ({ text: 'Go [scenario:permission]', shows: 'touch made.txt' }),
    close: async () => {
      await desk.close()
      await listener.close()
    },
  }
}

/** The sources that can tell of runs which another client began. */
export const deskSources: Readonly<Record<string, () => Promise<DeskServer>>> = {
  'OpenCode 1.1.65': async () => await startOpencode('1.1.65'),
  'OpenCode 1.18.33': async () => await startOpencode('1.18.33'),
  'OpenCode 2': async () => await startOpencode('0.0.0-next-16350'),
  'codex app-server': async () => await startCodex('0.169.0'),
}

/** Those that can't, and why. */
export const deskless: Readonly<Record<string, string>> = {
  'an agent that speaks ACP': 'its process belongs to the bridge, so no other client reaches it',
  'Claude Code': 'its process belongs to the bridge, so no other client reaches it',
  'a Codex that the bridge starts': 'its process belongs to the bridge, so no other client reaches it',
  'a plain command': 'it asks nothing, and each run has a process of its own',
}

/** When the bridge is killed. `posted`: before it can know that the platform has the message. */
export type Kind = 'calm' | 'killed before' | 'killed as posted' | 'killed after'

/** Every third run is one with a kill. */
const kinds: readonly Kind[] = [
  ...(['calm', 'calm', 'killed before'] as const),
  ...(['calm', 'calm', 'killed after'] as const),
  ...(['calm', 'calm', 'killed as posted'] as const),
]

/** How long a chat's budget takes until it is whole again, in ms: 3 calls in 3.3 s on Telegram, 5 in 5.2 s on Discord. */
const budgetMs: Readonly<Record<PlatformName, number>> = { telegram: 3300, slack: 1100, discord: 5200, whatsapp: 6000 }

/**
 * Begins runs at the desk, one after the other: in the session of a chat and in sessions of no chat, answered in the chat and at
 * the desk in turns. In each third, the bridge is killed and started again. The bridge has chats on all platforms, and each platform
 * has its part of the runs, beginning with the one at the index `first`. `isTimed`: each run waits until the platform takes the
 * next posts at once, so that `shownMs` has what the bridge takes.
 */
export async function playDeskRuns(
  source: string,
  count: number,
  { isTimed = false, first = 0 } = {},
): Promise<DeskResult> {
  const server = await (deskSources[source] ?? (() => Promise.reject(new Error(`There is no source ${source}.`))))()
  const folder = mkdtempSync(join(tmpdir(), 'reply-desk-'))
  const towns = await startTowns(2)
  const path = join(folder, 'reply.json')
  const env = Object.assign({ PASSWORD: password }, ...towns.map(({ platform }) => platform.secrets))
  const script = await bundleFixture('following-bridge', folder)
  const runs: DeskRun[] = []
  const faults: string[] = []
  let copies = 0
  let doubtful = 0
  let bridge: Running | undefined
  try {
    for (const [index] of towns.entries()) {
      const town = towns[(first + index) % towns.length]
      const [from, to] = [index, index + 1].map((part) => Math.ceil((part * count) / towns.length))
      if (town) await playIn(town, from ?? 0, to ?? 0)
    }
  } finally {
    await stop('SIGTERM')
    const state = await sqliteStore({ folder: join(folder, 'state') })
    doubtful = (await doubtsIn(state)).posts
    await state.close()
    await Promise.all(towns.map(async ({ platform }) => await platform.close()))
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  if (copies > doubtful) faults.push(`${copies} messages are copies, of which ${doubtful} are counted`)
  return { runs, faults, copies, doubtful }

  /** Plays runs in two chats of a platform: one works with a session, the other one is home of those that no chat works with. */
  async function playIn(town: Town, from: number, to: number): Promise<void> {
    const [chat, home] = town.chats
    if (!chat || !home) return
    await stop('SIGTERM')
    writeFileSync(
      path,
      JSON.stringify({
        servers: {
          shop: { ...server.entry, directory: server.directory, homeChat: `${town.platform.name}:${home.id}` },
        },
        channels: Object.fromEntries(towns.map(({ platform: { name, entry } }) => [name, entry])),
        people: {
          ann: {
            ids: towns.flatMap(({ platform: { name }, people }) => people.map((id) => `${name}:${id}`)),
            may: ['prompt', 'approve'],
          },
        },
      }),
    )
    await withinMinute(town, 'The start', start())
    const sessionID = await withinMinute(town, 'The greeting', sessionOfChat(town, chat, server.greeting))
    for (let nth = from; nth < to; nth++) {
      if (isTimed) await isRested(town)
      await withinMinute(town, `Run ${nth}`, nth % 2 === 0 ? play(town, nth, chat, sessionID) : play(town, nth, home))
    }
  }

  async function play(town: Town, nth: number, where: Chat, sessionID?: string): Promise<void> {
    const { text, shows } = server.prompt(nth)
    const chats = towns.flatMap((one) => one.chats)
    const aboutIt = (one: Chat): readonly Seen[] => one.seen().filter((message) => message.text.includes(shows))
    const before = new Set(chats.flatMap(aboutIt).map(({ id }) => id))
    const newIn = (one: Chat): readonly Seen[] => aboutIt(one).filter(({ id }) => !before.has(id))
    const asked = nextAsk(server.desk)
    const stream = server.desk.prompt({ text, ...(sessionID !== undefined && { sessionID }) })
    const ask = await asked
    let since = performance.now()
    const kind = kinds[nth % kinds.length] ?? 'calm'
    if (kind === 'killed before') since = await killAndStart()
    await seen(town, () => newIn(where).find(({ buttons }) => buttons.length > 0))
    runs.push({ platform: town.platform.name, kind, shownMs: performance.now() - since })
    if (kind === 'killed after') await isConfirmed(ask.requestID)
    if (kind.startsWith('killed') && kind !== 'killed before') await killAndStart()
    // Nothing finds the message of a post that was not confirmed, so its copy has to be answered.
    const isInChat = nth % 4 < 2 || kind === 'killed as posted'
    if (isInChat) {
      const isAnswered = (): boolean =>
        stream.reply === undefined || !pendingAsks(stream.reply).some(({ requestID }) => requestID === ask.requestID)
      // A press counts once the platform has confirmed the message.
      for (let waited = 0; !isAnswered(); waited += 100) {
        const shown = newIn(where).at(-1)
        if (waited % 2000 === 0 && shown?.buttons.includes('Allow once')) where.press(shown.id, 'Allow once')
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    } else await server.desk.answer(ask, 'once')
    const reply = await stream.result
    // Buttons stay on WhatsApp.
    if (where.platform !== 'whatsapp') await seen(town, () => newIn(where).at(-1)?.buttons.length === 0)
    const name = `${source} on ${town.platform.name}, run ${nth} (${kind})`
    if (reply.outcome !== 'completed') faults.push(`${name} ended as ${reply.outcome}`)
    const status = reply.asks.map((one) => one.status).join()
    // Codex doesn't tell its other clients how a request was answered.
    const isKnown = status === 'answered' || (isInChat && source.startsWith('codex') && status === 'withdrawn')
    if (!isKnown) faults.push(`${name}: its request is ${status}`)
    const calls = toolsOf(reply).map(({ state }) => state.status)
    if (calls.join() !== 'completed') faults.push(`${name}: its call is ${calls.join()}`)
    const shown = newIn(where)
    if (kind === 'killed as posted') copies += shown.length - 1
    else if (shown.length !== 1) {
      const texts = shown.map((one) => one.text.slice(-80)).join(' | ')
      faults.push(`${name}: the chat has ${shown.length} messages about it: ${texts}`)
    }
    for (const other of chats)
      if (other !== where && newIn(other).length > 0)
        faults.push(`${name}: ${other.platform}:${other.id} shows it, too`)
  }

  /** Resolves once the state has that the request is in the chat. */
  async function isConfirmed(requestID: string): Promise<void> {
    const state = await sqliteStore({ folder: join(folder, 'state') })
    const isShown = async (): Promise<boolean> =>
      (await state.list('ledger/')).some(({ value }) => {
        const { entries }: { readonly entries: readonly { readonly state: string }[] } = JSON.parse(value)
        return entries.some((entry) => entry.state === 'shown' && JSON.stringify(entry).includes(requestID))
      })
    while (!(await isShown())) await new Promise((resolve) => setTimeout(resolve, 20))
    await state.close()
  }

  /** Rejects with what is seen if something does not end within a minute, because the test would only say that it hangs. */
  async function withinMinute<T>({ chats, platform }: Town, what: string, played: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const screens = chats.map((chat) => chat.seen().slice(-3))
        const seenThere = screens.map((screen) => screen.map(({ text, buttons }) => [text, buttons.length]))
        reject(
          new Error(
            `${what} with ${source} on ${platform.name} hangs: ${JSON.stringify(seenThere)} ${bridge?.lines.slice(-5).join('\n')}`,
          ),
        )
      }, 60_000)
    })
    return await Promise.race([played, late]).finally(() => clearTimeout(timer))
  }

  async function stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    bridge?.child.kill(signal)
    await bridge?.ended
    bridge = undefined
  }

  /** Kills the bridge and starts it again. Resolves with the time at which it received messages again. */
  async function killAndStart(): Promise<number> {
    await stop('SIGKILL')
    return await start()
  }

  /** Starts the bridge. Resolves with the time at which it received messages. */
  async function start(): Promise<number> {
    const started = runWith(env, script, path)
    bridge = started
    const url = await urlOf(started)
    const since = performance.now()
    await Promise.all(towns.map(async ({ platform: { name, ready } }) => await ready(`${url}/webhooks/${name}`)))
    return since
  }
}

/** Resolves when the chats have been still for so long that their budgets are whole. */
async function isRested({ platform, observe }: Town): Promise<void> {
  const restMs = budgetMs[platform.name]
  await new Promise<void>((resolve) => {
    let timer = setTimeout(rested, restMs)
    const stop = observe(() => {
      clearTimeout(timer)
      timer = setTimeout(rested, restMs)
    })
    function rested(): void {
      stop()
      resolve()
    }
  })
}

/** Lets the chat work with a session, and returns its id. */
async function sessionOfChat(town: Town, chat: Chat, { text, says }: DeskServer['greeting']): Promise<string> {
  chat.say(text)
  await seen(town, () => chat.seen().find((one) => one.text.includes(says)))
  chat.say('/current')
  const shown = await seen(town, () => chat.seen().find((one) => one.text.includes('Session:')))
  return /Session: `?([\w-]+)/.exec(shown.text)?.[1] ?? ''
}

async function nextAsk(desk: Client): Promise<PermissionAsk> {
  return await new Promise((resolve) => {
    const stop = desk.on('permissionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
}

/** Resolves with the address of a bridge when it receives messages. */
async function urlOf({ child, lines }: Running): Promise<string> {
  for (;;) {
    const started: { readonly url?: string } = JSON.parse(lines.find((line) => line.includes('"url"')) ?? '{}')
    if (started.url !== undefined) return started.url
    if (child.exitCode !== null) throw new Error(`The bridge ended: ${lines.join('\n')}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

async function seen<T>({ observe }: Town, find: () => T | undefined | false): Promise<T> {
  return await new Promise((resolve) => {
    const look = (): void => {
      const found = find()
      if (found === undefined || found === false) return
      stop()
      resolve(found)
    }
    const stop = observe(look)
    look()
  })
}
