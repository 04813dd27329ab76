import { createServer, type RequestListener, type Server } from 'node:http'
import { createHandClock, until } from '@reply/testing'
import { createFakeBaileys, startWhatsApp } from '@reply/testing/whatsapp'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
import type { BaileysSocket } from '../src/index.ts'
import * as whatsappPackage from '../src/index.ts'

test("the page's first program posts the answer before it ends", async () => {
  const whatsapp = await startWhatsApp({ token: 'readme', phoneNumberId: '1' })
  whatsapp.say('491701234567', 'Hi')
  const { createCloudClient } = whatsappPackage
  const local = {
    ...whatsappPackage,
    createCloudClient: (options: Parameters<typeof createCloudClient>[0]) =>
      createCloudClient({ ...options, apiUrl: whatsapp.url }),
  }
  const logged = await runProgram({
    page: 'docs/whatsapp.md',
    modules: { '@reply/whatsapp': local },
    env: { WHATSAPP_TOKEN: 'readme', WHATSAPP_PHONE_NUMBER_ID: '1' },
  })
  expect(whatsapp.screen('491701234567').at(-1)).toMatchObject({ text: 'It is a typo.' })
  expect(logged).toMatchObject([{ shown: 1, undelivered: [], doubtful: 0 }])
  await whatsapp.close()
})

const secrets = { appSecret: 'an-app-secret', verifyToken: 'a-verify-token' }

test("the README's first program answers a person", async () => {
  const whatsapp = await startWhatsApp({ token: 'readme', phoneNumberId: '1', appSecret: secrets.appSecret })
  const { createCloudClient } = whatsappPackage
  const local = {
    ...whatsappPackage,
    createCloudClient: (options: Parameters<typeof createCloudClient>[0]) =>
      createCloudClient({ ...options, apiUrl: whatsapp.url }),
  }
  const servers: Server[] = []
  const http = {
    createServer: (listener: RequestListener) => {
      const server = createServer(listener)
      servers.push(server)
      // The port of the README may be taken.
      return { listen: () => server.listen(0, '127.0.0.1') }
    },
  }
  const ends: (() => unknown)[] = []
  await runProgram({
    page: 'packages/whatsapp/README.md',
    ends,
    modules: { '@reply/whatsapp': local, 'node:http': http },
    env: {
      WHATSAPP_TOKEN: 'readme',
      WHATSAPP_PHONE_NUMBER_ID: '1',
      WHATSAPP_APP_SECRET: secrets.appSecret,
      WHATSAPP_VERIFY_TOKEN: secrets.verifyToken,
    },
  })
  const [server] = servers
  await until(() => server?.listening === true)
  const address = server?.address()
  const port = typeof address === 'object' ? address?.port : undefined
  await whatsapp.setWebhook(`http://127.0.0.1:${port}/`, secrets.verifyToken)
  whatsapp.say('491701234567', 'What is it?')
  await until(() => whatsapp.screen('491701234567').some(({ from }) => from === 'business'))
  expect(whatsapp.screen('491701234567').at(-1)).toMatchObject({ text: 'It is a typo.' })
  server?.closeAllConnections()
  for (const end of ends) await end()
  await whatsapp.close()
})

type Update = Parameters<BaileysSocket['ev']['on']>[1]

/** Runs the README's second program. `sent` emits an update of the newest socket's connection. */
async function runLinked() {
  const baileys = createFakeBaileys({ clock: createHandClock() })
  let sockets = 0
  let listeners: Update[] = []
  const makeWASocket = () => {
    sockets += 1
    const socket = baileys.connect()
    listeners = []
    const on: typeof socket.ev.on = (event, listener) => {
      if (event === 'connection.update') listeners.push(listener as Update)
      socket.ev.on(event, listener)
    }
    return { ...socket, ev: { on, off: socket.ev.off }, requestPairingCode: async () => 'ABCD-EFGH' }
  }
  const logged = await runProgram({
    page: 'packages/whatsapp/README.md',
    nth: 2,
    modules: {
      '@reply/whatsapp': whatsappPackage,
      baileys: {
        makeWASocket,
        useMultiFileAuthState: async () => ({ state: {}, saveCreds: () => {} }),
        DisconnectReason: { loggedOut: 401 },
      },
    },
    globals: { setTimeout: (run: () => void) => queueMicrotask(run) },
  })
  const sent = (update: object): void => {
    for (const listener of listeners) listener(update as never)
  }
  return { baileys, logged, sent, sockets: () => sockets }
}

test("the README's second program receives messages, also after the connection broke", async () => {
  const { baileys, logged } = await runLinked()
  const jid = '491701234567@s.whatsapp.net'
  baileys.say(jid, 'Hi')
  await until(() => logged.length === 1)
  baileys.drop()
  await until(() => baileys.isConnected)
  baileys.say(jid, 'And now')
  await until(() => logged.length === 2)
  expect(logged).toMatchObject([{ text: 'Hi' }, { text: 'And now' }])
})

test("the README's second program prints the pairing code, and doesn't reconnect after a logout", async () => {
  const { logged, sent, sockets } = await runLinked()
  sent({ qr: 'a picture' })
  await until(() => logged.length === 1)
  sent({ connection: 'close', lastDisconnect: { error: Object.assign(new Error(), { output: { statusCode: 401 } }) } })
  await Promise.resolve()
  expect(logged).toEqual(['Enter ABCD-EFGH on your phone', expect.stringContaining('Logged out: delete')])
  expect(sockets()).toBe(1)
})
