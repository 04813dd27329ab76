import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { toNodeListener } from './node.ts'

/** Pages that are served on this computer alone. */
export interface LocalPages {
  /**
   * The address for the browser, with a token in its fragment. Everyone who has it may use the pages, so don't pass it on. Each
   * start has another token.
   */
  readonly url: string
  /** Stops serving. */
  close(): Promise<void>
}

/** Returns a token that can't be guessed. Make one for each start. */
export function freshToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Returns a check whether a text is the token, which takes a time that tells nothing of it. */
export function tokenCheck(token: string): (given: string) => boolean {
  const digest = digestOf(token)
  return (given) => timingSafeEqual(digestOf(given), digest)
}

/** Digests have the same length whatever was given, which `timingSafeEqual` needs. */
function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest()
}

/**
 * Serves web requests on 127.0.0.1. `port`: 0 for a free one. `open` gets the address, and returns what handles requests.
 * Rejects if the port can't be used. Resolves with the address without a path.
 */
export async function serveLocally(
  port: number,
  open: (origin: string) => (request: Request) => Promise<Response>,
): Promise<LocalPages> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5000 })
  server.maxConnections = 256
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const at = server.address()
  const origin = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : port}`
  server.on('request', toNodeListener(open(origin)))
  return {
    url: origin,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
