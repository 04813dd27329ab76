/** Arguments of a call, under their Web API names. */
export type SlackFields = Record<string, unknown>

/** The part of `WebClient` that is used. Its typed methods all call this one. */
export interface SlackApi {
  apiCall(method: string, options?: SlackFields): Promise<SlackResult>
}

/** The fields that every response has. */
export interface SlackResult {
  readonly ok: boolean
}

/**
 * The part of `SocketModeClient` that is used. Create it with `autoReconnectEnabled: false`: the channel reconnects.
 */
export interface SlackSocket {
  on(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  on(event: 'disconnected', listener: () => void): unknown
  off(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  off(event: 'disconnected', listener: () => void): unknown
  start(): Promise<unknown>
  disconnect(): Promise<unknown>
}

/** An envelope received over the socket. */
export interface SlackEnvelope {
  ack(response?: SlackFields): Promise<void>
  readonly body: unknown
}
