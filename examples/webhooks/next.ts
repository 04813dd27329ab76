// Webhooks in Next.js: save it as app/webhooks/[channel]/route.ts in a server that keeps running ("next start").
import { bridge } from './bridge.ts'

interface Context {
  readonly params: Promise<{ readonly channel: string }>
}

/** Meta asks by GET whether the address is yours. */
export const GET = handle
/** What people do. */
export const POST = handle

async function handle(request: Request, { params }: Context): Promise<Response> {
  const { channel } = await params
  return await bridge.fetch(channel)(request)
}
