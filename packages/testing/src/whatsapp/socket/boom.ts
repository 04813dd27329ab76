/** An error as Baileys creates it with Boom: the status is in Boom's field. */
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

/** The error of a connection that a newer one with the same login replaced: `DisconnectReason` in Baileys' types. */
export const replacedError = (): SocketBoom => new SocketBoom(440, 'Stream Errored (conflict)')

/** The error of every call on a closed socket. */
export const closedError = (): SocketBoom => new SocketBoom(428, 'Connection Closed')
