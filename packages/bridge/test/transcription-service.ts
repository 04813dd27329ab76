import { createServer, type ServerResponse } from 'node:http'

/** A service for tests, with the address that a config has. */
export interface Service {
  readonly url: string
  readonly requests: readonly ServiceRequest[]
  readonly stop: () => Promise<void>
}

/** What it was sent. The body is in Latin-1. */
export interface ServiceRequest {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly authorization: string | undefined
  readonly body: string
}

/** Starts a service that responds so, below `/v1`. */
export async function startService(
  respond: (request: ServiceRequest, response: ServerResponse) => unknown,
): Promise<Service> {
  const requests: ServiceRequest[] = []
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method, url: path, headers } = request
    const body = Buffer.concat(chunks).toString('latin1')
    const got: ServiceRequest = { method, path, authorization: headers.authorization, body }
    requests.push(got)
    respond(got, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: `http://127.0.0.1:${port}/v1`, requests, stop }
}

/** Sends one byte of a body each 50 ms. */
export function dripped(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(timer))
}
