import type { Clock } from '@reply/core'
import type { SlackEnvelope, SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { networkCodeOf, refusalOf } from './failure.ts'

export interface SocketOptions {
  readonly socket: SlackSocket
  readonly take: (body: unknown) => void
  readonly onError: (error: SlackError) => void
  readonly clock: Clock
}

export interface Listening {
  start(): void
  stop(): Promise<void>
}

/** The client waits for ever for a server that says nothing. */
const connectMs = 30_000

const backOff = { minMs: 1000, maxMs: 60_000 }

/** Slack's words for an app's token that is wrong, and stays so. */
const unauthorized: ReadonlySet<string> = new Set([
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'user_removed_from_team',
  'team_disabled',
  'token_revoked',
  'token_expired',
])

/** Socket Mode: everything is acknowledged at once and passed on. It connects again, where the client does not by itself. */
export function createListening({ socket, take, onError, clock }: SocketOptions): Listening {
  let [isOn, isWaiting] = [false, false]
  let failures = 0
  let stopTimer = (): void => {}
  return { start, stop }

  function start(): void {
    if (isOn) return
    isOn = true
    socket.on('slack_event', listen)
    socket.on('disconnected', again)
    connect()
  }

  async function stop(): Promise<void> {
    if (!isOn) return
    isOn = false
    stopTimer()
    socket.off('slack_event', listen)
    socket.off('disconnected', again)
    await leave()
  }

  async function leave(): Promise<void> {
    try {
      await socket.disconnect()
    } catch (error) {
      onError(toError(error))
    }
  }

  function connect(): void {
    isWaiting = false
    let isLate = false
    const stopTimeout = clock.after(connectMs, () => {
      isLate = true
      onError(new SlackError('updates', `The socket to Slack failed: nobody answered in ${connectMs} ms.`))
      // What it is at ends with it, where anything does.
      void leave()
      again()
    })
    stopTimer = stopTimeout
    socket.start().then(
      () => {
        stopTimeout()
        failures = 0
        // Stopped while it connected: the client goes on with that.
        if (!isOn) void leave()
      },
      (reason: unknown) => {
        stopTimeout()
        if (!isOn || isLate) return
        const error = toError(reason)
        onError(error)
        // A token that is wrong stays so.
        if (error.type === 'updates') again()
      },
    )
  }

  /** Slack ends each connection after some hours. What happens meanwhile is sent later. */
  function again(): void {
    if (!isOn || isWaiting) return
    isWaiting = true
    stopTimer = clock.after(Math.min(backOff.maxMs, backOff.minMs * 2 ** failures), connect)
    failures += 1
  }

  function listen({ ack, body }: SlackEnvelope): void {
    // Unacknowledged it comes again, and is known then.
    ack().catch((error: unknown) => onError(toError(error)))
    take(body)
  }
}

function toError(error: unknown): SlackError {
  const refusal = refusalOf(error)
  const word = refusal?.type === 'refused' ? refusal.error : undefined
  if (word !== undefined && unauthorized.has(word)) {
    const cure = 'Socket Mode takes an app-level token (xapp-…) with connections:write.'
    return new SlackError('unauthorized', `Slack does not know the app's token (${word}). ${cure}`)
  }
  const status = refusal?.type === 'status' ? `status ${refusal.code}` : undefined
  const what = word ?? status ?? networkCodeOf(error) ?? (error instanceof Error ? error.name : 'no reason')
  return new SlackError('updates', `The socket to Slack failed: ${what}.`)
}
