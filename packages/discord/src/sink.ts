import type { Clock } from '@reply/core'
import {
  type AskInput,
  type ChatKind,
  createSink,
  type LedgerStore,
  type MayAnswer,
  type Policy,
  pacerOf,
  type Sink,
  type SinkError,
  systemClock,
  type Words,
} from '@reply/sink'
import type { DiscordRest } from './api.ts'
import { DiscordError } from './error.ts'
import { followHeaders } from './headers.ts'
import { chatOf } from './place.ts'
import { createDiscordPort } from './port.ts'
import { renderDiscord } from './render.ts'

export interface DiscordSinkOptions {
  /** `@discordjs/rest`'s: `new REST(discordRestOptions).setToken(token)`, or a client's `client.rest`. Sinks on one share its pace. */
  readonly rest: DiscordRest
  /** A channel, a direct message, or a thread: they all have ids of one kind. */
  readonly channelId: string
  /** As an inbound tells it. Default: shared, which allows less. A private channel has no threads. */
  readonly kind?: ChatKind | undefined
  /** The message that asked: the answer answers it. */
  readonly replyTo?: string | undefined
  /**
   * All goes into a thread that is made of the message `replyTo`, and has its id; a text is its name. Where there can be none, in a
   * direct message or another thread, it goes into the channel. Default false.
   */
  readonly thread?: boolean | string | undefined
  /** Default: a status at once, and for the rest the sink's. */
  readonly policy?: Partial<Policy> | undefined
  readonly words?: Partial<Words> | undefined
  /**
   * Asked for each press and for words that would answer. Only `true` lets the actor answer. Default: in a direct message the
   * person there may answer; in a channel permissions can't be allowed.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /** Ids of the only users who may answer. `mayAnswer`, if given, must allow them as well. */
  readonly answerers?: readonly string[] | undefined
  /** Where it is written down what the channel shows, so that a restart shows nothing twice. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Default: errors are dropped. */
  readonly onError?: ((error: SinkError) => void) | undefined
  readonly clock?: Clock | undefined
}

/** A person is told at once that it begins. */
const policy: Partial<Policy> = { statusAfterMs: 0 }

/**
 * Shows replies in one channel or thread. Throws `SinkError` of type `invalid` for an unusable policy, and `DiscordError` for a
 * thread of no message.
 */
export function discordSink(options: DiscordSinkOptions): Sink {
  const { rest, channelId, replyTo, kind, words, store, onError, clock = systemClock } = options
  if (!/^\d{17,20}$/.test(channelId))
    throw new DiscordError('invalid', `"${channelId}" is no channelId: it has 17 digits or more.`)
  const thread = kind === 'private' ? false : (options.thread ?? false)
  if (thread !== false && replyTo === undefined)
    throw new DiscordError('invalid', 'A thread is made of a message: give its id as replyTo.')
  let target: string | undefined
  const onTarget = (id: string): void => {
    target = id
  }
  const hangs =
    thread === false || replyTo === undefined ? undefined : { messageId: replyTo, name: nameOf(thread), onTarget }
  const pacer = pacerOf(rest, clock)
  followHeaders(rest, pacer)
  const sink = createSink({
    port: createDiscordPort({ rest, channelId, thread: hangs, clock }),
    render: renderDiscord,
    chat: hangs ? chatOf(hangs.messageId, 'shared') : chatOf(channelId, kind),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer,
    policy: { ...policy, ...options.policy },
    words,
    mayAnswer: options.mayAnswer,
    answerers: options.answerers,
    store,
    onError,
    clock,
  })
  if (!hangs) return sink
  return {
    ...sink,
    find: async (input, actor) => await sink.find(moved(input), actor),
    take: async (input, actor) => await sink.take(moved(input), actor),
  }

  /** If there can be no thread, input from the channel is for this sink. A press in the channel is on a message of this sink even before that is known. */
  function moved(input: AskInput): AskInput {
    const isHere = target === channelId || (target === undefined && 'token' in input)
    return isHere && input.chat?.id === channelId ? { ...input, chat: undefined } : input
  }
}

function nameOf(thread: true | string): string {
  return thread === true ? '' : thread
}
