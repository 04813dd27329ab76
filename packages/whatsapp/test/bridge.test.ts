import { createServer } from 'node:http'
import { systemClock } from '@reply/core'
import { memoryStore } from '@reply/sink'
import { type BridgeStage, bridgeChannelContract, type SharedAccount } from '@reply/sink/testing'
import { createHandClock } from '@reply/testing'
import { startWhatsApp } from '@reply/testing/whatsapp'
import { expect, test, vi } from 'vitest'
import { createInFlight } from '../../sink/test/in-flight.ts'
import { bridgeChannel } from '../src/bridge.ts'
import { connectCloud } from '../src/cloud/connection.ts'
import { person, token, until } from './cloud.ts'

const verifyToken = 'a-verify-token'

/** A person's chat on the fake Cloud API, which posts to a server as a bridge has one. */
async function setup(): Promise<BridgeStage> {
  const whatsapp = await startWhatsApp({ token })
  const { url, phoneNumberId, appSecret } = whatsapp
  /** The processes behind a load balancer. */
  const webhooks: NonNullable<Awaited<ReturnType<typeof bridgeChannel.create>>['webhook']>[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = '', headers } = request
    const webhook = nextWebhook()
    const answer = await webhook?.take({ method, url: request.url, headers, body: Buffer.concat(chunks) })
    response.writeHead(answer?.status ?? 503).end(answer?.body?.text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = address !== null && typeof address === 'object' ? address.port : 0
  let isSet = false
  const ours = () => whatsapp.screen(person).filter(({ from }) => from === 'business')
  async function hook(): Promise<void> {
    if (!isSet) await whatsapp.setWebhook(`http://127.0.0.1:${port}/`, verifyToken)
    isSet = true
  }
  /** Returns the webhooks in turn, without those that take no requests, as a load balancer does. */
  function nextWebhook(): (typeof webhooks)[number] | undefined {
    const index = webhooks.findIndex(({ refuse }) => refuse({ method: 'POST', headers: {} })?.status !== 503)
    const [next] = index < 0 ? [] : webhooks.splice(index, 1)
    if (next) webhooks.push(next)
    return next
  }
  return {
    channel: {
      ...bridgeChannel,
      create: async (config, host) => {
        const connection = await bridgeChannel.create(bridgeChannel.schema.parse(config), host)
        if (connection.webhook) webhooks.push(connection.webhook)
        const start = async (): Promise<void> => {
          await connection.start()
          // Statuses confirm its posts. Without a webhook it waits 10 s for each.
          await hook()
        }
        return { ...connection, start }
      },
    },
    config: {
      type: 'whatsapp',
      api: 'cloud',
      phoneNumberId,
      apiUrl: url,
      token: { env: 'TOKEN' },
      appSecret: { env: 'APP' },
      verifyToken: { env: 'VERIFY' },
    },
    secret: (name) => (name === 'APP' ? appSecret : name === 'VERIFY' ? verifyToken : token),
    chat: { id: person, kind: 'private' },
    account: '+1 555-000-1111',
    writeText: async ({ text, replyTo, file }) => {
      await hook()
      whatsapp.say(person, text, { ...(replyTo && { replyTo: replyTo.id }), ...(file && { file }) })
    },
    press: async (label) => {
      await hook()
      whatsapp.press(person, ours().at(-1)?.id ?? '', label)
    },
    screen: () => ours().map(({ id, text, buttons }) => ({ id, text, buttons: buttons.map((one) => [one]) })),
    mentions: false,
    shareAccount,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await whatsapp.close()
    },
  }
}

