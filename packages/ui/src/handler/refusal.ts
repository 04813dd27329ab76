/** Why a request is refused. The message is the body of the response, so it is written for people and has no secrets. */
export class Refusal extends Error {
  /** The status of the response. */
  readonly status: number
  /** More headers of the response. */
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.headers = headers
  }
}
