import type { Clock } from '@reply/core'
import {
  createSink,
  type LedgerStore,
  type MayAnswer,
  type Policy,
  type Sink,
  type SinkError,
  type Words,
} from '@reply/sink'
import { pacerOf, systemClock, tokenFault } from '@reply/sink/channel'
import type { TelegramApi, TelegramFile } from './api.ts'
import { TelegramError } from './error.ts'
import { chatOf } from './limits.ts'
import { createTelegramPort, renderFor } from './port.ts'

/** The chat to show replies in, and how. */
export interface TelegramSinkOptions {
  /** grammY's `bot.api` or `new Api(token)`. Sinks on one client share its rate limits. */
  readonly api: TelegramApi
  /** The chat's id, as a number or its digits, or the `@name` of a public group or channel. */
  readonly chatId: number | string
  /** The topic in a forum or a private chat. */
  readonly threadId?: number | undefined
  /** Id of the message to reply to: the prompt. */
  readonly replyTo?: number | undefined
  /** How replies are shown. Fields left out have the defaults of `Policy`. */
  readonly policy?: Partial<Policy> | undefined
  /** Words to use in place of the English ones. Fields left out stay English. */
  readonly words?: Partial<Words> | undefined
  /**
   * Called for each press and each text that would answer. Only `true` lets the actor answer. Default: in a private
   * chat the person may answer; in a group permissions can't be allowed.
   */
  readonly mayAnswer?: MayAnswer | undefined
  /** Ids of the only users who may answer. `mayAnswer`, if given, must allow them as well. */
  readonly answerers?: readonly string[] | undefined
  /** Stores what the chat shows, so that a restart posts nothing twice. Default: in memory. */
  readonly store?: LedgerStore | undefined
  /** Default: errors are dropped. */
  readonly onError?: ((error: SinkError) => void) | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
  /** Sends rich messages while the server supports them. Default true. */
  readonly rich?: boolean | undefined
  /** Makes the file for uploads. Default: the `InputFile` of `import('grammy')`. */
  readonly inputFile?: ((bytes: Uint8Array, name: string) => TelegramFile) | undefined
}

/**
 * Shows replies in one chat or topic. Throws `SinkError` of type `invalid` for an unusable policy, and `TelegramError`
 * for a blank token.
 */
export function telegramSink(options: TelegramSinkOptions): Sink {
  const { api, chatId, threadId, replyTo, policy, words, store, onError, clock = systemClock, rich } = options
  requireToken(api)
  return createSink({
    port: createTelegramPort(options),
    render: renderFor(api, rich),
    chat: chatOf(chatId, threadId),
    replyTo: replyTo === undefined ? undefined : { id: String(replyTo) },
    pacer: pacerOf(api, clock),
    policy,
    words,
    mayAnswer: options.mayAnswer,
    answerers: options.answerers,
    store,
    onError,
    clock,
  })
}

/** Fails early: without a token Telegram would refuse every call. */
export function requireToken(api: TelegramApi): void {
  const fault = tokenFault(api)
  if (fault !== undefined)
    throw new TelegramError('invalid', `The bot's token can't be used. ${fault} Use the token that @BotFather shows.`)
}
