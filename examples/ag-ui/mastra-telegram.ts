// A Mastra agent in Telegram: messages are prompts, and buttons approve what its tools suspend for. LangGraph, CrewAI, Pydantic AI and
// TanStack AI work the same way. Start the agent with its AG-UI endpoint first, for example with @ag-ui/mastra.
//   TELEGRAM_TOKEN=… TELEGRAM_USERS=123,456 AG_UI_URL=http://127.0.0.1:4111/ag-ui npx tsx examples/ag-ui/mastra-telegram.ts
import { createBridge, parseConfig, sqliteStore } from '@reply/bridge'

const { AG_UI_URL: url = 'http://127.0.0.1:4111/ag-ui', TELEGRAM_USERS = '' } = process.env

const bridge = createBridge({
  config: parseConfig({
    servers: {
      // The token is sent as `authorization: Bearer …`. Only an agent on this computer may do without one.
      mastra: { agent: 'ag-ui', url, token: process.env.AG_UI_TOKEN ? { env: 'AG_UI_TOKEN' } : undefined },
    },
    // Without `apiRoot`, Telegram's own server.
    channels: { chat: { type: 'telegram', token: { env: 'TELEGRAM_TOKEN' }, apiRoot: process.env.TELEGRAM_API_ROOT } },
    // These people can do what the agent can. All others are told how to be added.
    people: { us: { ids: TELEGRAM_USERS.split(',').map((id) => `chat:${id}`), may: ['prompt', 'approve', 'admin'] } },
  }),
  store: await sqliteStore({ folder: './state/mastra-telegram' }),
  onError: ({ message }) => console.error(message),
  onNotice: (notice) => console.error(notice),
})

await bridge.start()
process.once('SIGINT', () => void bridge.stop())
