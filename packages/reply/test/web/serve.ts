import { once } from 'node:events'
import { createServer } from 'node:http'
import { toListener } from '../../../../examples/ui/node.ts'

/** Serves a handler of web requests over HTTP, as the example for Express does. */
export async function serve(handle: (request: Request) => Promise<Response>) {
  const server = createServer(toListener(handle)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port.')
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port}`,
    close: async (): Promise<void> => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
