/** The Bot API's error response. It never leaves the fake: a client sees its fields on the wire. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: number
  readonly retryAfterS: number | undefined

  constructor(code: number, message: string, retryAfterS?: number) {
    super(message)
    this.code = code
    this.retryAfterS = retryAfterS
  }
}

export const badRequest = (what: string): Refusal => new Refusal(400, `Bad Request: ${what}`)

export const tooMany = (retryAfterS: number): Refusal =>
  new Refusal(429, `Too Many Requests: retry after ${retryAfterS}`, retryAfterS)
