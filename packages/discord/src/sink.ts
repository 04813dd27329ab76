import { systemClock } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import { type AskInput, createSink, type Policy, type Sink, SinkError } from '@reply/sink'
import { type ChannelSinkOptions, type ChatKind, type Pacer, type PortError, pacerOf } from '@reply/sink/channel'
import { chatOf, type DiscordResponse, type DiscordRest } from './api.ts'
import { DiscordError } from './error.ts'
import { discordLimits } from './limits.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

/** The options of `discordSink`: the channel or thread to show replies in, and how. */
export interface DiscordSinkOptions extends ChannelSinkOptions {
  /**
   * `@discordjs/rest`'s: `new REST(discordRestOptions).setToken(token)`, or a client's `client.rest`. Sinks on one
   * client share its rate limits.
   */
  readonly rest: DiscordRest
  /** Id of a channel, direct message or thread. */
  readonly channelId: string
  /** The `kind` of an inbound's chat. Default: shared, which allows less. Private channels have no threads. */
  readonly kind?: ChatKind | undefined
  /** Id of the message to reply to: the prompt. */
  readonly replyTo?: string | undefined
  /**
   * Posts everything to a thread created from the message `replyTo`, whose id the thread shares. A string is the
   * thread's name. Where threads are impossible, in a direct message or another thread, posts go to the channel.
   * Default false.
   */
  readonly thread?: boolean | string | undefined
  /** Default: the sink's, but with an immediate status. */
  readonly policy?: Partial<Policy> | undefined
}

/** The defaults for Discord: the status is shown at once. */
export const discordPolicy: Partial<Policy> = { statusAfterMs: 0 }

/**
 * Shows replies in one channel or thread. Throws `SinkError` of type `invalid` for an unusable policy, and
 * `DiscordError` for a malformed `channelId` or a thread without `replyTo`.
 */
export function discordSink(options: DiscordSinkOptions): Sink {
  const { rest, channelId, replyTo, kind, timeoutMs, clock = systemClock } = options
  if (!/^\d{17,20}$/.test(channelId))
    throw new DiscordError('invalid', `"${channelId}" is not a channelId: channel ids have 17 digits or more.`)
  const thread = kind === 'private' ? false : (options.thread ?? false)
  if (thread !== false && replyTo === undefined)
    throw new DiscordError('invalid', 'A thread is created from a message: give its id as replyTo.')
  let target: string | undefined
  const onTarget = (id: string): void => {
    target = id
  }
  const onDenied = (cause: PortError): void => {
    const cure = 'Give the bot the permission Create Public Threads. The reply goes to the channel.'
    safeOnError(options.onError)(new SinkError('port', `${cause.message} ${cure}`, { cause }))
  }
  const newThread =
    thread === false || replyTo === undefined
      ? undefined
      : { messageId: replyTo, name: thread === true ? '' : thread, onTarget, onDenied }
  const pacer = pacerOf(rest, clock)
  followHeaders(rest, pacer)
  const sink = createSink({
    ...options,
    port: createDiscordPort({ rest, channelId, thread: newThread, timeoutMs, clock }),
    render: renderDiscord,
    chat: newThread ? chatOf(newThread.messageId, 'shared') : chatOf(channelId, kind),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer,
    policy: { ...discordPolicy, ...options.policy },
  })
  if (!newThread) return sink
  return {
    ...sink,
    findAsks: async (input, actor) => await sink.findAsks(toOwnChat(input), actor),
    readAnswer: async (input, actor) => await sink.readAnswer(toOwnChat(input), actor),
  }

  /**
   * Returns input from the channel as input of this sink where threads are impossible. This includes presses before that is
   * known. Other input is unchanged.
   */
  function toOwnChat(input: AskInput): AskInput {
    const isHere = target === channelId || (target === undefined && 'token' in input)
    return isHere && input.chat?.id === channelId ? { ...input, chat: undefined } : input
  }
}

/** The client adds 50 ms to each rate limit, and refuses earlier calls. */
const marginMs = 60

const followedClients = new WeakSet<DiscordRest>()

/**
 * Makes the pacer follow the rate-limit headers: once the bucket of posts or of edits is empty, pauses the channel until the
 * bucket resets. Registers one listener per client.
 */
function followHeaders(rest: DiscordRest, pacer: Pacer): void {
  if (followedClients.has(rest)) return
  followedClients.add(rest)
  rest.on('response', ({ path }, { headers }) => {
    const id = /^\/channels\/(\d+)\/messages(?:\/\d+)?$/.exec(path)?.[1]
    const forMs = emptyForMs(headers)
    if (id !== undefined && forMs > 0) pacer.chat({ id }, discordLimits).freeze(forMs, 'chat')
  })
}

/**
 * Returns how long a bucket stays empty, in ms. 0 while calls remain. The header has seconds, with fractions.
 * https://discord.com/developers/docs/topics/rate-limits#header-format
 */
function emptyForMs(headers: DiscordResponse['headers']): number {
  if (headers.get('x-ratelimit-remaining') !== '0') return 0
  const seconds = Number(headers.get('x-ratelimit-reset-after'))
  return Number.isFinite(seconds) && seconds > 0 ? Math.ceil(seconds * 1000) + marginMs : 0
}
