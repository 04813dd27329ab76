import type { Clock } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { createEventReader } from '../../reader.ts'
import { type Address, unauthorized } from '../http/address.ts'
import { reasonOf } from '../http/error-reason.ts'
import type { ConnectionOptions } from '../port.ts'
import { createDecoder } from './decode.ts'

export interface ConnectorOptions {
  readonly address: Address
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly onError: OnError
}

/**
 * Opens event streams: `/global/event`, or `/event` on servers without it. Drops duplicate events across connections.
 */
export function createConnector({ address, clock, onError, ...options }: ConnectorOptions) {
  const decoder = createDecoder({ onError })
  return connect

  async function* connect(connection: ConnectionOptions): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
    let isOpen = false
    try {
      const body = await openStream(connection)
      isOpen = true
      yield []
      const reader = createEventReader({ onError, onFrame: connection.onFrame, decoder })
      for await (const chunk of body) yield reader.push(chunk, clock.now())
    } catch (cause) {
      if (cause instanceof ReplyError) throw cause
      const words = isOpen
        ? `The event stream of ${address.url} was interrupted (${reasonOf(cause)}).`
        : `No OpenCode server at ${address.url} (${reasonOf(cause)}): start one with "opencode serve", or give another url.`
      throw new ReplyError('unreachable', words, { cause })
    }
  }

  async function openStream(connection: ConnectionOptions): Promise<AsyncIterable<Uint8Array>> {
    const everywhere = await request('/global/event', connection.signal)
    if (!isUnknownRoute(everywhere)) return await streamOf(everywhere)
    await everywhere.body?.cancel()
    const { directory } = connection
    const query = directory === undefined ? '' : `?directory=${encodeURIComponent(directory)}`
    return await streamOf(await request(`/event${query}`, connection.signal))
  }

  async function streamOf(response: Response): Promise<AsyncIterable<Uint8Array>> {
    if (response.status === 401 || response.status === 403) throw unauthorized(address, response.status)
    if (response.body && isStream(response)) return response.body
    await response.body?.cancel()
    const words = `${address.url} did not return an event stream (${response.status}, ${response.headers.get('content-type') ?? 'no type'}): it is not an OpenCode server, or it is not ready.`
    throw new ReplyError(response.status >= 500 ? 'refused' : 'not-opencode', words)
  }

  function request(route: string, signal: AbortSignal): Promise<Response> {
    const { authorization } = address
    const headers = { accept: 'text/event-stream', ...(authorization !== undefined && { authorization }) }
    return options.fetch(`${address.url}${route}`, { headers, signal })
  }
}

/** Servers without the route answer 404, or the web app's page. */
function isUnknownRoute(response: Response): boolean {
  return response.status === 404 || (response.headers.get('content-type') ?? '').startsWith('text/html')
}

function isStream(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
}
