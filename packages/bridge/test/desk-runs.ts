import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '@reply/agents/codex'
import { type Client, connect, type PermissionAsk, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { callTool, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { listenerToken, startListener } from '../../agents/test/codex/listener.ts'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { doubtsIn } from './doubts.ts'
import { bundleFixture, type Running, run } from './process.ts'

/** What became of runs that began at a second client. */
export interface DeskResult {
  readonly runs: number
  /** In words. Empty if each request was in the right chat, and answered once. */
  readonly faults: readonly string[]
  /** How long after the desk got a request the chat had it, in ms, without those during which the bridge was killed. */
  readonly shownMs: readonly number[]
  /** How often the bridge was killed: before it posted a request, right when it did, and when that was stored. */
  readonly kills: number
  /** How many messages show a request that another one shows too, and how many the ledgers count as doubtful. */
  readonly copies: number
  readonly doubtful: number
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

/** Chats with Ann. Groups have a budget that so many requests would use up. */
const home = 2
const chat = 1
const token = '42:secret'
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
    ...(isV2 && { password: token }),
    config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, ...(!isV2 && { extra: { snapshot: false } }) },
  })
  const { url, directory } = server
  const desk = connect({ url, directory, ...(isV2 && { password: token }) })
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
type Kind = 'calm' | 'killed before' | 'killed as posted' | 'killed after'

/** Every third run is one with a kill. */
const kinds: readonly Kind[] = [
  ...(['calm', 'calm', 'killed before'] as const),
  ...(['calm', 'calm', 'killed after'] as const),
  ...(['calm', 'calm', 'killed as posted'] as const),
]

/** How long a private chat's budget takes until it is whole again, in ms: 3 calls in 3.3 s. */
const budgetMs = 3300

/**
 * Begins runs at the desk, one after the other: in the session of a chat and in sessions of no chat, answered in the chat and at
 * the desk in turns. In each third, the bridge is killed and started again. `isTimed`: each run waits until the platform takes
 * the next posts at once, so that `shownMs` has what the bridge takes.
 */
export async function playDeskRuns(source: string, runs: number, isTimed = false): Promise<DeskResult> {
  const server = await (deskSources[source] ?? (() => Promise.reject(new Error(`There is no source ${source}.`))))()
  const folder = mkdtempSync(join(tmpdir(), 'reply-desk-'))
  const telegram = await startTelegram({
    token,
    chats: [
      { id: chat, type: 'private', title: 'Ann' },
      { id: home, type: 'private', title: 'Ann' },
    ],
  })
  const path = join(folder, 'reply.json')
  writeFileSync(
    path,
    JSON.stringify({
      servers: { shop: { ...server.entry, directory: server.directory, homeChat: `tg:${home}` } },
      channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
      people: { ann: { ids: ['tg:1', 'tg:2'], may: ['prompt', 'approve'] } },
    }),
  )
  const script = await bundleFixture('following-bridge', folder)
  const faults: string[] = []
  const shownMs: number[] = []
  let kills = 0
  let copies = 0
  let doubtful = 0
  let bridge: Running = run(script, path)
  try {
    await isListening(bridge)
    const sessionID = await sessionOfChat(telegram, server.greeting)
    for (let nth = 0; nth < runs; nth++) {
      if (isTimed) await isRested(telegram)
      await withinMinute(nth, play(nth, nth % 2 === 0 ? sessionID : undefined))
    }
  } finally {
    bridge.child.kill('SIGTERM')
    await bridge.ended
    const state = await sqliteStore({ folder: join(folder, 'state') })
    doubtful = (await doubtsIn(state)).posts
    await state.close()
    await telegram.close()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  if (copies > doubtful) faults.push(`${copies} messages are copies, of which ${doubtful} are counted`)
  return { runs, faults, shownMs, kills, copies, doubtful }

  async function play(nth: number, sessionID: string | undefined): Promise<void> {
    const where = sessionID === undefined ? home : chat
    const other = where === home ? chat : home
    const { text, shows } = server.prompt(nth)
    const before = new Set([...idsIn(telegram, where, shows), ...idsIn(telegram, other, shows)])
    const isNew = ({ messageId, text: said }: TelegramMessage): boolean =>
      !before.has(messageId) && said.includes(shows)
    const isOpen = (one: TelegramMessage): boolean => isNew(one) && one.buttons.length > 0
    const asked = nextAsk(server.desk)
    const stream = server.desk.prompt({ text, ...(sessionID !== undefined && { sessionID }) })
    const ask = await asked
    const since = performance.now()
    const kind = kinds[nth % kinds.length] ?? 'calm'
    if (kind === 'killed before') await killAndStart()
    await seen(telegram, where, (screen) => screen.find(isOpen))
    if (kind === 'calm') shownMs.push(performance.now() - since)
    if (kind === 'killed after') await isConfirmed(ask.requestID)
    if (kind.startsWith('killed') && kind !== 'killed before') await killAndStart()
    // Nothing finds the message of a post that was not confirmed, so its copy has to be answered.
    const isInChat = nth % 4 < 2 || kind === 'killed as posted'
    if (isInChat) {
      // A press counts once the platform has confirmed the message.
      const isTaken = async (): Promise<boolean> => {
        const shown = telegram.screen(where).findLast(isNew)
        if (!shown || shown.buttons.length === 0) return true
        if (!shown.buttons.flat().some(({ text: label }) => label === 'Allow once')) return false
        const { settled } = telegram.press(where, shown.messageId, 'Allow once', { from: { id: where, name: 'Ann' } })
        return (await settled).text?.startsWith('✅') === true
      }
      while (!(await isTaken())) await new Promise((resolve) => setTimeout(resolve, 300))
    } else await server.desk.answer(ask, 'once')
    const reply = await stream.result
    await seen(telegram, where, (screen) => screen.findLast(isNew)?.buttons.length === 0)
    const name = `${source}, run ${nth} (${kind})`
    if (reply.outcome !== 'completed') faults.push(`${name} ended as ${reply.outcome}`)
    const status = reply.asks.map((one) => one.status).join()
    // Codex doesn't tell its other clients how a request was answered.
    const isKnown = status === 'answered' || (isInChat && source.startsWith('codex') && status === 'withdrawn')
    if (!isKnown) faults.push(`${name}: its request is ${status}`)
    const calls = toolsOf(reply).map(({ state }) => state.status)
    if (calls.join() !== 'completed') faults.push(`${name}: its call is ${calls.join()}`)
    const shown = telegram.screen(where).filter(isNew)
    if (kind === 'killed as posted') copies += shown.length - 1
    else if (shown.length !== 1) {
      const texts = shown.map((one) => one.text.slice(-80)).join(' | ')
      faults.push(`${name}: the chat has ${shown.length} messages about it: ${texts}`)
    }
    if (telegram.screen(other).some(isNew)) faults.push(`${name}: another chat shows it, too`)
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

  /** Rejects with what is seen if a run does not end within a minute, because the test would only say that it hangs. */
  async function withinMinute(nth: number, played: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        const screens = [chat, home].map((id) => telegram.screen(id).slice(-3))
        const seenThere = screens.map((screen) => screen.map(({ text, buttons }) => [text, buttons.length]))
        reject(
          new Error(`${source}, run ${nth} hangs: ${JSON.stringify(seenThere)} ${bridge.lines.slice(-5).join('\n')}`),
        )
      }, 60_000)
    })
    await Promise.race([played, late]).finally(() => clearTimeout(timer))
  }

  async function killAndStart(): Promise<void> {
    kills += 1
    bridge.child.kill('SIGKILL')
    await bridge.ended
    bridge = run(script, path)
  }
}

