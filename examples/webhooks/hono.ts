// Webhooks in Hono: POST /webhooks/tg goes to the channel "tg" of the config.
//   REPLY_CONFIG=reply.json npx tsx examples/webhooks/hono.ts, with serve(app) of @hono/node-server, Deno or Bun
import { Hono } from 'hono'
import { bridge } from './bridge.ts'

const app = new Hono()
app.all('/webhooks/:channel', async (context) => await bridge.fetch(context.req.param('channel'))(context.req.raw))

export default app
