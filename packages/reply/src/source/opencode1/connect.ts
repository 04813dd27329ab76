import type { Clock } from '../../clock.ts'
import type { OnError } from '../../error.ts'
import { createFrameReader } from '../../wire/reader.ts'
import { createFollowedDecoder } from '../decode/followed-frames.ts'
import type { Address } from '../http/address.ts'
import { readEventStream, streamHeaders } from '../http/event-stream.ts'
import type { Source } from '../port.ts'
import { createDecoder } from './decode.ts'

/**
 * Returns a function that opens a connection and yields its events: from `/global/event`, or from `/event` on servers
 * without it. Drops duplicate events, also across connections.
 */
export function createConnector(
  address: Address,
  fetch: typeof globalThis.fetch,
  clock: Clock,
  onError: OnError,
): Source['connect'] {
  const decoder = createDecoder({ onError })
  return ({ signal, directory, onFrame, following }) => {
    const followed = following ? createFollowedDecoder(decoder, following) : decoder
    const reader = createFrameReader({ onError, onFrame, decoder: followed })
    return readEventStream(address, clock, reader, () => requestStream(signal, directory))
  }

  /** Requests `/global/event`, and `/event` of the directory if the server doesn't have that route. */
  async function requestStream(signal: AbortSignal, directory: string | undefined): Promise<Response> {
    const global = await requestRoute('/global/event', signal)
    if (!isUnknownRoute(global)) return global
    await global.body?.cancel()
    return await requestRoute(
      `/event${directory === undefined ? '' : `?directory=${encodeURIComponent(directory)}`}`,
      signal,
    )
  }

  /** Requests a stream of events, with the credentials if there are any. */
  function requestRoute(route: string, signal: AbortSignal): Promise<Response> {
    return fetch(`${address.url}${route}`, { headers: streamHeaders(address), signal })
  }
}

/** Whether the server doesn't have the route: it answers with 404 or with the web app's page. */
function isUnknownRoute(response: Response): boolean {
  return response.status === 404 || (response.headers.get('content-type') ?? '').startsWith('text/html')
}
