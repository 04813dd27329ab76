// Webhooks in Next.js: save it as app/webhooks/[channel]/route.ts in a server that keeps running ("next start").
import { bridge } from './bridge.ts'

interface Route {
  readonly params: Promise<{ readonly channel: string }>
}

/** Meta asks by GET whether the address is yours. */
export const GET = handle
/** Receives what people write and press. */
export const POST = handle

/** Passes a request to the bridge's channel that the path names. */
async function handle(request: Request, { params }: Route): Promise<Response> {
  const { channel } = await params
  return await bridge.fetch(channel)(request)
}
