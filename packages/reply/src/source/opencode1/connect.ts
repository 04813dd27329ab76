import type { Clock } from '../../clock.ts'
import type { OnError } from '../../error.ts'
import type { Address } from '../http/address.ts'
import { readEventStream, streamHeaders } from '../http/event-stream.ts'
import type { ConnectionOptions, Source } from '../port.ts'
import { createDecoder } from './decode.ts'

export interface ConnectorOptions {
  readonly address: Address
  readonly fetch: typeof fetch
  readonly clock: Clock
  readonly onError: OnError
}

/**
 * Opens event streams: `/global/event`, or `/event` on servers without it. Drops duplicate events, also across
 * connections.
 */
export function createConnector({ address, clock, onError, ...options }: ConnectorOptions): Source['connect'] {
  const decoder = createDecoder({ onError })
  return ({ signal, directory, onFrame }) =>
    readEventStream({ address, clock, onError, decoder, onFrame, open: () => open({ signal, directory }) })

  async function open({ signal, directory }: ConnectionOptions): Promise<Response> {
    const everywhere = await request('/global/event', signal)
    if (!isUnknownRoute(everywhere)) return everywhere
    await everywhere.body?.cancel()
    return await request(
      `/event${directory === undefined ? '' : `?directory=${encodeURIComponent(directory)}`}`,
      signal,
    )
  }

  function request(route: string, signal: AbortSignal): Promise<Response> {
    return options.fetch(`${address.url}${route}`, { headers: streamHeaders(address), signal })
  }
}

/** Servers without the route answer with 404 or with the web app's page. */
function isUnknownRoute(response: Response): boolean {
  return response.status === 404 || (response.headers.get('content-type') ?? '').startsWith('text/html')
}
