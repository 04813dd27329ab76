import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  type FakeTelegram,
  launchOpencode,
  randomBy,
  type Scripts,
  startModel,
  startTelegram,
  text,
  tool,
} from '@reply/testing'
import { sqliteStore } from '../src/store/sqlite.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
const answers = 4

/** Every answer is told apart by its number; some take a while, some run a tool. */
const scripts: Scripts = Object.fromEntries(
  Array.from({ length: answers }, (_, index) => {
    const end = text(`This is answer ${index}, and it is a little longer. It ends.`, 8)
    const steps = index % 3 === 2 ? [[tool('bash', { command: 'sleep 0.2', description: 'Wait' })], [end]] : [[end]]
    return [`answer${index}`, { steps }]
  }),
)

/** What a plan of kills left behind. */
export interface KillResult {
  readonly seed: number
  /** Faults in words; empty if nothing was lost, run twice or shown twice. */
  readonly faults: readonly string[]
  readonly kills: number
}

/** Plays plans against one real server and one fake Telegram. */
export interface KillStage {
  play(seed: number): Promise<KillResult>
  close(): Promise<void>
}

/** A bridge as a process of its own, which is killed at random moments and started again. */
export async function startKillStage(version?: string): Promise<KillStage> {
  const model = await startModel({ scripts })
  const server = await launchOpencode({
    model,
    ...(version !== undefined && { version }),
    config: { extra: { snapshot: false } },
  })
  return { play, close }

  async function play(seed: number): Promise<KillResult> {
    const random = randomBy(seed)
    const telegram = await startTelegram({ token })
    const folder = mkdtempSync(join(tmpdir(), 'reply-kill-'))
    const path = join(folder, 'reply.json')
    const { url, directory } = server
    writeFileSync(
      path,
      JSON.stringify({
        servers: { home: { url, directory } },
        channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
        people: { ann: { ids: [`tg:${chat}`], may: ['prompt'] } },
        router: { messagesPerMinute: 1000 },
      }),
    )
    let child = run(path)
    let kills = 0
    const killing = (async () => {
      const most = 1 + Math.floor(random() * 2)
      while (kills < most) {
        // Mostly while it works, sometimes while it starts.
        if (random() < 0.75) await listening(child)
        await pause(random() * 2000)
        child.kill('SIGKILL')
        kills += 1
        await pause(random() * 300)
        child = run(path)
      }
    })()
    for (let index = 0; index < answers; index++) {
      telegram.say(chat, `Number ${index} of ${seed} [scenario:answer${index}]`)
      await pause(random() * 500)
    }
    await killing
    const isWhole = await answered(telegram)
    child.kill('SIGTERM')
    await ended(child)
    const faults = [
      ...(isWhole ? [] : ['not all answers came within two minutes']),
      ...(await faultsOf({ seed, telegram, folder })),
    ]
    await telegram.close()
    rmSync(folder, { recursive: true, force: true })
    return { seed, faults, kills }
  }

  async function answered(telegram: FakeTelegram): Promise<boolean> {
    for (let look = 0; look < 1200; look++) {
      const words = said(telegram).join('\n')
      if (Array.from({ length: answers }, (_, index) => words.includes(answerOf(index))).every(Boolean)) return true
      await pause(100)
    }
    return false
  }

  async function faultsOf({ seed, telegram, folder }: Played): Promise<readonly string[]> {
    const words = said(telegram)
    const doubtful = await doubtfulIn(join(folder, 'state'))
    const counts = Array.from({ length: answers }, (_, index) => {
      return words.filter((one) => one.includes(answerOf(index))).length
    })
    const copies = counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
    const order = words.flatMap((one) => /answer (\d)/.exec(one)?.[1] ?? [])
    const runs = await promptsOf(seed)
    return [
      ...counts.flatMap((count, index) => (count === 0 ? [`answer ${index} is not shown`] : [])),
      ...(copies > doubtful ? [`${copies} copies, of which ${doubtful} are counted`] : []),
      ...(order.join() === order.toSorted().join() ? [] : [`the order is ${order.join()}`]),
      ...runs,
    ]
  }

  /** Each prompt is on the server once, whatever was killed. */
  async function promptsOf(seed: number): Promise<readonly string[]> {
    const sessions: readonly { readonly id: string }[] = await get('/session')
    const all = await Promise.all(sessions.map(async ({ id }) => await get(`/session/${id}/message`)))
    const messages: readonly Stored[] = all.flat()
    const prompts = messages
      .filter(({ info }) => info.role === 'user')
      .map(({ parts }) => parts.map((part) => part.text ?? '').join(''))
    return Array.from({ length: answers }, (_, index) => index).flatMap((index) => {
      const count = prompts.filter((prompt) => prompt.includes(`Number ${index} of ${seed} `)).length
      return count === 1 ? [] : [`prompt ${index} was posted ${count} times`]
    })
  }

  async function get(route: string): Promise<ReturnType<typeof JSON.parse>> {
    const address = new URL(route, server.url)
    address.searchParams.set('directory', server.directory)
    const response = await fetch(address)
    return await response.json()
  }

  async function close(): Promise<void> {
    await server.stop()
    await model.close()
  }
}

interface Played {
  readonly seed: number
  readonly telegram: FakeTelegram
  readonly folder: string
}

const chat = 1000

function said(telegram: FakeTelegram): readonly string[] {
  return telegram.screen(chat).flatMap(({ from, text: words }) => (from === 'bot' ? [words] : []))
}

interface Stored {
  readonly info: { readonly role: string }
  readonly parts: readonly { readonly text?: string }[]
}

const answerOf = (index: number): string => `This is answer ${index}, and it is a little longer. It ends.`

function run(path: string): ChildProcess {
  return spawn(process.execPath, [command, 'bridge', '--config', path], {
    env: { ...process.env, TOKEN: token },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
}

/** Resolves when the bridge hears the chats, or has ended. */
async function listening(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve) => {
    child.stderr?.on('data', (chunk: Buffer) => {
      if (String(chunk).includes('Listening')) resolve()
    })
    child.once('exit', () => resolve())
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await new Promise((resolve) => child.once('exit', resolve))
}

/** Posts whose result is not known, as the ledgers count them. */
async function doubtfulIn(folder: string): Promise<number> {
  const store = await sqliteStore({ folder })
  const ledgers = await store.list('ledger/')
  await store.close()
  const counts = ledgers.map(({ value }) => {
    const ledger: { readonly doubtful: number; readonly entries: readonly { readonly state: string }[] } =
      JSON.parse(value)
    return ledger.doubtful + ledger.entries.filter(({ state }) => state === 'intent').length
  })
  return counts.reduce((sum, count) => sum + count, 0)
}
