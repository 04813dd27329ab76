import { createServer, type RequestListener, type Server } from 'node:http'
import { createHandClock, until } from '@reply/testing'
import { createFakeBaileys, startWhatsApp } from '@reply/testing/whatsapp'
import { expect, test } from 'vitest'
import { runProgram } from '../../sink/test/readme-program.ts'
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

test("the README's second program hears people, also after the connection broke", async () => {
  const baileys = createFakeBaileys({ clock: createHandClock() })
  const logged = await runProgram({
    page: 'packages/whatsapp/README.md',
    nth: 2,
    modules: {
      '@reply/whatsapp': whatsappPackage,
      baileys: {
        makeWASocket: () => baileys.connect(),
        useMultiFileAuthState: async () => ({ state: {}, saveCreds: () => {} }),
      },
    },
    globals: { setTimeout: (run: () => void) => queueMicrotask(run) },
  })
  const jid = '491701234567@s.whatsapp.net'
  baileys.say(jid, 'Hi')
  await until(() => logged.length === 1)
  baileys.drop()
  await until(() => baileys.isConnected)
  baileys.say(jid, 'And now')
  await until(() => logged.length === 2)
  expect(logged).toMatchObject([{ text: 'Hi' }, { text: 'And now' }])
})
