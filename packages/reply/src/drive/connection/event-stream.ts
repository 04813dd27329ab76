import { type Clock, pause } from '../../clock.ts'
import { type OnError, ReplyError } from '../../error.ts'
import type { ReplyEvent } from '../../event.ts'
import type { Following, Source } from '../../source/port.ts'
import { reportingErrors } from '../reporting-errors.ts'

export interface EventStreamOptions {
  readonly source: Pick<Source, 'connect' | 'name'>
  readonly directory?: string | undefined
  readonly clock: Clock
  /** Returns a number from 0 to 1, for the jitter of the back-off. */
  readonly random: () => number
  readonly onError: OnError
  readonly onFrame?: ((data: string, at: number) => void) | undefined
  /** The sessions whose events to receive. Default: those of all sessions. */
  readonly following?: Following | undefined
  /** Receives events in the order of the wire. Each connection begins with `connected`. */
  readonly receive: (events: readonly ReplyEvent[]) => void
  /** Called when the stream ended, failed or fell silent. A reconnect follows. */
  readonly onLost: (loss: StreamLoss) => void
  /**
   * How long an attempt waits for its first event, in ms. Doubles with each silent attempt in a row, because a proxy
   * may hold back what the server sends.
   */
  readonly firstFrameMs: number
  /** After how long without any data a connection counts as dead, in ms. Called for each connection. */
  readonly silenceMs: () => number
  readonly backOff: { readonly minMs: number; readonly maxMs: number }
  /** Called for each back-off, which ends early when the promise resolves. Default: the back-off never ends early. */
  readonly whenWanted?: (() => Promise<void>) | undefined
}

export interface StreamLoss {
  readonly reason: ReplyError
  /**
   * Whether an open stream ended or failed by itself. False if this client ended it, for example because it was silent.
   */
  readonly brokeOff: boolean
}

export interface EventStream {
  /**
   * Ends the current connection with this reason. `onLost` is called, and after the back-off another one starts. Does
   * nothing between two connections.
   */
  reconnect(reason: ReplyError): void
  /** Restarts the current connection's silence timer with a new `silenceMs`. Does nothing between two connections. */
  restartSilenceTimer(): void
  /** Makes the next back-off the shortest again. Called once the connection is of use. */
  resetBackOff(): void
  /** Ends the connection or the back-off until `wake` is called. `onLost` isn't called. */
  rest(): void
  /** Connects at once after `rest`. Does nothing otherwise. */
  wake(): void
  /** Ends the connection for good. `onLost` isn't called. */
  close(): void
}

/** Why a connection that rests was ended. Compared by identity. */
const restReason = new ReplyError('closed', 'The event stream is not needed.')

/**
 * Opens a server's event stream at once, and reconnects it until it is closed. An error that `onLost` throws goes to
 * `onError`.
 */
