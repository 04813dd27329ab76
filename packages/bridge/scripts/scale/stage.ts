import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { postgresStore } from '@reply/postgres'
import { callTool, launchOpencode, type Script, type ScriptedModel, sayText, startModel } from '@reply/testing'
import { type PostgresServer, seededRandom, startPostgres } from '@reply/testing/internal'
import { type FakeSlack, startSlack } from '@reply/testing/slack'
import { type FakeTelegram, startTelegram } from '@reply/testing/telegram'
import { shardCount } from '../../src/state/shard-of.ts'
import { type Doubts, doubtsByChat } from '../../test/doubts.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Chat, createChats } from './chats.ts'
import { type Member, startMember } from './member.ts'
import { type ScriptedServer, startScriptedServer } from './scripted-server.ts'
import { endingOf } from './task.ts'

/** How large a stage is. */
export interface StageSize {
  readonly chats: number
  readonly seed: number
  /** The path of the `reply` command of each member. */
  readonly commands: readonly string[]
}

/** Bridges behind a load balancer on one state, two fake platforms in front of them, and two servers behind them. */
export interface Stage {
  /** Where the logs are. */
  readonly folder: string
  readonly random: () => number
  readonly members: readonly Member[]
  readonly balancer: Balancer
  readonly postgres: PostgresServer
  readonly telegram: FakeTelegram
  readonly slack: FakeSlack
  readonly server: ScriptedServer
  /** What the real server asks. */
  readonly model: ScriptedModel
  readonly chats: readonly Chat[]
  /** Prepares the real server's answer for a prompt with `[scenario:token]`. */
  prepareReal(token: string): void
  /** Ends the members, and resolves with how many posts have a result that is not known, by `Chat.key`. */
  endMembers(): Promise<ReadonlyMap<string, Doubts>>
  /** Writes what the platforms and the balancer saw beside the logs of the members. */
  writeLogs(): void
  /** Ends everything. Removes the logs unless they are to be kept. */
  close(isKept: boolean): Promise<void>
}

const token = '42:secret'
const secretToken = 'webhook-secret'
/** How many chats use the real server. It takes as much time as a hundred others. */
const realChats = 5
/** How long it may take until every member says that it is ready, or stands by. */
const startMs = 120_000

