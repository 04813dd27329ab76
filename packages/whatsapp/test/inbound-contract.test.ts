import { type InboundFault, type InboundStage, inboundContract } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { type CloudFault, createFakeBaileys, type SocketFault, startWhatsApp } from '@reply/testing/whatsapp'
import { describe, test } from 'vitest'
import { createArrivals } from '../../sink/test/arrivals.ts'
import { createInFlight, stalledIn } from '../../sink/test/in-flight.ts'
import { listen as serve } from '../../testing/test/listen.ts'
import { baileysChannel, createCloudClient, whatsappChannel } from '../src/index.ts'
import { person, token } from './cloud.ts'

const cloudFaults: Readonly<Partial<Record<InboundFault, CloudFault>>> = {
  'rate-limited': { type: 'rate-limited', code: 130429 },
  stalled: { type: 'stall' },
}

/** A number with a webhook on the fake Cloud API, with the real client. */
async function cloudStage(): Promise<InboundStage> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock })
  const inFlight = createInFlight(() => stalledIn(whatsapp.calls))
  const counting: typeof fetch = async (input, init) => await inFlight.during(() => fetch(input, init))
  const { url: apiUrl, phoneNumberId, appSecret } = whatsapp
  const client = createCloudClient({ token, phoneNumberId, apiUrl, fetch: counting })
  const { host, listen, next } = createArrivals()
  const channel = whatsappChannel({ client, clock, appSecret, verifyToken: 'a-verify-token', ...host })
  const hook = await serve(channel.listener)
  await whatsapp.setWebhook(`${hook.url}/`, 'a-verify-token')
  return {
    clock,
    listen,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    writeText: async () => await next(() => whatsapp.say(person, 'Purple')),
    faults: ['rate-limited', 'stalled'],
    limitMs: 5000,
    failNext: (fault) => {
      const planned = cloudFaults[fault]
      if (planned) whatsapp.inject({ ...planned, kind: 'text' })
    },
    calls: () => whatsapp.calls.filter(({ kind }) => kind === 'text').map(({ at }) => at),
    sink: () => channel.sinkFor({ chat: { id: person } }),
    close: async () => {
      await channel.stop()
      hook.stop()
      await whatsapp.close()
    },
  }
}

const jid = '4917000000002@s.whatsapp.net'
const socketFaults: Readonly<Partial<Record<InboundFault, SocketFault>>> = {
  'rate-limited': { type: 'refused', statusCode: 429 },
  stalled: { type: 'stall' },
}

/** A linked device on the fake Baileys. */
async function baileysStage(): Promise<InboundStage> {
  const clock = createHandClock()
  const baileys = createFakeBaileys({ clock })
  const { host, listen, next } = createArrivals()
  const channel = baileysChannel({ clock, ...host })
  const socket = baileys.connect()
  channel.setSocket(socket)
  return {
    clock,
    listen,
    pass: async (ms) => await clock.advance(ms, createInFlight().rest),
    writeText: async () => await next(() => baileys.say(jid, 'Purple')),
    faults: ['rate-limited', 'stalled'],
    limitMs: 30_000,
    failNext: (fault) => {
      const planned = socketFaults[fault]
      if (planned) baileys.inject({ ...planned, kind: 'text' })
    },
    calls: () => baileys.calls.filter(({ kind }) => kind === 'text').map(({ at }) => at),
    sink: () => channel.sinkFor({ chat: { id: jid } }),
    close: async () => await channel.stop(),
  }
}

const noNotices = 'a press has no notice: its answer is a message, like that to a text'
const noLongLimits = 'WhatsApp names no time, and the channel waits less than a minute'
const skip = {
  'sends the answer to a press again when a rate limit is over': noNotices,
  'drops the answer to a press that would come too late': noNotices,
  'gives up an answer to a press that has no response in time': noNotices,
  "leaves the answer to a button of the host's own to the host": noNotices,
  'drops the answer to a text that would come too late': noLongLimits,
}

describe.each([
  ['the Cloud API', cloudStage],
  ['Baileys', baileysStage],
])('%s', (name, setup) => {
  const clauses = inboundContract({ name, setup, skip })
  test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())
})
