// A Discord bot: a message or a mention is a prompt; buttons and dialogs answer questions, /help lists the commands.
//   DISCORD_TOKEN=… DISCORD_USERS=123,456 OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/discord.ts
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'

const { OPENCODE_URL: url = 'http://127.0.0.1:4096', DISCORD_USERS = '' } = process.env

const bridge = createBridge({
  config: parseConfig({
    servers: {
      home: { url, password: process.env.OPENCODE_SERVER_PASSWORD ? { env: 'OPENCODE_SERVER_PASSWORD' } : undefined },
    },
    channels: { chat: { type: 'discord', token: { env: 'DISCORD_TOKEN' } } },
    // These people can run commands on your computer; all others are told how to be added.
    people: { us: { ids: DISCORD_USERS.split(',').map((id) => `chat:${id}`), may: ['prompt', 'approve', 'admin'] } },
  }),
  // What must survive a restart: sessions, queues, what the chats show.
  store: await sqliteStore({ folder: './state/discord' }),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})

await bridge.start()
process.once('SIGINT', () => void bridge.stop())
