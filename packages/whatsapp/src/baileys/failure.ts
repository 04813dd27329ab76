import { PortError, type PortErrorType } from '@reply/sink/channel'
import { isBeforeSending, networkCodeOf } from '../network.ts'

/** Status codes of Baileys' Boom errors: HTTP's, or its own `DisconnectReason`. */
const types: ReadonlyMap<number, PortErrorType> = new Map<number, PortErrorType>([
  // The socket is closed: nothing was written to it.
  [428, 'unreachable'],
  [503, 'unreachable'],
  [515, 'unreachable'],
  [440, 'unreachable'],
  [408, 'ambiguous'],
  [429, 'rate-limited'],
  [401, 'refused'],
  [403, 'refused'],
  [404, 'refused'],
  [406, 'refused'],
  [410, 'refused'],
])

/** WhatsApp doesn't say how long to wait, so this retries as rarely as a person would. */
const retryAfterMs = 30_000

/** Maps a failed call to the sink's error. */
export function toBaileysPortError(error: unknown, call: string): PortError {
  if (error instanceof PortError) return error
  const words = error instanceof Error ? error.message : String(error)
  const status = statusOf(error)
  const message = `${call}: ${[status, words].filter((one) => one !== undefined).join(' ')}`
  if (status === 401)
    return new PortError('refused', `${message}. This device was logged out: link it again with a new login.`, {
      cause: error,
    })
  const type = status === undefined ? undefined : types.get(status)
  if (type === 'rate-limited') return new PortError(type, message, { cause: error, retryAfterMs, scope: 'client' })
  if (type) return new PortError(type, message, { cause: error })
  return new PortError(isBeforeSending(networkCodeOf(error)) ? 'unreachable' : 'ambiguous', message, { cause: error })
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('output' in error)) return undefined
  const { output } = error
  if (typeof output !== 'object' || output === null || !('statusCode' in output)) return undefined
  return typeof output.statusCode === 'number' ? output.statusCode : undefined
}
