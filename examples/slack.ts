// A Slack app in Socket Mode: a mention is a prompt, its thread a session; buttons and dialogs answer questions.
//   SLACK_BOT_TOKEN=xoxb-… SLACK_APP_TOKEN=xapp-… SLACK_USERS=U123,U456 OPENCODE_URL=http://127.0.0.1:4096 npx tsx examples/slack.ts
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'

const { OPENCODE_URL: url = 'http://127.0.0.1:4096', SLACK_USERS = '' } = process.env

const bridge = createBridge({
  config: parseConfig({
    servers: {
      home: { url, password: process.env.OPENCODE_SERVER_PASSWORD ? { env: 'OPENCODE_SERVER_PASSWORD' } : undefined },
    },
    channels: { chat: { type: 'slack', token: { env: 'SLACK_BOT_TOKEN' }, appToken: { env: 'SLACK_APP_TOKEN' } } },
    // These people can run commands on your computer; all others are told how to be added.
    people: { us: { ids: SLACK_USERS.split(',').map((id) => `chat:${id}`), may: ['prompt', 'approve', 'admin'] } },
  }),
  // What must survive a restart: sessions, queues, what the chats show.
  store: await sqliteStore({ folder: './state/slack' }),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})

await bridge.start()
process.once('SIGINT', () => void bridge.stop())
