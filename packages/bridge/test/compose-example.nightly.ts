import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { hasPostgres, needsPostgres, type PostgresServer, startPostgres } from '@reply/testing/internal'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import * as z from 'zod'

const fileOf = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
const textOf = (name: string): string => readFileSync(fileOf(name), 'utf8')

/** The command of the image. Its program is that of this repository, and it listens on a free port. */
const [, ...args] = z
  .array(z.string())
  .parse(JSON.parse(/^CMD (.*)$/m.exec(textOf('packages/bridge/Dockerfile'))?.[1] ?? ''))
const { environment } = z
  .looseObject({ 'x-bridge': z.looseObject({ environment: z.record(z.string(), z.string()) }) })
  .parse(parse(textOf('packages/postgres/example/compose.yaml')))['x-bridge']

let database: PostgresServer
let telegram: FakeTelegram
let folder = ''
let bridges: Bridge[] = []
/** What Node says beside the log, for example of listeners that are never removed. */
let warnings = ''

beforeAll(async () => {
  if (!hasPostgres()) return
  telegram = await startTelegram({ token: '42:secret', chats: [{ id: 1, type: 'private', title: 'Ann' }] })
  database = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'reply-compose-'))
  const config = JSON.parse(textOf('packages/postgres/example/reply.json'))
  // Its server is not needed, and must not be one that happens to run here.
  config.servers.home.url = 'http://127.0.0.1:1'
  config.channels.tg.apiRoot = telegram.url
  writeFileSync(join(folder, 'reply.json'), JSON.stringify(config))
})
afterAll(async () => {
  for (const { child } of bridges) child.kill('SIGKILL')
  bridges = []
  await telegram?.close()
  await database?.remove()
  if (folder) rmSync(folder, { recursive: true })
})

/** A service of the example as a process. */
interface Bridge {
  readonly child: ChildProcess
  readonly get: (path: string) => Promise<readonly [number, string]>
}

/** Starts a bridge as the image does, with the environment that compose gives it. */
function start(): Bridge {
  const values: Readonly<Record<string, string>> = { TELEGRAM_TOKEN: '42:secret', OPENCODE_SERVER_PASSWORD: 'hunter22' }
  const env = Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+):\?[^}]*\}/g, (_, variable) => values[variable] ?? ''),
    ]),
  )
  const command = args.map((one) =>
    one.replace(/^node_modules\/@reply\/(.*)$/, (_, path) => fileOf(`packages/${path}`)).replace(/:9464$/, ':0'),
  )
  const child = spawn(process.execPath, command, {
    cwd: folder,
    env: { ...env, DATABASE_URL: database.url, PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  child.stdout.on('data', (bytes: Buffer) => {
    log += String(bytes)
  })
  child.stderr.on('data', (bytes: Buffer) => {
    warnings += String(bytes)
  })
  const get: Bridge['get'] = async (path) => {
    const port = /Serving http:\/\/0\.0\.0\.0:(\d+)/.exec(log)?.[1]
    const response =
      port === undefined ? undefined : await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
    return response ? [response.status, await response.text()] : [0, '']
  }
  bridges.push({ child, get })
  return { child, get }
}

const ready = [200, 'ready\n'] as const

/** Waits until all bridges work and one of them polls. Resolves with that one first. */
async function onceReady(all: readonly Bridge[]): Promise<readonly [Bridge, ...Bridge[]]> {
  const statuses = async (path: string): Promise<readonly string[]> =>
    (await Promise.all(all.map(async ({ get }) => (await get(path)).join(' ')))).toSorted()
  await expect.poll(() => statuses('/readyz')).toEqual(all.map(() => ready.join(' ')))
  const others = Array.from({ length: all.length - 1 }, () => '200 elsewhere\n')
  await expect.poll(() => statuses('/readyz/tg')).toEqual([...others, '200 receiving\n'])
  const names = await Promise.all(all.map(async ({ get }) => (await get('/readyz/tg'))[1]))
  const [first, ...rest] = all.toSorted(
    (one, other) => names[all.indexOf(other)]?.localeCompare(names[all.indexOf(one)] ?? '') ?? 0,
  )
  if (!first) throw new Error('There are no bridges.')
  return [first, ...rest]
}

/** The sum of a metric over bridges. */
async function sumOf(all: readonly Bridge[], name: string): Promise<number> {
  const texts = await Promise.all(all.map(({ get }) => get('/metrics')))
  return texts.reduce((sum, [, text]) => sum + Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]), 0)
}

describe.skipIf(!hasPostgres())(`the services of the example (${needsPostgres})`, () => {
  test('start together on an empty database, share the chats, and go on after a kill, a stop and an outage', async () => {
    let all = await onceReady([start(), start(), start()])
    await expect.poll(() => sumOf(all, 'reply_bridge_shards')).toBe(64)
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const [polling, ...others] = all
      polling.child.kill(signal)
      if (signal === 'SIGTERM') await expect.poll(async () => (await polling.get('/readyz'))[0]).not.toBe(200)
      await onceReady(others)
      await expect.poll(() => sumOf(others, 'reply_bridge_shards')).toBe(64)
      expect(await sumOf(others, 'reply_bridge_takeovers_total')).toBeGreaterThan(0)
      all = await onceReady([...others, start()])
    }
    await database.stop()
    for (const one of all)
      await expect.poll(() => one.get('/readyz')).toEqual([503, expect.stringMatching(/^stalled\n.*can't be reached/)])
    for (const one of all) expect(await one.get('/healthz')).toEqual([200, 'stalled\n'])
    expect(await sumOf(all, 'reply_bridge_shards')).toBe(0)
    await database.start()
    await onceReady(all)
    await expect.poll(() => sumOf(all, 'reply_bridge_shards')).toBe(64)
    expect(all.map(({ child }) => child.exitCode)).toEqual([null, null, null])
    expect(warnings).toBe('')
  })
})
