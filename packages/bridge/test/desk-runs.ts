import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { codex } from '@reply/agents/codex'
import { type Client, connect, type PermissionAsk } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { callTool, launchOpencode, type Scripts, sayText, startModel } from '@reply/testing'
import { isOpenCode2 } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { listenerToken, startListener } from '../../agents/test/codex/listener.ts'
import { bundleFixture, type Running, run } from './process.ts'

/** What became of runs that began at a second client. */
export interface DeskResult {
  readonly runs: number
  /** In words. Empty if each request was in the right chat, and answered once. */
  readonly faults: readonly string[]
  /** How long after the desk saw a request the chat had it, in ms, without those during which the bridge was killed. */
  readonly shownMs: readonly number[]
  readonly kills: number
}

/** A server, and a program that begins runs there. */
interface DeskServer {
  readonly desk: Client
  /** Its entry in the config. */
  readonly entry: object
  readonly directory: string
  /** More arguments of the bridge. */
  readonly args: readonly string[]
  /** What the desk types, and a part of what the request shows. */
  prompt(nth: number): { readonly text: string; readonly shows: string }
  /** Whether chats can have sessions of their own there. */
  readonly hasChatSessions: boolean
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
    ...{ desk, directory, args: [], hasChatSessions: true },
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

/** Starts a Codex that listens. Its script has one request, and a run of the desk has no prompt that the bridge can tell. */
async function startCodex(version: string): Promise<DeskServer> {
  const listener = await startListener(version)
  const { url, directory } = listener
  const desk = connectSource(codex({ url, token: listenerToken }))
  await desk.ready
  return {
    ...{ desk, directory, args: [url, listenerToken], hasChatSessions: false },
    // Not used: the bridge connects to the listener.
    entry: { url: 'http://127.0.0.1:1', trustPrompt: true },
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
  'Codex as an agent of the config': 'its process belongs to the bridge, so no other client reaches it',
  'a plain command': 'it asks nothing, and each run has a process of its own',
}

/**
 * Begins runs at the desk, one after the other: in the session of a chat and in sessions of no chat, answered in the chat and at
 * the desk in turns. In each third, the bridge is killed before the request is shown or after it, and started again.
 */
export async function playDeskRuns(source: string, runs: number): Promise<DeskResult> {
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
  let bridge: Running = run(script, path, ...server.args)
  await isListening(bridge)
  try {
    const sessionID = server.hasChatSessions ? await sessionOfChat(telegram) : undefined
    for (let nth = 0; nth < runs; nth++) await withinMinute(nth, play(nth, nth % 2 === 0 ? sessionID : undefined))
  } finally {
    bridge.child.kill('SIGTERM')
    await bridge.ended
    await telegram.close()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  return { runs, faults, shownMs, kills }

  async function play(nth: number, sessionID: string | undefined): Promise<void> {
    const where = sessionID === undefined ? home : chat
    const { text, shows } = server.prompt(nth)
    const before = new Set(idsIn(telegram, where, shows))
    const isNew = ({ messageId, text: said }: TelegramMessage): boolean =>
      !before.has(messageId) && said.includes(shows)
    const asked = nextAsk(server.desk)
    const stream = server.desk.prompt({ text, ...(sessionID !== undefined && { sessionID }) })
    const ask = await asked
    const since = performance.now()
    const kind = nth % 3 === 2 ? (nth % 2 === 0 ? 'killed before' : 'killed after') : 'calm'
    if (kind === 'killed before') await killAndStart()
    await seen(telegram, where, (screen) => screen.find((one) => isNew(one) && one.buttons.length > 0))
    if (kind === 'calm') shownMs.push(performance.now() - since)
    if (kind === 'killed after') await killAndStart()
    if (nth % 4 < 2) {
      // A press counts once the platform has confirmed the message.
      const isTaken = async (): Promise<boolean> => {
        const shown = telegram.screen(where).findLast(isNew)
        if (!shown || shown.buttons.length === 0) return true
        const { settled } = telegram.press(where, shown.messageId, 'Allow once', { from: { id: where, name: 'Ann' } })
        return (await settled).text?.startsWith('✅') === true
      }
      while (!(await isTaken())) await new Promise((resolve) => setTimeout(resolve, 300))
    } else await server.desk.answer(ask, 'once')
    const reply = await stream.result
    await seen(telegram, where, (screen) => screen.findLast(isNew)?.buttons.length === 0)
    const other = where === home ? chat : home
    const name = `${source}, run ${nth} (${kind})`
    if (reply.outcome !== 'completed') faults.push(`${name} ended as ${reply.outcome}`)
    const [own] = reply.asks
    if (reply.asks.length !== 1 || own?.status !== 'answered') faults.push(`${name}: its request is ${own?.status}`)
    const count = telegram.screen(where).filter(isNew).length
    // A post that the platform had not confirmed when the bridge was killed is made again.
    const most = kind === 'calm' ? 1 : 2
    if (count < 1 || count > most) faults.push(`${name}: the chat has ${count} messages about it`)
    if (where !== home && idsIn(telegram, other, shows).length > 0) faults.push(`${name}: another chat shows it, too`)
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
    bridge = run(script, path, ...server.args)
  }
}

/** Lets the chat work with a session, and returns its id. */
async function sessionOfChat(telegram: FakeTelegram): Promise<string> {
  telegram.say(chat, 'Hi [scenario:hello]')
  await seen(telegram, chat, (screen) => screen.find(({ text }) => text.includes('Hello to you.')))
  telegram.say(chat, '/current')
  const { text } = await seen(telegram, chat, (screen) => screen.find((one) => one.text.includes('Session:')))
  return /ses_\w+/.exec(text)?.[0] ?? ''
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
