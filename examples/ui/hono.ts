// useChat in Hono: CHAT_TOKEN=… bun examples/ui/hono.ts. In Node, add serve(app) of @hono/node-server.
import { Hono } from 'hono'
import { handle } from './chat.ts'

const app = new Hono()
app.all('/api/chat/*', async (context) => await handle(context.req.raw))

export default app
