import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import type { Client } from '@reply/core'
import { toNodeListener } from '../serve/node.ts'
import { createPages } from '../serve/pages.ts'
import type { PageGrant, PageJudge, PagePerson } from '../serve/source.ts'
import { createDesk, type DeskOptions } from './desk.ts'

/** How a desk is served. */
export interface ServeDeskOptions extends DeskOptions {
  /** Default: a free one. */
  readonly port?: number | undefined
  /** The name that is shown for answers. Default: none. */
  readonly who?: string | undefined
}

/** A desk that is served. */
export interface ServedDesk {
  /**
   * The address for the browser, with a token in its fragment. Who has it may see, answer and stop everything, so don't pass it
   * on. Each start has another token.
   */
  readonly url: string
  /** Stops serving and watching. The runs go on. */
  close(): Promise<void>
}

/** Serves the runs of a server in the browser, on this computer alone. Rejects if the port can't be used. */
export async function serveDesk(client: Client, options: ServeDeskOptions = {}): Promise<ServedDesk> {
  const { port = 0, who = '', onError, clock } = options
  const token = randomBytes(32).toString('base64url')
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5000 })
  server.maxConnections = 256
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  const at = server.address()
  const origin = `http://127.0.0.1:${typeof at === 'object' && at ? at.port : port}`
  const desk = createDesk(client, options)
  const pages = createPages({
    source: desk.source,
    judge: judgeOf(token, { id: 'desk', name: who }),
    publicUrl: origin,
    onError,
    clock,
  })
  server.on('request', toNodeListener(pages.handle))
  return {
    url: `${origin}/desk/#${token}`,
    close: async () => {
      pages.close()
      desk.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** Lets this one token do everything. */
function judgeOf(token: string, person: PagePerson): PageJudge {
  const digest = digestOf(token)
  const grant: PageGrant = { person, rights: { answer: true, stop: true } }
  return (given) => (timingSafeEqual(digestOf(given), digest) ? grant : undefined)
}

/** Digests have the same length whatever was given, which `timingSafeEqual` needs. */
function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest()
}
