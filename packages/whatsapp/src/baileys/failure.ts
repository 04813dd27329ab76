import { createToPortError, type PortErrorType } from '@reply/sink/channel'
import { type ToPortError, typeOfNetworkError } from '@reply/sink/internal'

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
export const toBaileysPortError: ToPortError = createToPortError('WhatsApp', (error) => {
  const words = error instanceof Error ? error.message : String(error)
  const status = statusOf(error)
  const cure = status === 401 ? '. This device was logged out: link it again with a new login.' : ''
  const says = `${status === undefined ? '' : `${status} `}${words}${cure}`
  const type = types.get(status ?? 0) ?? typeOfNetworkError(error)
  return { type, says, cause: error, retryAfterMs, scope: 'client' }
})

/** The status code of a Boom error. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('output' in error)) return undefined
  const { output } = error
  if (typeof output !== 'object' || output === null || !('statusCode' in output)) return undefined
  return typeof output.statusCode === 'number' ? output.statusCode : undefined
}
