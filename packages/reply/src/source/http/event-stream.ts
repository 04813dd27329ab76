import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { EventReader } from '../../wire/reader.ts'
import { type Address, unauthorizedError } from './address.ts'
import { reasonOf } from './server-errors.ts'

/**
 * How often data without an event is reported, in ms. Each report costs as much as reading a frame that is skipped, and
 * a connection counts as dead only after many seconds.
 */
const aliveMs = 100

/**
 * Yields one connection's events. Yields an empty list when the stream opens, and every `aliveMs` for data without an
 * event, such as a heartbeat. Returns when the server ends the stream. Throws `unreachable` if it can't be requested or breaks, or else
 * the `ReplyError` of the request.
 */
export async function* readEventStream(
  address: Address,
  clock: Clock,
  reader: EventReader,
  requestStream: () => Promise<Response>,
): AsyncGenerator<readonly ReplyEvent[], void, undefined> {
  let isOpen = false
  try {
    const body = await requireEventStream(address, await requestStream())
    isOpen = true
    yield []
    let yieldedAt = Number.NEGATIVE_INFINITY
    for await (const chunk of body) {
      const at = clock.now()
      const events = reader.push(chunk, at)
      // The clock may go back.
      if (events.length === 0 && Math.abs(at - yieldedAt) < aliveMs) continue
      yieldedAt = at
      yield events
    }
  } catch (cause) {
    if (cause instanceof ReplyError) throw cause
    if (!isOpen) throw unreachableError(address, reasonOf(cause), cause)
    const message = `The event stream of ${address.url} was interrupted (${reasonOf(cause)}).`
    throw new ReplyError('unreachable', message, { cause })
  }
}

/** Returns the error for a server that can't be reached. */
export function unreachableError({ url }: Address, reason: string, cause: unknown): ReplyError {
  const message = `No OpenCode server at ${url} (${reason}). Start one with "opencode serve", or pass another url.`
  return new ReplyError('unreachable', message, { cause })
}

/** Returns the headers of a request for a stream, with the credentials if there are any. */
export function streamHeaders({ authorization }: Address): Readonly<Record<string, string>> {
  return { accept: 'text/event-stream', ...(authorization !== undefined && { authorization }) }
}

/** Whether the response is a successful one with events. */
export function isEventStream(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
}

/**
 * Returns the response's body if it is an event stream. Otherwise rejects: `unauthorized` for 401 and 403, `refused` for
 * a server's error, or `not-opencode`.
 */
async function requireEventStream(address: Address, response: Response): Promise<AsyncIterable<Uint8Array>> {
  const { status } = response
  if (status === 401 || status === 403) throw unauthorizedError(address, status)
  if (response.body && isEventStream(response)) return response.body
  await response.body?.cancel()
  const type = response.headers.get('content-type') ?? 'no type'
  const message = `${address.url} did not return an event stream (${status}, ${type}): it is not an OpenCode server, or it is not ready.`
  throw new ReplyError(status >= 500 ? 'refused' : 'not-opencode', message)
}
