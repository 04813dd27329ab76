// Webhooks in Bun: REPLY_CONFIG=reply.json bun examples/webhooks/bun.ts
// Bun serves what a program exports by default: https://bun.com/docs/api/http
import { bridge } from './bridge.ts'

export default {
  port: Number(process.env.PORT ?? 8080),
  fetch: async (request: Request): Promise<Response> => {
    const [, channel = ''] = /^\/webhooks\/([\w-]+)$/.exec(new URL(request.url).pathname) ?? []
    return await bridge.fetch(channel)(request)
  },
}
