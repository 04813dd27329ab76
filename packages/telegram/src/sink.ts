import { systemClock } from '@reply/core'
import { safeOnError } from '@reply/core/internal'
import { type AskInput, createSink, type Sink } from '@reply/sink'
import { type ChannelSinkOptions, pacerOf } from '@reply/sink/channel'
import { tokenFault } from '@reply/sink/internal'
import { botOf, featuresOf, type TelegramApi, type TelegramFile, type TelegramMove } from './api.ts'
import { TelegramError } from './error.ts'
import { chatOf } from './limits.ts'
import { createTelegramPort, renderFor } from './port.ts'

/** The options of `telegramSink`: the chat to show replies in, and how. */
export interface TelegramSinkOptions extends ChannelSinkOptions {
  /** grammY's `bot.api`, `ctx.api` or `new Api(token)`. Sinks of one bot share its rate limits. */
  readonly api: TelegramApi
  /** The chat's id, as a number or its digits, or the `@name` of a public group or channel. */
  readonly chatId: number | string
  /** The topic in a forum or a private chat. */
  readonly threadId?: number | undefined
  /** Id of the message to reply to: the prompt. */
  readonly replyTo?: number | undefined
  /**
   * Called once when the group has become a supergroup, where replies continue. Store the new id: the mapping from the
   * old one is only kept until the process ends.
   */
  readonly onMoved?: ((move: TelegramMove) => void) | undefined
  /** Sends rich messages while the server supports them. Default true. */
  readonly rich?: boolean | undefined
  /** Creates the file for uploads. Default: the `InputFile` of `import('grammy')`. */
  readonly inputFile?: ((bytes: Uint8Array, name: string) => TelegramFile) | undefined
}

/**
 * Shows replies in one chat or topic. Throws `SinkError` of type `invalid` for an unusable policy, and `TelegramError`
 * for a blank token.
 */
export function telegramSink(options: TelegramSinkOptions): Sink {
  const { api, chatId, threadId, replyTo, clock = systemClock, rich } = options
  requireToken(api)
  const onMoved = safeOnError(options.onMoved)
  const sink = createSink({
    ...options,
    port: createTelegramPort({ ...options, onMoved }),
    render: renderFor(api, rich),
    chat: chatOf(chatId, threadId),
    replyTo: replyTo === undefined ? undefined : { id: String(replyTo) },
    pacer: pacerOf(botOf(api), clock),
  })
  const { moved } = featuresOf(api)
  return {
    ...sink,
    findAsks: async (input, actor) => await sink.findAsks(withOldId(input), actor),
    readAnswer: async (input, actor) => await sink.readAnswer(withOldId(input), actor),
  }

  /** Returns input from the supergroup with the group's id, which the sink knows. Other input is unchanged. */
  function withOldId(input: AskInput): AskInput {
    const { chat } = input
    return chat && chat.id === String(moved.get(String(chatId)))
      ? { ...input, chat: { ...chat, id: String(chatId) } }
      : input
  }
}

/** Throws `invalid` if the client has an unusable token, because Telegram would refuse every call. */
export function requireToken(api: TelegramApi): void {
  const fault = tokenFault(api)
  if (fault !== undefined)
    throw new TelegramError('invalid', `The bot's token can't be used. ${fault} Use the token that @BotFather shows.`)
}
