// WhatsApp through the Cloud API: a message is a prompt, buttons or texts answer questions, /help lists the commands.
//   WHATSAPP_TOKEN=… WHATSAPP_PHONE_NUMBER_ID=… WHATSAPP_APP_SECRET=… WHATSAPP_VERIFY_TOKEN=… WHATSAPP_USERS=491701234567 \
//   OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/whatsapp.ts
// Meta has to reach it: give the app's webhook the public address of port 8080 (PORT).
import { createServer } from 'node:http'
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'

const { OPENCODE_URL: url = 'http://127.0.0.1:4096', WHATSAPP_USERS = '', PORT = '8080' } = process.env

const bridge = createBridge({
  config: parseConfig({
    servers: {
      home: { url, password: process.env.OPENCODE_SERVER_PASSWORD ? { env: 'OPENCODE_SERVER_PASSWORD' } : undefined },
    },
    channels: {
      chat: {
        type: 'whatsapp',
        api: 'cloud',
        token: { env: 'WHATSAPP_TOKEN' },
        phoneNumberId: process.env.WHATSAPP_PHONE_NUMBER_ID,
        appSecret: { env: 'WHATSAPP_APP_SECRET' },
        verifyToken: { env: 'WHATSAPP_VERIFY_TOKEN' },
      },
    },
    // These people can run commands on your computer; all others are told how to be added.
    people: { us: { ids: WHATSAPP_USERS.split(',').map((id) => `chat:${id}`), may: ['prompt', 'approve', 'admin'] } },
  }),
  // What must survive a restart: sessions, queues, what the chats show.
  store: await sqliteStore({ folder: './state/whatsapp' }),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})

await bridge.start()
const server = createServer(bridge.listener('chat')).listen(Number(PORT))
process.once('SIGINT', () => {
  server.close()
  void bridge.stop()
})
