import type { SlackEnvelope, SlackSocket } from './api.ts'
import { SlackError } from './error.ts'
import { networkCodeOf, wordOf } from './failure.ts'

export interface SocketOptions {
  readonly socket: SlackSocket
  readonly take: (body: unknown) => void
  readonly onError: (error: SlackError) => void
}

export interface Listening {
  start(): void
  stop(): Promise<void>
}

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

/** Socket Mode. The client connects, and connects again; here everything is acknowledged at once and passed on. */
export function createListening({ socket, take, onError }: SocketOptions): Listening {
  let isOn = false
  return { start, stop }

  function start(): void {
    if (isOn) return
    isOn = true
    socket.on('slack_event', listen)
    socket.start().catch((error: unknown) => onError(toError(error)))
  }

  async function stop(): Promise<void> {
    if (!isOn) return
    isOn = false
    socket.off('slack_event', listen)
    try {
      await socket.disconnect()
    } catch (error) {
      onError(toError(error))
    }
  }

  function listen({ ack, body }: SlackEnvelope): void {
    // Unacknowledged it comes again, and is known then.
    ack().catch((error: unknown) => onError(toError(error)))
    take(body)
  }
}

function toError(error: unknown): SlackError {
  const word = wordOf(error)
  if (word !== undefined && unauthorized.has(word)) {
    const cure = 'Socket Mode takes an app-level token (xapp-…) with connections:write.'
    return new SlackError('unauthorized', `Slack does not know the app's token (${word}). ${cure}`)
  }
  const what = word ?? networkCodeOf(error) ?? (error instanceof Error ? error.name : 'no reason')
  return new SlackError('updates', `The socket to Slack failed: ${what}.`)
}
