/** Slack's error response. It never leaves the fake: a client sees its `error`. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  /** Details, as in `response_metadata.messages`. */
  readonly details: readonly string[]

  constructor(error: string, ...details: readonly string[]) {
    super(error)
    this.details = details
  }
}

/** Too many calls: has its own status, and a header with the seconds to wait. */
export class Limited extends Error {
  override readonly name = 'Limited'
  readonly retryAfterS: number

  constructor(retryAfterS: number) {
    super('ratelimited')
    this.retryAfterS = retryAfterS
  }
}
