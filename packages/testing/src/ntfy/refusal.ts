/** An error of the server. It never leaves the fake: a client sees its JSON. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** The HTTP status. */
  readonly status: number
  /** The server's own code. */
  readonly code: number

  constructor(code: keyof typeof messages) {
    super(messages[code])
    this.code = code
    this.status = Math.floor(code / 100)
  }
}

/** https://github.com/binwiederhier/ntfy/blob/81a486ad/server/errors.go */
const messages = {
  40007: 'invalid priority parameter',
  40009: 'invalid request: topic invalid',
  40010: 'invalid request: topic name is not allowed',
  40014: 'invalid request: attachments not allowed',
  40024: 'invalid request: request body must be valid JSON',
  40101: 'unauthorized',
  40301: 'forbidden',
  40401: 'page not found',
  41303: 'JSON body too large',
  42901: 'limit reached: too many requests',
  42908: 'limit reached: daily message quota reached',
  50001: 'internal server error',
} as const
