/** https://core.telegram.org/bots/api#responseparameters */
interface RefusalParameters {
  readonly retryAfterS?: number
  readonly movedTo?: number
}

/** The Bot API's error response. It never leaves the fake: a client sees its fields on the wire. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly code: number
  readonly retryAfterS: number | undefined
  /** The id of the supergroup that the group became. */
  readonly movedTo: number | undefined

  constructor(code: number, message: string, { retryAfterS, movedTo }: RefusalParameters = {}) {
    super(message)
    this.code = code
    this.retryAfterS = retryAfterS
    this.movedTo = movedTo
  }
}

/** The refusal of a call that Telegram doesn't accept, with a 400. */
export const badRequest = (what: string): Refusal => new Refusal(400, `Bad Request: ${what}`)

/** The refusal of a call over the budget, with a 429. */
export const tooMany = (retryAfterS: number): Refusal =>
  new Refusal(429, `Too Many Requests: retry after ${retryAfterS}`, { retryAfterS })

/** The refusal of a call to a group that became this supergroup. */
export const upgradedToSupergroup = (movedTo: number): Refusal =>
  new Refusal(400, 'Bad Request: group chat was upgraded to a supergroup chat', { movedTo })
