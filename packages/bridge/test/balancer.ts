import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One address in front of several bridges. */
export interface Balancer {
  readonly url: string
  close(): void
}

/** The headers with which platforms prove that a webhook is theirs. */
const proofs = ['x-telegram-bot-api-secret-token', 'x-hub-signature-256'] as const

/** Passes each webhook to the first target that takes it. Answers 503 if none does. `targets` is called for each webhook. */
export async function startBalancer(targets: () => readonly string[]): Promise<Balancer> {
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const init = {
      ...{ method, headers: { 'content-type': 'application/json' } as Record<string, string> },
      ...(method === 'POST' && { body: Buffer.concat(chunks) }),
    }
    for (const proof of proofs) if (headers[proof] !== undefined) init.headers[proof] = String(headers[proof])
    let [status, text] = [503, '']
    for (const target of targets()) {
      const taken = await fetch(`${target}${new URL(url, 'http://a').search}`, init).catch(() => undefined)
      if (taken) [status, text] = [taken.status, await taken.text()]
      if (status === 200) break
    }
    response.writeHead(status).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
