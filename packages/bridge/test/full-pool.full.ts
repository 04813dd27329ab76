import { createHmac } from 'node:crypto'
import { postgresStore } from '@reply/postgres'
import { hasPostgres, needsPostgres, sharedPostgres } from '@reply/testing/internal'
import { startSlack } from '@reply/testing/slack'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { type Chats, startChats } from './chats.ts'
import { answer, localAgent } from './local-agent.ts'
import { type Platform, slackOn } from './platforms.ts'

/** How many actions a bridge receives at the same time. */
const most = 500
const messages = Array.from({ length: most + 100 }, (_, index) => `Message ${index}.`)
/** How long a bridge waits until a message is stored, in ms. */
const holdMs = 2000

/** When the messages were written, in seconds since the epoch. */
const begunS = Math.floor(Date.now() / 1000)

let chats: Chats | undefined
let other: pg.Client | undefined
afterEach(async () => {
  await other?.end()
  await chats?.close()
})

/** How a webhook was answered, and how long that took. */
interface Answered {
  readonly status: number
  readonly ms: number
}

test.skipIf(!hasPostgres())(
  `webhooks beyond those that a bridge can receive at once get a 503, and each message is handled once when it is repeated (${needsPostgres})`,
  async () => {
    const slack = await startSlack()
    const { entry, secrets, ...platform } = slackOn(slack)
    const webhook: Platform = {
      ...platform,
      entry: { ...entry, appToken: undefined, events: 'http', signingSecret: { env: 'SECRET' } },
      secrets: { ...secrets, SECRET: slack.signingSecret },
      ready: async () => {},
    }
    const agent = localAgent((run) => answer(run, ''))
    chats = await startChats({ platforms: [webhook], connectTo: agent.connectTo })
    const url = await (await sharedPostgres()).createDatabase()
    const store = await postgresStore({ url })
    await chats.start({
      storeOf: () => store,
      router: { messagesPerMinute: messages.length, progress: { enabled: false } },
    })
    const address = `${chats.url}/webhooks/slack`
    const isLeft = new Set(messages)
    /** Sends messages. Slack does that again after a while if one is not taken, or its connection fails (status 0). */
    const send = async (texts: readonly string[]): Promise<readonly Answered[]> => {
      const sent = texts.map(async (text) => {
        const sentAt = performance.now()
        const { status } = await fetch(address, requestOf(text, slack.signingSecret)).catch(() => ({ status: 0 }))
        if (status === 200) isLeft.delete(text)
        return { status, ms: performance.now() - sentAt }
      })
      return await Promise.all(sent)
    }

    other = new pg.Client({ connectionString: url })
    await other.connect()
    // Leases are renewed meanwhile.
    await other.query('BEGIN; LOCK TABLE reply.queued IN ACCESS EXCLUSIVE MODE')
    const held = await send(messages.slice(0, most))
    // Those before may still be stored, so one more is not even tried.
    const refused = await send(messages.slice(most))
    expect(new Set([...held, ...refused].map(({ status }) => status))).toEqual(new Set([503]))
    expect(Math.min(...refused.map(({ ms }) => ms))).toBeLessThan(holdMs)
    expect(agent.heard).toEqual([])

    await other.query('COMMIT')
    while (isLeft.size > 0) await send([...isLeft])
    await expect.poll(() => agent.heard.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(messages.length)
    await chats.stop()
    expect(agent.heard.toSorted()).toEqual(messages.toSorted())
  },
  150_000,
)

/** Returns the request with which Slack sends a message of a chat. https://docs.slack.dev/apis/events-api/using-http-request-urls */
function requestOf(text: string, signingSecret: string): RequestInit {
  const number = messages.indexOf(text)
  const event = {
    ...{ type: 'message', channel: `D${number}`, channel_type: 'im', user: 'U1', text },
    ts: `${begunS}.${String(number).padStart(6, '0')}`,
  }
  const body = JSON.stringify({
    type: 'event_callback',
    team_id: 'T1',
    api_app_id: 'A1',
    event_id: `Ev${number}`,
    event,
  })
  const time = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', signingSecret).update(`v0:${time}:${body}`).digest('hex')
  const headers = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }
  return { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' } }
}
