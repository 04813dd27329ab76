import { createDecoder } from '../../decode.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import { createEventReader } from '../../reader.ts'
import { type Clock, pause } from '../clock.ts'
import { guarded } from '../guard-callback.ts'
import { type Address, unauthorized } from './address.ts'
import { reasonOf } from './error-reason.ts'

export interface EventStreamOptions {
  readonly address: Address
  readonly directory?: string | undefined
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of the back-off. */
  readonly random: () => number
  readonly onError: OnError
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** Events in the order of the wire. The first ones of a connection begin with `connected`. */
  readonly receive: (events: readonly ReplyEvent[]) => void
  /** The stream ended, failed or fell silent; a reconnect follows. */
  readonly onLost: (loss: StreamLoss) => void
  /** Without a first frame for this long, in ms, the attempt is given up. */
  readonly firstFrameMs: number
  /** Without a frame for this long, in ms, the connection is dead. Read anew for each connection. */
  readonly silenceMs: () => number
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
}

export interface StreamLoss {
  readonly reason: ReplyError
  /** Whether the server had opened the stream before it ended. */
  readonly brokeOff: boolean
}

export interface EventStream {
  /** Ends the current connection and starts another. */
  reconnect(reason: ReplyError): void
  /** Restarts the silence timer after `silenceMs` changed. */
  rearm(): void
  /** Marks the connection as usable: the next back-off starts from the shortest delay. */
  succeed(): void
  close(): void
}

/**
 * One server's event stream, reconnected indefinitely: bytes from `/global/event`, or `/event` on servers without it.
 */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { address, clock, onError } = options
  const closed = new AbortController()
  const decoder = createDecoder({ onError })
  // Guarded: a failing callback must not prevent the next attempt.
  const reportLost = guarded('onLost', options.onLost, onError)
  let connection = new AbortController()
  let failures = 0
  let rearm = (): void => {}
  let route = '/global/event'
  void run()
  return { reconnect, succeed, rearm: () => rearm(), close }

  function succeed(): void {
    failures = 0
  }

  function reconnect(reason: ReplyError): void {
    connection.abort(reason)
  }

  function close(): void {
    closed.abort()
    connection.abort(new ReplyError('closed', 'The connection was closed.'))
  }

  async function run(): Promise<void> {
    while (!closed.signal.aborted) {
      connection = new AbortController()
      route = '/global/event'
      const loss = await readOnce(connection)
      if (closed.signal.aborted) return
      reportLost?.(loss)
      const { minMs, maxMs } = options.backOff
      const delayMs = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + options.random() / 2)
      failures += 1
      await pause(clock, delayMs, closed.signal)
    }
  }

  /** Runs one connection to its end and returns why it ended. */
  async function readOnce(abort: AbortController): Promise<StreamLoss> {
    let stopSilence = watchSilence(abort, Math.min(options.firstFrameMs, options.silenceMs()))
    let isOpen = false
    rearm = () => {
      stopSilence()
      stopSilence = watchSilence(abort, options.silenceMs())
    }
    try {
      const body = await openStream(abort.signal)
      isOpen = true
      const reader = createEventReader({ onError, onFrame: options.onFrame, decoder })
      for await (const chunk of body) {
        rearm()
        const events = reader.push(chunk, clock.now())
        options.receive(events)
      }
      return { reason: new ReplyError('unreachable', `The event stream of ${address.url} ended.`), brokeOff: true }
    } catch (cause) {
      if (abort.signal.reason instanceof ReplyError) return { reason: abort.signal.reason, brokeOff: false }
      if (cause instanceof ReplyError) return { reason: cause, brokeOff: false }
      const words = isOpen
        ? `The event stream of ${address.url} was interrupted (${reasonOf(cause)}).`
        : `No OpenCode server at ${address.url} (${reasonOf(cause)}): start one with "opencode serve", or give another url.`
      return { reason: new ReplyError('unreachable', words, { cause }), brokeOff: isOpen }
    } finally {
      rearm = () => {}
      stopSilence()
      abort.abort()
    }
  }

  function watchSilence(abort: AbortController, silenceMs: number): () => void {
    return clock.after(silenceMs, () =>
      abort.abort(new ReplyError('unreachable', `The event stream of ${address.url} was silent for ${silenceMs} ms.`)),
    )
  }

  async function openStream(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const response = await request(signal)
    if (route === '/global/event' && isUnknownRoute(response)) {
      route = '/event'
      await response.body?.cancel()
      return await openStream(signal)
    }
    if (response.status === 401 || response.status === 403) throw unauthorized(address, response.status)
    if (!response.body || !isStream(response)) {
      route = '/global/event'
      await response.body?.cancel()
      const words = `${address.url} did not return an event stream (${response.status}, ${response.headers.get('content-type') ?? 'no type'}): it is not an OpenCode server, or it is not ready.`
      throw new ReplyError(response.status >= 500 ? 'refused' : 'not-opencode', words)
    }
    return response.body
  }

  function request(signal: AbortSignal): Promise<Response> {
    const { authorization } = address
    const query =
      route === '/event' && options.directory !== undefined ? `?directory=${encodeURIComponent(options.directory)}` : ''
    const headers = { accept: 'text/event-stream', ...(authorization !== undefined && { authorization }) }
    return options.fetch(`${address.url}${route}${query}`, { headers, signal })
  }
}

/** Servers without the route answer 404, or the web app's page. */
function isUnknownRoute(response: Response): boolean {
  return response.status === 404 || (response.headers.get('content-type') ?? '').startsWith('text/html')
}

function isStream(response: Response): boolean {
  return response.ok && (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
}
