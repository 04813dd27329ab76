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
import type { SlackApi } from './api.ts'
import { SlackError } from './error.ts'
import { chatOf } from './place.ts'
import { createSlackPort } from './port.ts'
import { renderSlack } from './render.ts'
import type { SlackRecipient } from './stream.ts'

/** The channel or thread to show replies in, and how. */
export interface SlackSinkOptions {
  /**
   * A `WebClient` without retries: `retryConfig: { retries: 0 }, rejectRateLimitedCalls: true`. Sinks on one client
   * share its rate limits.
   */
  readonly api: SlackApi
  /** As in `C0123456789`, or `D…` for a direct message. */
  readonly channelId: string
  /** The `ts` of the thread's first message. */
  readonly threadTs?: string | undefined
  /** Outside of threads: the `ts` of the prompt. The reply goes into its thread. */
  readonly replyTo?: string | undefined
  /** The person that streams are shown to. Without it only direct messages have streams. */
  readonly recipient?: SlackRecipient | undefined
  /** Default for `delivery`: `native` in a thread, else `edit`. */
  readonly policy?: Partial<Policy> | undefined
  /** Words to use in place of the English ones. Fields left out stay English. */
  readonly words?: Partial<Words> | undefined
  /**
   * Called for each press and each text that would answer. Only `true` lets the actor answer. Default: in a direct
   * message the person may answer; in a channel permissions can't be allowed.
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
  /** Call timeout in ms. Default 30,000. */
  readonly timeoutMs?: number | undefined
}

/**
 * Shows replies in one channel or thread. Throws `SinkError` of type `invalid` for an unusable policy, and `SlackError`
 * for a blank token.
 */
export function slackSink(options: SlackSinkOptions): Sink {
  const { api, channelId, threadTs, replyTo, policy, words, store, onError, clock = systemClock } = options
  requireToken(api)
  return createSink({
    port: createSlackPort(options),
    render: renderSlack,
    chat: chatOf(channelId, threadTs),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(api, clock),
    policy: { delivery: threadTs === undefined ? 'edit' : 'native', ...policy },
    words,
    mayAnswer: options.mayAnswer,
    answerers: options.answerers,
    store,
    onError,
    clock,
  })
}

/** Fails early: without a token Slack would refuse every call. */
export function requireToken(api: SlackApi): void {
  const fault = tokenFault(api)
  if (fault !== undefined)
    throw new SlackError('invalid', `The bot's token can't be used. ${fault} Use the xoxb-… token on the app's page.`)
}
