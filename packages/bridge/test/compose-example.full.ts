import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
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
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let log = ''
  child.stdout.on('data', (bytes: Buffer) => {
    log += String(bytes)
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

/** Waits until one bridge works and the other one waits. Resolves with them in this order. */
async function onceSettled(one: Bridge, other: Bridge): Promise<readonly [Bridge, Bridge]> {
  const states = async (): Promise<readonly string[]> =>
    (await Promise.all([one, other].map(async ({ get }) => (await get('/readyz')).join(' ')))).toSorted()
  await expect.poll(states).toEqual(['200 ready\n', '503 standby\n'])
  return (await one.get('/readyz'))[0] === 200 ? [one, other] : [other, one]
}

describe.skipIf(!hasPostgres())(`the services of the example (${needsPostgres})`, () => {
  test('start together on an empty database, are both healthy, and take over after a kill, a stop and an outage', async () => {
    let [working, waiting] = await onceSettled(start(), start())
    expect([await working.get('/healthz'), await waiting.get('/healthz')]).toEqual([
      [200, 'ready\n'],
      [200, 'standby\n'],
    ])
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      working.child.kill(signal)
      const successor = waiting
      await expect.poll(() => successor.get('/readyz')).toEqual([200, 'ready\n'])
      const next = await onceSettled(successor, start())
      expect(next[0]).toBe(successor)
      ;[working, waiting] = next
    }
    await database.stop()
    for (const one of [working, waiting])
      await expect.poll(() => one.get('/readyz')).toEqual([503, expect.stringMatching(/^stalled\n.*can't be reached/)])
    expect([await working.get('/healthz'), await waiting.get('/healthz')]).toEqual([
      [200, 'stalled\n'],
      [200, 'stalled\n'],
    ])
    await database.start()
    const ended = [working, waiting].map(async ({ child }) => await once(child, 'exit'))
    const isReady = async (): Promise<boolean> =>
      (await Promise.all([working, waiting].map(({ get }) => get('/readyz')))).some(([status]) => status === 200)
    await expect.poll(isReady).toBe(true)
    // If the other one took over, the first one exits with 1, and Docker starts it again.
    const isOld = (await working.get('/readyz'))[0] === 200
    if (!isOld) expect((await Promise.race(ended))[0]).toBe(1)
    await onceSettled(isOld ? working : waiting, isOld ? waiting : start())
  })
})
