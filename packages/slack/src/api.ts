/** Arguments of a call, under their Web API names. */
export type SlackFields = Record<string, unknown>

/** The part of `WebClient` that is used. Its typed methods all call this one. */
export interface SlackApi {
  /** Calls a method of the Web API, such as `chat.postMessage`. Rejects with the client's own errors. */
  apiCall(method: string, options?: SlackFields): Promise<SlackResult>
}

/** What a bridge uses of `WebClient`. */
export interface SlackBridgeApi extends SlackApi {
  /** The bot user's token, with which files are read. */
  readonly token?: string | undefined
  /** Where the Web API is. */
  readonly slackApiUrl?: string | undefined
}

/** The fields that every response has. */
export interface SlackResult {
  /** Whether the call succeeded. */
  readonly ok: boolean
}

/**
 * The part of `SocketModeClient` that is used. Create it with `autoReconnectEnabled: false`: the channel reconnects.
 */
export interface SlackSocket {
  /** Starts to listen to what Slack sends. */
  on(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Starts to listen to the end of the connection. */
  on(event: 'disconnected', listener: () => void): unknown
  /** Stops the listener. */
  off(event: 'slack_event', listener: (event: SlackEnvelope) => void): unknown
  /** Stops the listener. */
  off(event: 'disconnected', listener: () => void): unknown
  /** Connects. Resolves once Slack has greeted, rejects if that fails. */
  start(): Promise<unknown>
  /** Closes the connection. */
  disconnect(): Promise<unknown>
}

/** An envelope received over the socket. */
export interface SlackEnvelope {
  /** Confirms the envelope, with the response that its kind takes. Slack repeats an envelope that isn't confirmed. */
  ack(response?: SlackFields): Promise<void>
  /** The event, interaction or command, as Slack sent it. */
  readonly body: unknown
}
