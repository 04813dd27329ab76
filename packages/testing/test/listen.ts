import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'

/** A server on a free port of loopback, to be stopped after the test. `url` has no slash at its end. */
export async function listen(listener: RequestListener): Promise<{ readonly url: string; readonly stop: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  const stop = (): void => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${address.port}`, stop }
}
