// A linked device of a WhatsApp account: log in with the pairing code that it prints; asks are answered by number.
//   WHATSAPP_NUMBER=491701234567 WHATSAPP_USERS=4917…@s.whatsapp.net OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/baileys.ts
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'

const { OPENCODE_URL: url = 'http://127.0.0.1:4096', WHATSAPP_USERS = '' } = process.env

const bridge = createBridge({
  config: parseConfig({
    servers: {
      home: { url, password: process.env.OPENCODE_SERVER_PASSWORD ? { env: 'OPENCODE_SERVER_PASSWORD' } : undefined },
    },
    channels: {
      chat: { type: 'whatsapp', api: 'baileys', auth: './state/login', number: process.env.WHATSAPP_NUMBER },
    },
    // These people can run commands on your computer; all others are told how to be added.
    people: { us: { ids: WHATSAPP_USERS.split(',').map((id) => `chat:${id}`), may: ['prompt', 'approve', 'admin'] } },
  }),
  // What must survive a restart: sessions, queues, what the chats show.
  store: await sqliteStore({ folder: './state/baileys' }),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})

await bridge.start()
process.once('SIGINT', () => void bridge.stop())