/** Starts everything. Resolves when every member is ready, and owns its part of the shards. */
export async function startStage({ commands, chats: chatCount, seed }: StageSize): Promise<Stage> {
  const random = seededRandom(seed)
  const folder = mkdtempSync(join(tmpdir(), 'reply-scale-'))
  const scripts: Record<string, Script> = {}
  const model = await startModel({ scripts })
  const [real, postgres, telegram, slack, server] = await Promise.all([
    launchOpencode({ model, config: { permission: { bash: 'allow' }, extra: { snapshot: false } } }),
    startPostgres({ settings: { max_connections: '200' } }),
    startTelegram({ token }),
    startSlack(),
    startScriptedServer(),
  ])
  const url = await postgres.createDatabase()
  const chats = createChats({ telegram, slack }, { all: chatCount, real: Math.min(realChats, chatCount) })
  mkdirSync(join(folder, 'logs'))
  const env = {
    ...{ TELEGRAM_TOKEN: token, TELEGRAM_SECRET: secretToken, DATABASE_URL: url },
    ...{ SLACK_TOKEN: slack.token, SLACK_SECRET: slack.signingSecret },
  }
  const members = commands.map((command, index) => {
    const name = `member${index}`
    const config = join(folder, `${name}.json`)
    writeFileSync(config, JSON.stringify(configOf(name)))
    return startMember({ name, command, config, env, log: join(folder, 'logs', `${name}.log`) })
  })
  const balancer = await startBalancer(members, random)
  const stage = { folder, random, members, balancer, postgres, telegram, slack, server, model, chats }
  try {
    await untilReady(members)
    await untilShared(members)
    await setWebhooks()
  } catch (error) {
    await close(true)
    throw error
  }
  return { ...stage, prepareReal, endMembers, writeLogs, close }

  /** Each member has an address of its own for Telegram, so that its calls can be told from those of the others. */
  function configOf(member: string): object {
    return {
      servers: {
        load: { url: server.url, directory: server.directory },
        real: { url: real.url, directory: real.directory },
      },
      channels: {
        tg: {
          ...{ type: 'telegram', token: { env: 'TELEGRAM_TOKEN' }, apiRoot: `${telegram.url}/${member}` },
          ...{ updates: 'webhook', secretToken: { env: 'TELEGRAM_SECRET' } },
        },
        slack: {
          ...{ type: 'slack', token: { env: 'SLACK_TOKEN' }, apiUrl: slack.url },
          ...{ events: 'http', signingSecret: { env: 'SLACK_SECRET' } },
        },
      },
      people: Object.fromEntries(
        chats.map(({ person }) => [person.replace(':', '-'), { ids: [person], may: ['prompt', 'approve'] }]),
      ),
      routes: {
        ...Object.fromEntries(chats.flatMap(({ isReal, person }) => (isReal ? [[person, 'real']] : []))),
        '*': 'load',
      },
      router: { messagesPerMinute: 1000, backlog: 'all' },
      state: { type: 'postgres', url: { env: 'DATABASE_URL' } },
    }
  }

  /** Points the platforms at the balancer. */
  async function setWebhooks(): Promise<void> {
    const response = await fetch(`${telegram.url}/bot${token}/setWebhook`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url: `${balancer.url}/webhooks/tg`, secret_token: secretToken }),
    })
    if (!response.ok) throw new Error(`Telegram refused the webhook: ${await response.text()}`)
    slack.sendTo(`${balancer.url}/webhooks/slack`)
  }

  function prepareReal(name: string): void {
    const bash = callTool('bash', { command: 'sleep 0.5', description: 'Work' })
    scripts[name] = { steps: [[sayText(`Beginning of ${name}.`, 4), bash], [sayText(endingOf(name), 3)]] }
  }

  async function endMembers(): Promise<ReadonlyMap<string, Doubts>> {
    await Promise.all(members.map((member) => member.end()))
    const store = await postgresStore({ url })
    try {
      return await doubtsByChat(store)
    } finally {
      await store.close()
    }
  }

  function writeLogs(): void {
    const lists = {
      telegram: telegram.calls,
      slack: slack.calls,
      deliveries: balancer.deliveries,
      tasks: server.tasks,
      answers: server.answers,
      aborts: server.aborts,
    }
    for (const [name, list] of Object.entries(lists))
      writeFileSync(join(folder, 'logs', `${name}.jsonl`), list.map((one) => `${JSON.stringify(one)}\n`).join(''))
  }

  async function close(isKept: boolean): Promise<void> {
    await Promise.all(members.map((member) => member.end()))
    await Promise.all([balancer.close(), telegram.close(), slack.close(), server.close(), real.stop()])
    await model.close()
    await postgres.remove()
    if (!isKept) rmSync(folder, { recursive: true, force: true })
  }
}

/** Resolves when every member is ready or stands by, and one is ready. Rejects after a minute. */
export async function untilReady(members: readonly Member[]): Promise<void> {
  const until = Date.now() + startMs
  for (;;) {
    const states = await Promise.all(members.map((member) => member.state()))
    const isUp = states.every((state) => state === 'ready' || state === 'standby')
    if (isUp && states.includes('ready')) return
    if (Date.now() > until) throw new Error(`The members are not ready after ${startMs} ms: ${states.join(', ')}.`)
    await pause(50)
  }
}

/**
 * Resolves when the members take the messages of all shards, and none of more than its part: until then, each that joined takes some.
 * Rejects after `mostMs`.
 */
export async function untilShared(members: readonly Pick<Member, 'taking'>[], mostMs = startMs): Promise<void> {
  const until = Date.now() + mostMs
  const most = Math.ceil(shardCount / members.length)
  for (;;) {
    const owned = members.map((member) => member.taking().length)
    if (owned.every((count) => count <= most) && owned.reduce((sum, count) => sum + count, 0) === shardCount) return
    if (Date.now() > until) {
      const counts = owned.join(', ')
      throw new Error(
        `The members have ${counts} shards after ${mostMs} ms. Each is to have at most ${most}, and all ${shardCount}.`,
      )
    }
    await pause(50)
  }
}
