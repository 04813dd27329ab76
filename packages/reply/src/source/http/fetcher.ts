import type { Clock } from '../../clock.ts'
import { ReplyError } from '../../error.ts'

export interface FetcherOptions {
  readonly fetch: typeof fetch
  readonly clock: Clock
  /** How long a call waits for a response, in ms. */
  readonly deadlineMs: number
  /** The maximum size of a response, in bytes. */
  readonly maxAnswerBytes: number
  /** Whether the call has no deadline. */
  readonly isLong: (request: Request) => boolean
}

/** Makes calls to one server and reads each response whole. */
export interface Fetcher {
  /** Returns the response with its whole body. Retries reads twice and never retries writes. */
  fetch(request: Request): Promise<Response>
  /** Fails calls in flight and later ones with `closed`. */
  close(): void
}

/** How many reads run at once. A thousand sessions after a gap must not open thousands of sockets. */
const maxReads = 16

/**
 * Creates the fetch of a server's REST calls, with a deadline and a limit of the response's size. Retries reads twice,
 * because after a server's restart the first request on each kept-alive socket fails, and there may be several. Never
 * retries writes.
 */
export function createFetcher(options: FetcherOptions): Fetcher {
  const { clock, deadlineMs, maxAnswerBytes } = options
  const acquireRead = createSemaphore(maxReads)
  const callsInFlight = new Set<{ readonly abort: AbortController; readonly stop: () => void }>()
  let closedError: ReplyError | undefined
  return { fetch: fetchWithRetries, close: abortCalls }

  /** Makes calls in flight and later ones fail with `closed`, and stops their deadlines. */
  function abortCalls(): void {
    closedError = new ReplyError('closed', 'The connection was closed.')
    for (const { abort, stop } of callsInFlight) {
      stop()
      abort.abort(closedError)
    }
  }

  /** Sends a write once. Sends a read up to three times, after it has waited for one of `maxReads` slots. */
  async function fetchWithRetries(request: Request): Promise<Response> {
    if (request.method !== 'GET') return await fetchInTime(request)
    const release = await acquireRead()
    try {
      return await fetchInTime(request)
        .catch((error: unknown) => fetchInTime(request, error))
        .catch((error: unknown) => fetchInTime(request, error))
    } finally {
      release()
    }
  }

  /**
   * Sends a request once and reads its whole body. Rejects with `unreachable` after the deadline, unless the call is
   * long. Rejects without sending if the fetcher is closed, the request was canceled, or an earlier attempt failed with
   * a `ReplyError`, because a retry would be just as large or slow.
   */
  async function fetchInTime(request: Request, earlierError?: unknown): Promise<Response> {
    if (closedError) throw closedError
    if (earlierError instanceof ReplyError) throw earlierError
    const abort = new AbortController()
    // A call that is canceled before it was sent must not be sent.
    const cancel = (): void => abort.abort(request.signal.reason)
    if (request.signal.aborted) throw request.signal.reason
    request.signal.addEventListener('abort', cancel, { once: true })
    const expire = (): void => abort.abort(new ReplyError('unreachable', `no response within ${deadlineMs} ms`))
    const stop = options.isLong(request) ? () => {} : clock.after(deadlineMs, expire)
    const call = { abort, stop }
    callsInFlight.add(call)
    try {
      const response = await options.fetch(request, { signal: abort.signal })
      // The deadline includes the body, which may stall.
      const bytes = await readBody(response, maxAnswerBytes)
      return new Response(bytes.byteLength === 0 ? null : bytes, response)
    } finally {
      call.stop()
      callsInFlight.delete(call)
      request.signal.removeEventListener('abort', cancel)
    }
  }
}

/** Whether a call failed because the fetcher was closed. */
export function isClosedError(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'closed'
}

/** Whether a call failed because its response was too large. */
export function isTooLargeError(error: unknown): boolean {
  return error instanceof ReplyError && error.type === 'too-large'
}

/**
 * Returns a response's body, empty if it has none. Rejects with `too-large` above `maxBytes`: at once if the header
 * announces more, otherwise while reading, so it never holds more than that.
 */
async function readBody(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer>> {
  if (!response.body) return new Uint8Array()
  const reader = response.body.getReader()
  const pieces: Uint8Array[] = []
  let length = 0
  let isTooLarge = Number(response.headers.get('content-length')) > maxBytes
  while (!isTooLarge) {
    const { done, value } = await reader.read()
    if (done) return joinBytes(pieces, length)
    length += value.byteLength
    isTooLarge = length > maxBytes
    if (!isTooLarge) pieces.push(value)
  }
  // Not awaited, because the server may keep sending.
  void reader.cancel().catch(() => {})
  throw new ReplyError('too-large', `more than ${maxBytes} bytes`)
}

/** Returns the pieces as one array of this length. */
function joinBytes(pieces: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    all.set(piece, at)
    at += piece.byteLength
  }
  return all
}

/**
 * Returns a function that waits for one of `max` slots, in order, and resolves with a function that releases it.
 * Releasing it again does nothing.
 */
export function createSemaphore(max: number): () => Promise<() => void> {
  const waiting: (() => void)[] = []
  let acquired = 0
  return async () => {
    // A waiting caller gets the slot directly from the one that releases it, so that no other caller can take it in
    // between.
    if (acquired >= max) await new Promise<void>((resolve) => waiting.push(resolve))
    else acquired += 1
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      const next = waiting.shift()
      if (next) next()
      else acquired -= 1
    }
  }
}
