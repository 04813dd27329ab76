import { systemClock } from '../clock.ts'
import type { WebHandlerOptions } from './options.ts'
import { Refusal } from './refusal.ts'

/** A request that is being answered, until its response has ended. */
export interface OpenRequest {
  /** Aborts when the client goes away, and when the handler is closed. */
  readonly signal: AbortSignal
  /** Says that the response has ended. Does nothing the second time. */
  readonly end: () => void
}

/** The open requests of a handler. */
export interface Readers {
  /** Counts a request of a client. Throws a `Refusal` if the client has too many, or the handler is closed. */
  open(request: Request, client: string): OpenRequest
  /** Throws a `Refusal` if the handler is closed. */
  requireOpen(): void
  /** Calls the function every few seconds. Returns a function that stops that. */
  onBeat(run: () => void): () => void
  /** Aborts the open requests, and refuses later ones. */
  close(): void
}

/** Creates an empty list of requests. */
export function createReaders(options: Pick<WebHandlerOptions, 'clock' | 'maxStreams' | 'beatMs'>): Readers {
  const { clock = systemClock, maxStreams = 16, beatMs = 5000 } = options
  const counts = new Map<string, number>()
  /** Undefined once the handler is closed. */
  let requests: Set<AbortController> | undefined = new Set()
  const beating = new Set<() => void>()
  let stopTimer: (() => void) | undefined
  return { open, requireOpen, onBeat, close }

  function requireOpen(): void {
    if (!requests) throw new Refusal(503, 'The server is about to stop. Try again.', { 'retry-after': '5' })
  }

  function open(request: Request, client: string): OpenRequest {
    requireOpen()
    const leave = admit(client)
    const over = new AbortController()
    const abort = (): void => over.abort()
    request.signal.addEventListener('abort', abort)
    if (request.signal.aborted) abort()
    requests?.add(over)
    let isOpen = true
    return {
      signal: over.signal,
      end: () => {
        if (!isOpen) return
        isOpen = false
        request.signal.removeEventListener('abort', abort)
        requests?.delete(over)
        leave()
      },
    }
  }

  /** Counts a stream of a client. Returns a function that ends that. */
  function admit(client: string): () => void {
    const count = counts.get(client) ?? 0
    if (count >= maxStreams) {
      const message = `This client has ${count} open streams, and ${maxStreams} is the limit. Close one first.`
      throw new Refusal(429, message, { 'retry-after': '5' })
    }
    counts.set(client, count + 1)
    return () => {
      const left = (counts.get(client) ?? 1) - 1
      if (left > 0) counts.set(client, left)
      else counts.delete(client)
    }
  }

  function close(): void {
    const ending = requests ?? []
    requests = undefined
    for (const each of ending) each.abort()
  }

  function onBeat(run: () => void): () => void {
    const own = (): void => run()
    beating.add(own)
    stopTimer ??= clock.after(beatMs, beat)
    return () => {
      beating.delete(own)
      if (beating.size > 0) return
      stopTimer?.()
      stopTimer = undefined
    }
  }

  function beat(): void {
    stopTimer = clock.after(beatMs, beat)
    for (const run of [...beating]) run()
  }
}
