import { type InboundFault, type InboundStage, inboundContract } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type SlackFault, startSlack } from '@reply/testing/slack'
import { test } from 'vitest'
import { createArrivals } from '../../sink/test/arrivals.ts'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { type SlackApi, slackChannel } from '../src/index.ts'
import { clientOf, signingSecret, socketOf, token, until } from './app.ts'

const faults: Readonly<Record<InboundFault, SlackFault>> = {
  'rate-limited': { type: 'rate-limited', retryAfterS: 3 },
  'limited-too-long': { type: 'rate-limited', retryAfterS: 600 },
  stalled: { type: 'stall' },
}

/** An app on a socket of the fake Slack, with the real clients. */
async function setup(): Promise<InboundStage> {
  const clock = createHandClock()
  const slack = await startSlack({ token, appToken: 'xapp-very-secret', signingSecret, clock })
  const client = clientOf(slack)
  const inFlight = createInFlight(() => stalledIn(slack.calls))
  const api: SlackApi = {
    apiCall: async (method, options) => await inFlight.during(() => client.apiCall(method, options)),
  }
  const text = { type: 'plain_text', text: 'Yes' } as const
  const button = { type: 'button', action_id: 'reply.button.0.0', text, value: 'tok' } as const
  const own = { ...button, action_id: 'own', text: { ...text, text: 'Own' } } as const
  const { ts = '' } = await client.chat.postMessage({
    channel: 'D1',
    text: '?',
    blocks: [{ type: 'actions', elements: [button, own] }],
  })
  const begun = slack.calls.length
  const { host, listen, next } = createArrivals()
  const channel = slackChannel({ api, clock, events: 'socket', socket: socketOf(slack), ...host })
  channel.start()
  await until(() => slack.sockets === 1)
  return {
    clock,
    listen,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    writeText: async () => await next(() => slack.say('D1', 'Purple')),
    press: async () => await next(() => slack.press('D1', ts, 'Yes')),
    pressOwn: async () => await next(() => slack.press('D1', ts, 'Own')),
    faults: ['rate-limited', 'limited-too-long', 'stalled'],
    limitMs: 3000,
    failNext: (fault) => slack.inject({ ...faults[fault], method: /^chat\.post/ }),
    calls: () =>
      slack.calls
        .slice(begun)
        .filter(({ method }) => method.startsWith('chat.'))
        .map(({ at }) => at),
    sink: () => channel.sinkFor({ chat: { id: 'D1' } }),
    close: async () => {
      await channel.stop()
      await slack.close()
    },
  }
}

const clauses = inboundContract({ name: 'Slack', setup })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
