import { ChannelError, createToPortError, typeOfStatus } from '@reply/sink/channel'
import type { ToPortError } from '@reply/sink/internal'

/** An error of this package. Its message contains neither the topic nor the token. */
export class NtfyError extends ChannelError {
  override readonly name = 'NtfyError'
}

/** An error response of the server or of a proxy before it. */
export class NtfyRefusal extends Error {
  override readonly name = 'NtfyRefusal'
  /** The HTTP status. */
  readonly status: number
  /** The server's own code. Undefined for the response of a proxy. */
  readonly code: number | undefined
  /** The seconds of `Retry-After`. Undefined without. */
  readonly retryAfterS: number | undefined

  constructor(message: string, status: number, code: number | undefined, retryAfterS: number | undefined) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfterS = retryAfterS
  }
}

/**
 * The wait after a 429, in ms. The server sends no `Retry-After`. It allows one more request each 5 s:
 * https://docs.ntfy.sh/publish/#limitations
 */
const requestsMs = 5000
/**
 * The wait after a 429 because the messages of the day are used up, in ms. The server does not say when its day ends.
 * `errHTTPTooManyRequestsLimitMessages` in https://github.com/binwiederhier/ntfy/blob/81a486ad/server/errors.go
 */
const quotaMs = 600_000
const quotaCode = 42_908

/** Maps a failed call to the error for the bridge. */
export const toPortError: ToPortError = createToPortError('ntfy', (error) => {
  if (!(error instanceof NtfyRefusal)) return undefined
  const { status, code, retryAfterS, message } = error
  const retryAfterMs = retryAfterS ? retryAfterS * 1000 : code === quotaCode ? quotaMs : requestsMs
  return { type: typeOfStatus(status), reason: message, retryAfterMs, scope: 'client' }
})
