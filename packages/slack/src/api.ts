/** What a call takes, in the Web API's own names. */
export type SlackFields = Record<string, unknown>

/** The part of `WebClient` that is used. Its typed methods end in this one. */
export interface SlackApi {
  apiCall(method: string, options?: SlackFields): Promise<SlackResult>
}

/** What a call answers, beside the fields of its own. */
export interface SlackResult {
  readonly ok: boolean
}

/** The part of `SocketModeClient` that is used. Make it with `autoReconnectEnabled: false`: the channel connects again. */
export interface SlackSocket {
  on(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  on(event: 'disconnected', listener: () => void): unknown
  off(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  off(event: 'disconnected', listener: () => void): unknown
  start(): Promise<unknown>
  disconnect(): Promise<unknown>
}

/** What comes over a socket. */
export interface SlackEnvelope {
  ack(response?: SlackFields): Promise<void>
  readonly body: unknown
}