export function createEventStream(options: EventStreamOptions): EventStream {
  const { source, clock, onError } = options
  const closed = new AbortController()
  // Guarded, because a failing callback must not prevent the next attempt.
  const reportLost = reportingErrors('onLost', options.onLost, onError)
  let connection = new AbortController()
  /** Set while the stream rests. Resolves when it is to connect again. */
  let resting: { readonly woken: Promise<void>; readonly wake: () => void } | undefined
  let endPause = (): void => {}
  let failures = 0
  let silentStarts = 0
  let restartSilenceTimer = (): void => {}
  void connectUntilClosed()
  return { reconnect, resetBackOff, restartSilenceTimer: () => restartSilenceTimer(), rest, wake, close }

  /** Makes the next back-off the shortest again. */
  function resetBackOff(): void {
    failures = 0
  }

  /**
   * Ends the current connection with this reason. The next one follows after the back-off. Does nothing between two
   * connections.
   */
  function reconnect(reason: ReplyError): void {
    connection.abort(reason)
  }

  /** Ends the connection or the back-off until `wake` is called. Does nothing while it rests. */
  function rest(): void {
    if (resting) return
    let wakeUp = (): void => {}
    const woken = new Promise<void>((resolve) => {
      wakeUp = resolve
    })
    resting = { woken, wake: wakeUp }
    connection.abort(restReason)
    endPause()
  }

  /** Connects at once after `rest`. */
  function wake(): void {
    resting?.wake()
    resting = undefined
  }

  /** Ends the connection, the back-off and the rest for good, without a call of `onLost`. */
  function close(): void {
    closed.abort()
    wake()
    connection.abort(new ReplyError('closed', 'The connection was closed.'))
  }

  /**
   * Connects again and again until closed. After each connection it calls `onLost` and waits. The wait doubles from
   * `minMs` to `maxMs` with each connection until `resetBackOff`, and is shortened at random by up to half.
   */
  async function connectUntilClosed(): Promise<void> {
    for (;;) {
      await resting?.woken
      if (closed.signal.aborted) return
      connection = new AbortController()
      const loss = await readConnection(connection)
      if (closed.signal.aborted) return
      if (loss.reason === restReason) {
        failures = 0
        continue
      }
      reportLost?.(loss)
      const { minMs, maxMs } = options.backOff
      const delayMs = Math.min(maxMs, minMs * 2 ** failures) * (0.5 + options.random() / 2)
      failures += 1
      await pauseBeforeReconnect(delayMs)
    }
  }

  /** Waits for the delay, or until the stream rests, is closed or `whenWanted` resolves. */
  async function pauseBeforeReconnect(delayMs: number): Promise<void> {
    // Doesn't use `AbortSignal.any`: in Node 20, a signal keeps an entry for each signal that was made from it.
    const over = new AbortController()
    const end = (): void => over.abort()
    endPause = end
    if (resting) end()
    closed.signal.addEventListener('abort', end)
    if (closed.signal.aborted) end()
    void options.whenWanted?.().then(end)
    await pause(clock, delayMs, over.signal)
    closed.signal.removeEventListener('abort', end)
  }

  /**
   * Connects, passes the events to `receive`, and resolves with why the connection ended: the reason that this client
   * ended it with, else the source's `ReplyError`, else `unreachable`. `brokeOff` is true if the server ended the
   * stream, or if it failed after it had opened. Waits twice as long for the first event after each connection that
   * sent none until its limit. Never rejects, even if `receive` throws.
   */
  async function readConnection(abort: AbortController): Promise<StreamLoss> {
    const { signal } = abort
    let isSilent = false
    const firstMs = Math.min(options.firstFrameMs * 2 ** silentStarts, options.silenceMs())
    let stopSilence = startSilenceTimer(abort, firstMs, () => {
      isSilent = true
    })
    let hasEvents = false
    let isOpen = false
    restartSilenceTimer = () => {
      stopSilence()
      stopSilence = startSilenceTimer(abort, options.silenceMs())
    }
    try {
      const { directory, onFrame, following } = options
      for await (const events of source.connect({ signal, directory, onFrame, following })) {
        if (signal.aborted) break
        // The first, empty list only means that the connection is open. The first event has its own limit.
        if (isOpen || events.length > 0) restartSilenceTimer()
        hasEvents ||= events.length > 0
        isOpen = true
        options.receive(events)
      }
      if (signal.reason instanceof ReplyError) return { reason: signal.reason, brokeOff: false }
      return { reason: new ReplyError('unreachable', `The event stream of ${source.name} ended.`), brokeOff: true }
    } catch (cause) {
      if (signal.reason instanceof ReplyError) return { reason: signal.reason, brokeOff: false }
      if (cause instanceof ReplyError) return { reason: cause, brokeOff: isOpen }
      const message = `The event stream of ${source.name} failed: ${cause instanceof Error ? cause.message : String(cause)}.`
      return { reason: new ReplyError('unreachable', message, { cause }), brokeOff: isOpen }
    } finally {
      restartSilenceTimer = () => {}
      stopSilence()
      if (hasEvents) silentStarts = 0
      else if (isSilent) silentStarts += 1
      abort.abort()
    }
  }

  /**
   * Calls `onSilent` after `silenceMs`, and then ends the connection as `unreachable`. Sets no timer if `silenceMs` is
   * infinite. Returns a function that stops the timer.
   */
  function startSilenceTimer(abort: AbortController, silenceMs: number, onSilent = (): void => {}): () => void {
    if (silenceMs === Number.POSITIVE_INFINITY) return () => {}
    return clock.after(silenceMs, () => {
      onSilent()
      abort.abort(new ReplyError('unreachable', `The event stream of ${source.name} was silent for ${silenceMs} ms.`))
    })
  }
}