/** A number of the fake Cloud API that several of the real clients use. */
async function shareAccount(): Promise<SharedAccount> {
  const clock = createHandClock()
  const whatsapp = await startWhatsApp({ token, clock })
  const { url: apiUrl, phoneNumberId, appSecret } = whatsapp
  const inFlight = createInFlight()
  const send = fetch
  const spy = vi
    .spyOn(globalThis, 'fetch')
    .mockImplementation(async (...request) => await inFlight.during(async () => await send(...request)))
  const config = { type: 'whatsapp', api: 'cloud', phoneNumberId, apiUrl } as const
  const secrets = { token: { env: 'TOKEN' }, appSecret: { env: 'APP' }, verifyToken: { env: 'VERIFY' } } as const
  const values: Readonly<Record<string, string>> = { TOKEN: token, APP: appSecret, VERIFY: verifyToken }
  return {
    clock,
    pass: async (ms) => await clock.advance(ms, inFlight.rest),
    connect: (host) =>
      connectCloud(
        { ...config, ...secrets },
        { ...host, secret: (source) => ('env' in source && values[source.env]) || '' },
      ),
    chats: Array.from({ length: 300 }, (_, index) => ({ id: String(Number(person) + 1000 + index), kind: 'private' })),
    budget: 'calls',
    arrivals: () => whatsapp.calls.map(({ at }) => at),
    refused: () => whatsapp.calls.filter(({ code, fault }) => code === 130429 || fault === 'rate-limited').length,
    refuseNext: () => whatsapp.inject({ type: 'rate-limited', code: 130429 }),
    close: async () => {
      spy.mockRestore()
      await whatsapp.close()
    },
  }
}

const skip = {
  'shows the typing notice': 'typing needs a message of the person, and the stage has none at first',
  'fills the menu of commands': 'WhatsApp has no menu that a call of the Cloud API for messages sets',
  'receives messages that were written while it was stopped': 'the fake repeats a request after minutes',
}

const clauses = bridgeChannelContract({ name: 'The Cloud API', setup, skip })
test.each(clauses.map((clause) => [clause.name, clause.run] as const))('%s', async (_, run) => await run())

async function opened() {
  const whatsapp = await startWhatsApp({ token })
  const { url, phoneNumberId, appSecret } = whatsapp
  const config = bridgeChannel.schema.parse({
    type: 'whatsapp',
    api: 'cloud',
    phoneNumberId,
    apiUrl: url,
    token: { env: 'TOKEN' },
    appSecret: { env: 'APP' },
    verifyToken: { env: 'VERIFY' },
  })
  const ignore = (): void => {}
  const connection = await bridgeChannel.create(config, {
    name: 'wa',
    store: memoryStore(),
    clock: systemClock,
    onError: ignore,
    onInbound: ignore,
    secret: (source) => ('env' in source && source.env === 'APP' ? appSecret : token),
  })
  return { whatsapp, connection, appSecret }
}

test('typing shows below the newest message of the person', async () => {
  const { whatsapp, connection } = await opened()
  const chat = { id: person, kind: 'private' } as const
  await connection.start()
  await connection.typing(chat)
  expect(whatsapp.typing(person)).toBe(false)
  const id = whatsapp.say(person, 'Hi')
  const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: whatsapp.phoneNumberId } }
  const at = String(Math.floor(systemClock.now() / 1000))
  const messages = [{ from: person, id, timestamp: at, type: 'text', text: { body: 'Hi' } }]
  const change = { field: 'messages', value: { ...value, messages } }
  const body = Buffer.from(
    JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id: '1', changes: [change] }] }),
  )
  const headers = { 'x-hub-signature-256': whatsapp.sign(body) }
  expect(await connection.webhook?.take({ method: 'POST', url: '/', headers, body })).toEqual({ status: 200 })
  await connection.typing(chat)
  await until(() => whatsapp.typing(person))
  await connection.stop()
  expect(await connection.webhook?.take({ method: 'POST', url: '/', headers, body })).toEqual({ status: 503 })
  await whatsapp.close()
})

test('a link opens the chat with the number, once that is known', async () => {
  const { whatsapp, connection } = await opened()
  const link = () => connection.linkTo?.({ id: person, kind: 'private' }, { id: 'wamid.1' })
  expect(link()).toBeUndefined()
  await connection.check()
  expect(link()).toBe('https://wa.me/15550001111')
  await whatsapp.close()
})

test('a file that WhatsApp withholds is refused without a call', async () => {
  const { whatsapp, connection } = await opened()
  const file = { ref: 'withheld', name: 'animation.gif', mime: 'image/gif' }
  await expect(connection.download(file, { maxBytes: 9 })).rejects.toMatchObject({
    type: 'refused',
    message: "file animation.gif: WhatsApp doesn't give it to businesses. Send it as a document.",
  })
  expect(whatsapp.calls).toEqual([])
  await whatsapp.close()
})
