import { type Clock, pause } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { Source } from '../../source/port.ts'
import { guarded } from '../guard-callback.ts'

export interface EventStreamOptions {
  readonly source: Pick<Source, 'connect' | 'name'>
  readonly directory?: string | undefined
  readonly clock: Clock
  /** A number from 0 to 1, for the jitter of the back-off. */
  readonly random: () => number
  readonly onError: OnError
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** Events in the order of the wire. The first ones of a connection begin with `connected`. */
  readonly receive: (events: readonly ReplyEvent[]) => void
  /** The stream ended, failed or fell silent; a reconnect follows. */
  readonly onLost: (loss: StreamLoss) => void
  /**
   * Without a first event for this long, in ms, the attempt is given up. Doubles with each such attempt in a row: a proxy
   * may hold back what a server sends.
   */
  readonly firstFrameMs: number
  /** Without a sign of life for this long, in ms, the connection is dead. Read anew for each connection. */
  readonly silenceMs: () => number
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
  /** Called for each back-off, which ends as soon as the promise resolves. Default: the whole back-off passes. */
  readonly whenWanted?: (() => Promise<void>) | undefined
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

/** One server's event stream, reconnected indefinitely. */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { source, clock, onError } = options
  const closed = new AbortController()
  // Guarded: a failing callback must not prevent the next attempt.
  const reportLost = guarded('onLost', options.onLost, onError)
  let connection = new AbortController()
  let failures = 0
  let silentStarts = 0
  let rearm = (): void => {}
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
      const loss = await readOnce(connection)
      if (closed.signal.aborted) return
      reportLost?.(loss)
      const { minMs, maxMs } = options.backOff
      const delayMs = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + options.random() / 2)
      failures += 1
      await backOff(delayMs)
    }
  }

  async function backOff(delayMs: number): Promise<void> {
    // Not with `AbortSignal.any`: in Node 20, a signal keeps an entry for each one that was made of it.
    const over = new AbortController()
    const end = (): void => over.abort()
    closed.signal.addEventListener('abort', end)
    if (closed.signal.aborted) end()
    void options.whenWanted?.().then(end)
    await pause(clock, delayMs, over.signal)
    closed.signal.removeEventListener('abort', end)
  }

  /** Runs one connection to its end and returns why it ended. */
  async function readOnce(abort: AbortController): Promise<StreamLoss> {
    const { signal } = abort
    let isSilent = false
    const firstMs = Math.min(options.firstFrameMs * 2 ** silentStarts, options.silenceMs())
    let stopSilence = watchSilence(abort, firstMs, () => {
      isSilent = true
    })
    let isHeard = false
    let isOpen = false
    rearm = () => {
      stopSilence()
      stopSilence = watchSilence(abort, options.silenceMs())
    }
    try {
      const { directory, onFrame } = options
      for await (const events of source.connect({ signal, directory, onFrame })) {
        // The first, empty list only says that the connection is open; the first event has a limit of its own.
        if (isOpen || events.length > 0) rearm()
        isHeard ||= events.length > 0
        isOpen = true
        options.receive(events)
      }
      if (signal.reason instanceof ReplyError) return { reason: signal.reason, brokeOff: false }
      return { reason: new ReplyError('unreachable', `The event stream of ${source.name} ended.`), brokeOff: true }
    } catch (cause) {
      if (signal.reason instanceof ReplyError) return { reason: signal.reason, brokeOff: false }
      if (cause instanceof ReplyError) return { reason: cause, brokeOff: isOpen }
      const words = `The event stream of ${source.name} failed: ${cause instanceof Error ? cause.message : String(cause)}.`
      return { reason: new ReplyError('unreachable', words, { cause }), brokeOff: isOpen }
    } finally {
      rearm = () => {}
      stopSilence()
      if (isHeard) silentStarts = 0
      else if (isSilent) silentStarts += 1
      abort.abort()
    }
  }

  function watchSilence(abort: AbortController, silenceMs: number, onSilent = (): void => {}): () => void {
    if (silenceMs === Number.POSITIVE_INFINITY) return () => {}
    return clock.after(silenceMs, () => {
      onSilent()
      abort.abort(new ReplyError('unreachable', `The event stream of ${source.name} was silent for ${silenceMs} ms.`))
    })
  }
}
