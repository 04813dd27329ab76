/** Options of a call, under their `@discordjs/rest` names. */
export interface DiscordRequest {
  /** The JSON body. */
  readonly body?: unknown
  /** Files to upload beside it. */
  readonly files?: DiscordFile[]
  /** False for routes that contain their own token. */
  readonly auth?: boolean
  /** Aborts the call. */
  readonly signal?: AbortSignal
}

/** A file to upload. */
export interface DiscordFile {
  /** The name that the chat shows. */
  readonly name: string
  /** The content. */
  readonly data: Uint8Array
  /** Its MIME type. Default: what the client makes of the content. */
  readonly contentType?: string
}

/** The part of a response that a listener reads. */
export interface DiscordResponse {
  /** The response's headers; names in any case. */
  readonly headers: { get(name: string): string | null }
}

/**
 * The part of `@discordjs/rest`'s `REST` that is used: `new REST(discordRestOptions)`, or a discord.js client's
 * `client.rest`.
 */
export interface DiscordRest {
  /** `POST`. Resolves with the parsed body. Rejects with the client's own errors. */
  post(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `PUT`; as `post`. */
  put(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `PATCH`; as `post`. */
  patch(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `DELETE`; as `post`. */
  delete(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** Emitted for every response, with its headers. */
  on(event: 'response', listener: (request: { readonly path: string }, response: DiscordResponse) => void): unknown
}

/** What a bridge uses of `@discordjs/rest`'s `REST`. */
export interface DiscordBridgeRest extends DiscordRest {
  /** `GET`. Resolves with the parsed body. Rejects with the client's own errors. */
  get(
    route: `/${string}`,
    request?: { readonly query?: URLSearchParams; readonly signal?: AbortSignal },
  ): Promise<unknown>
  /** Where the API is. */
  readonly options?: { readonly api: string } | undefined
}

/** The part of a discord.js `Client` that receives events. `raw` has each event exactly as Discord sent it. */
export interface DiscordClient {
  /** The bot's own account, once logged in. Without it, mentions of the bot and replies to it are not noticed. */
  readonly user?: { readonly id: string } | null | undefined
  /** Starts to listen. */
  on(event: 'raw', listener: (packet: unknown) => void): unknown
  /** Stops the listener. */
  off(event: 'raw', listener: (packet: unknown) => void): unknown
}

/**
 * Options for `new REST(...)`, or the `rest` option of `new Client(...)`: no queue and no retries, because the sink
 * does both. With other options nothing is lost or posted twice, but answers may be late.
 */
export const discordRestOptions: {
  readonly retries: number
  readonly rejectOnRateLimit: () => boolean
} = { retries: 0, rejectOnRateLimit: () => true }
