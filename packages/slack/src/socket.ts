import type { Clock } from '@reply/core'
import { pause } from '@reply/core/internal'
import { type InboundMonitor, networkCodeOf } from '@reply/sink/internal'
import type { SlackEnvelope, SlackSocket } from './api.ts'
import { responseOf, SlackError } from './error.ts'

interface SocketListenerOptions {
  readonly socket: SlackSocket
  /** Handles an envelope's body. Resolves with false if it must not be acknowledged. */
  readonly receiveBody: (body: unknown) => Promise<boolean>
  readonly onError: (error: SlackError) => void
  readonly monitor: InboundMonitor
  readonly clock: Clock
}

export interface SocketListener {
  /** Begins to listen and connects. Does nothing if it has started. */
  start(): void
  /** Stops listening, and disconnects. A failure is reported. Does nothing if it has not started. */
  stop(): Promise<void>
}

/** Connect timeout, in ms. The client itself would wait forever for a silent server. */
const connectMs = 30_000

/** Slack's error codes for a wrong app token. */
export const unauthorizedCodes: ReadonlySet<string> = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'user_removed_from_team',
  'team_disabled',
  'token_revoked',
  'token_expired',
])

/** Receives events over Socket Mode and acknowledges them. Reconnects, because the client is configured not to. */
export function createSocketListener({
  socket,
  receiveBody,
  onError,
  monitor,
  clock,
}: SocketListenerOptions): SocketListener {
  let isStarted = false
  /** How often `start` was called. */
  let starts = 0
  /** The last attempt to connect, until the client has connected or given up. */
  let attempt = Promise.resolve()
  let isWaiting = false
  let stopTimer = (): void => {}
  return { start, stop }

  /** Begins to listen and connects. Does nothing if it has started. */
  function start(): void {
    if (isStarted) return
    isStarted = true
    starts += 1
    monitor.started()
    void listenAfterLast(starts)
  }

  /**
   * Listens and connects when an attempt from before a stop is over, or after `connectMs`: the client can't cancel it, and
   * would then have two connections.
   */
  async function listenAfterLast(start: number): Promise<void> {
    const waited = new AbortController()
    stopTimer = () => waited.abort()
    await Promise.race([attempt, pause(clock, connectMs, waited.signal)])
    waited.abort()
    if (!isStarted || start !== starts) return
    socket.on('slack_event', onEnvelope)
    socket.on('disconnected', onDisconnected)
    connect()
  }

  /** Stops listening, and disconnects. Connects no more. Does nothing if it has not started. */
  async function stop(): Promise<void> {
    if (!isStarted) return
    isStarted = false
    stopTimer()
    socket.off('slack_event', onEnvelope)
    socket.off('disconnected', onDisconnected)
    await disconnect()
  }

  /** Disconnects the socket. A failure is reported. */
  async function disconnect(): Promise<void> {
    try {
      await socket.disconnect()
    } catch (error) {
      onError(toSocketError(error))
    }
  }

  /** Connects once. A failure or a timeout is reported, and retried later. */
  function connect(): void {
    isWaiting = false
    let isLate = false
    const start = starts
    const isStale = (): boolean => !isStarted || start !== starts
    const stopTimeout = clock.after(connectMs, () => {
      isLate = true
      const late = new SlackError('updates', `The socket to Slack failed: no connection within ${connectMs} ms.`)
      onError(late)
      reconnect(late)
      // Best effort: disconnecting should also end the pending start.
      void disconnect()
    })
    stopTimer = stopTimeout
    attempt = socket.start().then(
      async () => {
        stopTimeout()
        // `stop` was called while connecting, which the client doesn't cancel.
        if (isStale()) await disconnect()
        else monitor.succeeded()
      },
      (reason: unknown) => {
        stopTimeout()
        if (isStale() || isLate) return
        const error = toSocketError(reason)
        onError(error)
        reconnect(error)
      },
    )
  }

  /** Reconnects. Slack ends each connection after some hours, and delivers missed events later. */
  function onDisconnected(): void {
    reconnect(new SlackError('updates', 'The socket to Slack ended.'))
  }

  /**
   * Connects again after the monitor's back-off, also after a refusal: Slack may refuse a right token for a while, and a
   * person can fix a wrong one. Does nothing while that is waiting, or after the stop.
   */
  function reconnect(error: SlackError): void {
    if (!isStarted || isWaiting) return
    isWaiting = true
    const waitMs = error.type === 'unauthorized' ? monitor.refused(error) : monitor.failed(error)
    stopTimer = clock.after(waitMs, connect)
  }

  /** Passes the body on, and acknowledges the envelope unless the body was not taken. */
  function onEnvelope({ ack, body }: SlackEnvelope): void {
    // Slack resends an unacknowledged event, which is then dropped as a duplicate.
    const acknowledged = receiveBody(body).then((isTaken) => (isTaken ? ack() : undefined))
    acknowledged.catch((error: unknown) => {
      // After a stop there is no connection. Slack then resends the event to another one.
      if (isStarted) onError(toSocketError(error))
    })
  }
}

/** Returns a failure to open the socket as a `SlackError`: `unauthorized` for a rejected token, otherwise `updates`. */
export function toSocketError(error: unknown): SlackError {
  const response = responseOf(error)
  const code = response?.type === 'refused' ? response.error : undefined
  if (code !== undefined && unauthorizedCodes.has(code)) {
    const cure = 'Socket Mode needs an app-level token (xapp-…) with connections:write.'
    return new SlackError('unauthorized', `Slack rejected the app's token (${code}). ${cure}`)
  }
  const status = response?.type === 'status' ? `status ${response.code}` : undefined
  const what = code ?? status ?? networkCodeOf(error) ?? (error instanceof Error ? error.name : 'no reason')
  return new SlackError('updates', `The socket to Slack failed: ${what}.`)
}

/** The part of `SocketModeClient` that receives frames. */
interface FrameClient {
  listeners(event: 'ws_message'): readonly ((...frame: never[]) => unknown)[]
  removeAllListeners(event: 'ws_message'): unknown
  on(event: 'ws_message', listener: (...frame: unknown[]) => void): unknown
}

/**
 * Reports and skips frames that the client can't read. The client reads each in a promise that it doesn't await, so an
 * envelope without an event would end the process.
 */
export function guardFrames(client: FrameClient, onError: (error: SlackError) => void): void {
  const readers = client.listeners('ws_message')
  client.removeAllListeners('ws_message')
  for (const reader of readers) {
    client.on('ws_message', (...frame) => {
      new Promise((resolve) => resolve(Reflect.apply(reader, client, frame))).catch((cause: unknown) => {
        const what = cause instanceof Error ? cause.name : 'no reason'
        onError(new SlackError('updates', `Skipped a frame of Slack's socket that can't be read: ${what}.`))
      })
    })
  }
}
