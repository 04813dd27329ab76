/** What a call takes beside its route, as `@discordjs/rest` names it. */
export interface DiscordRequest {
  readonly body?: unknown
  readonly files?: DiscordFile[]
  /** False for routes with a token of their own. */
  readonly auth?: boolean
  readonly signal?: AbortSignal
}

export interface DiscordFile {
  readonly name: string
  readonly data: Uint8Array
  readonly contentType?: string
}

/** What a listener is told of an answer. */
export interface DiscordResponse {
  readonly headers: { get(name: string): string | null }
}

/** The part of `@discordjs/rest`'s `REST` that is used: `new REST(discordRestOptions)`, or a discord.js client's `client.rest`. */
export interface DiscordRest {
  post(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  put(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  patch(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  delete(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** Tells of every answer, with its headers. */
  on(event: 'response', listener: (request: { readonly path: string }, response: DiscordResponse) => void): unknown
}

/** The part of a discord.js `Client` that hears. `raw` has each event as Discord sent it, whatever the client makes of it. */
export interface DiscordClient {
  on(event: 'raw', listener: (packet: unknown) => void): unknown
  off(event: 'raw', listener: (packet: unknown) => void): unknown
}

/**
 * For `new REST(...)`, or the `rest` of `new Client(...)`: no queue that waits and no repetition, which are the sink's. With
 * others nothing is lost or doubled, but answers may come late.
 */
export const discordRestOptions: {
  readonly retries: number
  readonly rejectOnRateLimit: () => boolean
} = { retries: 0, rejectOnRateLimit: () => true }
