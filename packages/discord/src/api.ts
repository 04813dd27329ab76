import type { Chat, MessageRef } from '@reply/sink'
import type { ChatKind } from '@reply/sink/channel'

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
  /** The media type. Default: detected by the client. */
  readonly contentType?: string
}

/** The part of a response that a listener reads. */
export interface DiscordResponse {
  /** The response's headers. Names are case-insensitive. */
  readonly headers: { get(name: string): string | null }
}

/**
 * The part of `@discordjs/rest`'s `REST` that is used: `new REST(discordRestOptions)`, or a discord.js client's
 * `client.rest`.
 */
export interface DiscordRest {
  /** `POST`. Resolves with the parsed body. Rejects with the client's own errors. */
  post(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `PUT`, like `post`. */
  put(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `PATCH`, like `post`. */
  patch(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** `DELETE`, like `post`. */
  delete(route: `/${string}`, request?: DiscordRequest): Promise<unknown>
  /** Emitted for every response, with its headers. */
  on(event: 'response', listener: (request: { readonly path: string }, response: DiscordResponse) => void): unknown
}

/** The part of `@discordjs/rest`'s `REST` that a bridge uses. */
export interface DiscordBridgeRest extends DiscordRest {
  /** `GET`. Resolves with the parsed body. Rejects with the client's own errors. */
  get(
    route: `/${string}`,
    request?: { readonly query?: URLSearchParams; readonly signal?: AbortSignal },
  ): Promise<unknown>
  /** Set if the API is not at Discord's own address. */
  readonly options?: { readonly api: string } | undefined
}

/** The part of a discord.js `Client` that receives events. `raw` has each event exactly as Discord sent it. */
export interface DiscordClient {
  /** The bot's own account, once logged in. Without it, mentions of the bot and replies to it are not detected. */
  readonly user?: { readonly id: string } | null | undefined
  /** Adds a listener. */
  on(event: 'raw', listener: (packet: unknown) => void): unknown
  /** Removes the listener. */
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

/** The JSON body of a message or a response. */
export type Body = Readonly<Record<string, unknown>>

/** https://discord.com/developers/docs/resources/message#message-object-message-flags */
export const messageFlags = { noEmbeds: 1 << 2, ephemeral: 1 << 6, silent: 1 << 12 } as const

/**
 * The channel type of a direct message with the bot.
 * https://discord.com/developers/docs/resources/channel#channel-object-channel-types
 */
const directChannel = 1

/** The channel types of threads: in an announcement channel, public ones, also posts of a forum, and private ones. */
const threads: ReadonlySet<number> = new Set([10, 11, 12])

/**
 * The interaction context of a direct message with the bot. 0 is a server, 2 a direct message between people.
 * https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-context-types
 */
const directContext = 1

/** Ids contain the ms since the start of 2015, this time. https://discord.com/developers/docs/reference#snowflakes */
const epochMs = 1_420_070_400_000

/** Returns the `Chat` of a channel. A thread is a channel with its own id. */
export function chatOf(channelId: string, kind: ChatKind | undefined): Chat {
  return { id: channelId, ...(kind && { kind }) }
}

/** Returns the `Chat` of a channel, whose `kind` and `isThread` follow from the channel's type. */
export function chatOfType(channelId: string, type: number | undefined): Chat {
  const chat = chatOf(channelId, kindOfChannel(type))
  return type !== undefined && threads.has(type) ? { ...chat, isThread: true } : chat
}

/** Returns the kind of a channel. Undefined if the event lacks the type, in which case the channel counts as shared. */
function kindOfChannel(type: number | undefined): ChatKind | undefined {
  return kindFrom(type, directChannel)
}

/**
 * Returns the kind of an interaction's chat. Undefined without a context. The channel type isn't enough, because direct
 * messages between people have the same.
 */
export function kindOfContext(context: number | undefined): ChatKind | undefined {
  return kindFrom(context, directContext)
}

/** Returns `private` for `privateValue`, and `shared` for every other value. Undefined for an undefined one. */
function kindFrom(value: number | undefined, privateValue: number): ChatKind | undefined {
  if (value === undefined) return undefined
  return value === privateValue ? 'private' : 'shared'
}

/** Returns a message's ref. `postedAt` is decoded from the id, and absent for ids of another form. */
export function refOf(id: string): MessageRef {
  return /^\d{1,20}$/.test(id) ? { id, postedAt: Number(BigInt(id) >> 22n) + epochMs } : { id }
}

/** Returns the smallest id of a message posted at that time, in ms since the epoch. */
export function snowflakeAt(at: number): bigint {
  return BigInt(Math.max(0, Math.floor(at) - epochMs)) << 22n
}
