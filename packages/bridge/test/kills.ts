import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { launchOpencode, startModel } from '@reply/testing'
import { seededRandom } from '@reply/testing/internal'
import { startTelegram } from '@reply/testing/telegram'
import { sqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import { doubtsIn } from './doubts.ts'
import { chat, createPerson, faultsOf, type Posted, planBy, promptOf, said, scripts } from './kill-plan.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
const token = '42:secret'
/** What a plan of kills left behind. */
export interface KillResult {
  readonly seed: number
  readonly plan: readonly string[]
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
    config: { permission: { bash: { '*': 'allow', 'touch *': 'ask' } }, extra: { snapshot: false } },
  })
  /** By the session: the plan that it belongs to, so that it is read for that one alone. */
  const owners = new Map<string, number>()
  return { play, close }

  async function play(seed: number): Promise<KillResult> {
    const random = seededRandom(seed)
    const plan = planBy(random)
    const telegram = await startTelegram({ token })
    const folder = mkdtempSync(join(tmpdir(), 'reply-kill-'))
    const path = join(folder, 'reply.json')
    const { url, directory } = server
    writeFileSync(
      path,
      JSON.stringify({
        servers: { home: { url, directory } },
        channels: { tg: { type: 'telegram', token: { env: 'TOKEN' }, apiRoot: telegram.url, updates: 'polling' } },
        people: { ann: { ids: [`tg:${chat}`], may: ['prompt', 'approve'] } },
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
    const posted = async (): Promise<readonly Posted[]> => await postedOf(seed)
    const person = createPerson({ seed, plan, telegram, posted })
    // A text that is written while a question is on the screen answers it. What is forwarded never does.
    const isForwarded = plan.includes('question')
    for (const [index, kind] of plan.entries()) {
      telegram.say(chat, `${promptOf(index, seed)}[scenario:${kind}${index}]`, { isForwarded })
      await person.act()
      await pause(random() * 500)
    }
    const isWhole = await person.finish()
    await killing
    child.kill('SIGTERM')
    await ended(child)
    const state = await sqliteStore({ folder: join(folder, 'state') })
    const { posts: doubtful } = await doubtsIn(state)
    await state.close()
    const faults = faultsOf({ seed, plan, words: said(telegram), posted: await posted(), doubtful })
    await telegram.close()
    rmSync(folder, { recursive: true, force: true })
    return { seed, plan, faults: [...(isWhole ? [] : ['it came to a standstill']), ...faults], kills }
  }

  async function postedOf(seed: number): Promise<readonly Posted[]> {
    const sessions: readonly { readonly id: string }[] = await get('/session')
    const possible = sessions.filter(({ id }) => (owners.get(id) ?? seed) === seed)
    const all = await Promise.all(
      possible.map(async ({ id }) => {
        const messages: readonly Stored[] = await get(`/session/${id}/message`)
        return { id, messages }
      }),
    )
    return all.flatMap(({ id, messages }) => {
      const posted = messages.flatMap(({ info, parts }, index) => {
        if (info.role !== 'user') return []
        const next = messages.findIndex((one, at) => at > index && one.info.role === 'user')
        const work = messages.slice(index + 1, next === -1 ? undefined : next)
        const last = work.at(-1)?.info
        return [
          {
            prompt: parts.map((part) => part.text ?? '').join(''),
            isOver: next !== -1 || last?.error !== undefined || last?.finish === 'stop',
            commands: work.flatMap((one) => one.parts).flatMap(({ state }) => commandIn(state)),
          },
        ]
      })
      const [, owner] = / of (\d+) /.exec(posted[0]?.prompt ?? '') ?? []
      if (owner !== undefined) owners.set(id, Number(owner))
      return owner === String(seed) ? posted : []
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

interface Stored {
  readonly info: { readonly role: string; readonly finish?: string; readonly error?: unknown }
  readonly parts: readonly { readonly text?: string; readonly state?: ToolState }[]
}

interface ToolState {
  readonly status: string
  readonly input?: { readonly command?: string }
}

const commandIn = (state: ToolState | undefined): readonly string[] =>
  state?.status === 'completed' && state.input?.command !== undefined ? [state.input.command] : []

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
