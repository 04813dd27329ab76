import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sharedPostgres } from '@reply/testing/internal'
import { type ScriptedServer, startScriptedServer } from '../scripts/scale/scripted-server.ts'
import { createMirrors } from '../src/config/mirrors.ts'
import type { ChatPlace } from '../src/place.ts'
import { shardCount, shardOf } from '../src/state/shard-of.ts'

const command = fileURLToPath(new URL('../../console/bin/reply.mjs', import.meta.url))
/** How long something may take, in ms. Only what hangs meets it. */
const hangMs = 40_000

/** How many lines of a log are told then. */
const linesTold = 10

/** A bridge as a process of its own. */
export interface BridgeProcess {
  readonly name: string
  /** Kills it. */
  kill(): void
  /** Asks it to end, and resolves with its exit code when it has. */
  stop(): Promise<number | null>
  /** Stops it, as a computer that sleeps does. */
  freeze(): void
  wake(): void
  /** What its `/readyz/<channel>` says: `receiving`, `elsewhere`, … Undefined without an answer. */
  status(channel: string): Promise<string | undefined>
  /** Whether it takes the messages of a place. */
  owns(place: ChatPlace): boolean
  /** How many shards it takes the messages of. */
  shards(): number
  /** Its log. */
  said(): string
}

/** Two bridges on one state in PostgreSQL, with an agent that both reach. */
export interface TwoProcesses {
  readonly bridges: readonly [BridgeProcess, BridgeProcess]
  readonly server: ScriptedServer
  /** Resolves when it is so. Rejects with the ends of both logs if that takes too long. */
  until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void>
  close(): Promise<void>
}

/** Starts both. Resolves when they work and have their parts of the chats. `env` has the secrets of the channels. */
export async function startTwoProcesses(options: {
  readonly channels: object
  readonly env: Readonly<Record<string, string>>
  /** Who may do everything, for example `dc:1`. */
  readonly people: readonly string[]
}): Promise<TwoProcesses> {
  const folder = mkdtempSync(join(tmpdir(), 'reply-two-'))
  const server = await startScriptedServer()
  const url = await (await sharedPostgres()).createDatabase()
  const config = join(folder, 'reply.json')
  writeFileSync(
    config,
    JSON.stringify({
      servers: { home: { url: server.url, directory: server.directory } },
      channels: options.channels,
      people: { ann: { ids: options.people, may: ['prompt', 'approve', 'admin'] } },
      router: { messagesPerMinute: 1000 },
      state: { type: 'postgres', url: { env: 'DATABASE_URL' } },
    }),
  )
  const open = (name: string): ReturnType<typeof startBridge> =>
    startBridge(name, config, { ...options.env, DATABASE_URL: url })
  const bridges = [open('first'), open('second')] as const
  try {
    await until('both work', () => bridges.every((one) => one.shards() > 0))
    await until('they have all shards', () => bridges[0].shards() + bridges[1].shards() === shardCount)
  } catch (error) {
    await close()
    throw error
  }
  return { bridges, server, until, close }

  async function until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (const from = performance.now(); !(await isSo()); await pause(10)) {
      if (performance.now() - from < hangMs) continue
      const logs = bridges.map(({ name, said }) => `${name}: ${said().split('\n').slice(-linesTold).join('\n')}`)
      throw new Error(`It never happened that ${what}.\n${logs.join('\n')}`)
    }
  }

  async function close(): Promise<void> {
    for (const one of bridges) one.kill()
    await server.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function startBridge(name: string, config: string, env: Readonly<Record<string, string>>): BridgeProcess {
  const child: ChildProcess = spawn(
    process.execPath,
    [command, 'bridge', '--config', config, '--listen', '127.0.0.1:0', '--log'],
    { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let words = ''
  for (const output of [child.stdout, child.stderr])
    output?.on('data', (chunk: Buffer) => {
      words += String(chunk)
    })
  const ended = once(child, 'exit')
  const taken = (): readonly string[] => {
    const [, all = '[]', restoring = '[]'] = /.*"owned":(\[.*?\]),"restoring":(\[.*?\])/s.exec(words) ?? []
    const unread: readonly string[] = JSON.parse(restoring)
    const owned: readonly string[] = JSON.parse(all)
    return owned.filter((shard) => !unread.includes(shard))
  }
  return {
    name,
    kill: () => void child.kill('SIGKILL'),
    stop: async () => {
      child.kill('SIGTERM')
      await ended
      return child.exitCode
    },
    freeze: () => void child.kill('SIGSTOP'),
    wake: () => void child.kill('SIGCONT'),
    status: async (channel) => {
      const [, url] = /Serving (http:\S+?)\/healthz/.exec(words) ?? []
      if (url === undefined) return undefined
      try {
        const response = await fetch(`${url}/readyz/${channel}`, { signal: AbortSignal.timeout(1000) })
        return (await response.text()).split('\n')[0]
      } catch {
        return undefined
      }
    },
    owns: (place) => taken().includes(shardOf(place, createMirrors([]))),
    shards: () => taken().length,
    said: () => words,
  }
}
