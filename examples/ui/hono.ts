// useChat in Hono: npx tsx examples/ui/hono.ts, with serve(app) of @hono/node-server, Deno or Bun
import { Hono } from 'hono'
import { handle } from './chat.ts'

const app = new Hono()
app.all('/api/chat/*', async (context) => await handle(context.req.raw))

export default app