/** Resolves when the chats have been still for so long that their budgets are whole. */
async function isRested(telegram: FakeTelegram): Promise<void> {
  await new Promise<void>((resolve) => {
    let timer = setTimeout(rested, budgetMs)
    const stop = telegram.observe(() => {
      clearTimeout(timer)
      timer = setTimeout(rested, budgetMs)
    })
    function rested(): void {
      stop()
      resolve()
    }
  })
}

/** Lets the chat work with a session, and returns its id. */
async function sessionOfChat(telegram: FakeTelegram, { text, says }: DeskServer['greeting']): Promise<string> {
  telegram.say(chat, text)
  await seen(telegram, chat, (screen) => screen.find((one) => one.text.includes(says)))
  telegram.say(chat, '/current')
  const shown = await seen(telegram, chat, (screen) => screen.find((one) => one.text.includes('Session:')))
  return /Session: (\S+)/.exec(shown.text)?.[1] ?? ''
}

async function nextAsk(desk: Client): Promise<PermissionAsk> {
  return await new Promise((resolve) => {
    const stop = desk.on('permissionAsked', ({ ask }) => {
      stop()
      resolve(ask)
    })
  })
}

/** Resolves when the bridge hears the chats. */
async function isListening(bridge: Running): Promise<void> {
  while (!bridge.lines.some((line) => line.includes('isStarted'))) {
    if (bridge.child.exitCode !== null) throw new Error(`The bridge ended: ${bridge.lines.join('\n')}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

function idsIn(telegram: FakeTelegram, where: number, words: string): readonly number[] {
  return telegram.screen(where).flatMap(({ messageId, text }) => (text.includes(words) ? [messageId] : []))
}

async function seen<T>(
  telegram: FakeTelegram,
  where: number,
  find: (screen: readonly TelegramMessage[]) => T | undefined | false,
): Promise<T> {
  return await new Promise((resolve) => {
    const look = (): void => {
      const found = find(telegram.screen(where))
      if (found === undefined || found === false) return
      stop()
      resolve(found)
    }
    const stop = telegram.observe(look)
    look()
  })
}
