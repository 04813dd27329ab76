/** An error as Baileys makes them, with Boom: the status is where Boom has it. */
export class SocketBoom extends Error {
  readonly isBoom = true
  readonly isServer: boolean
  readonly data: unknown = null
  readonly output: {
    readonly statusCode: number
    readonly payload: { readonly statusCode: number; readonly error: string; readonly message: string }
    readonly headers: Readonly<Record<string, string>>
  }

  constructor(statusCode: number, message: string) {
    super(message)
    this.isServer = statusCode >= 500
    this.output = { statusCode, payload: { statusCode, error: message, message }, headers: {} }
  }
}

/** What a closed socket says to each call. */
export const closed = (): SocketBoom => new SocketBoom(428, 'Connection Closed')
