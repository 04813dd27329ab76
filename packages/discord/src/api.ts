/** Options of a call, under their `@discordjs/rest` names. */
export interface DiscordRequest {
  readonly body?: unknown
  readonly files?: DiscordFile[]
  /** False for routes that contain their own token. */
  readonly auth?: boolean
  readonly signal?: AbortSignal
}

export interface DiscordFile {
  readonly name: string
  readonly data: Uint8Array
  readonly contentType?: string
}

/** The part of a response that a listener reads. */
export interface DiscordResponse {
  readonly headers: { get(name: string): string | null }
}

/**
 * The part of `@discordjs/rest`'s `REST` that is used: `new REST(discordRestOptions)`, or a discord.js client's
 * `client.rest`.
 */
export interface DiscordRest {
  post(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  put(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  patch(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  delete(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** Emitted for every response, with its headers. */
  on(event: 'response', listener: (request: { readonly path: string }, response: DiscordResponse) => void): unknown
}

/** The part of a discord.js `Client` that receives events. `raw` has each event exactly as Discord sent it. */
export interface DiscordClient {
  on(event: 'raw', listener: (packet: unknown) => void): unknown
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
