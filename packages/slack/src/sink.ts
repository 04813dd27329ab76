import { systemClock } from '@reply/core'
import { createSink, type Policy, type Sink } from '@reply/sink'
import { type ChannelSinkOptions, pacerOf } from '@reply/sink/channel'
import { tokenFault } from '@reply/sink/internal'
import type { SlackApi } from './api.ts'
import { chatOf } from './api.ts'
import { SlackError } from './error.ts'
import { createSlackPort } from './port.ts'
import { renderSlack } from './render.ts'
import type { SlackRecipient } from './stream.ts'

/** The options of `slackSink`: the channel or thread to show replies in, and how. */
export interface SlackSinkOptions extends ChannelSinkOptions {
  /**
   * A `WebClient` without retries: `retryConfig: { retries: 0 }, rejectRateLimitedCalls: true`. Sinks on one client
   * share its rate limits.
   */
  readonly api: SlackApi
  /** The channel's id, for example `C0123456789`, or `D…` for a direct message. */
  readonly channelId: string
  /** The `ts` of the thread's first message. */
  readonly threadTs?: string | undefined
  /** Outside of threads: the `ts` of the prompt. The whole reply goes into its thread. */
  readonly replyTo?: string | undefined
  /** The person that streams are shown to. Without it only direct messages have streams. */
  readonly recipient?: SlackRecipient | undefined
  /** Default for `delivery`: `native` in a thread, else `edit`. */
  readonly policy?: Partial<Policy> | undefined
}

/**
 * Shows replies in one channel or thread. Throws `SinkError` of type `invalid` for an unusable policy, and `SlackError`
 * for a blank token.
 */
export function slackSink(options: SlackSinkOptions): Sink {
  const { api, channelId, replyTo, policy, clock = systemClock } = options
  // Outside of threads, the prompt starts one, where people answer.
  const threadTs = options.threadTs ?? replyTo
  requireToken(api)
  return createSink({
    ...options,
    // Without a thread, the sink only replies to its own answer, which must not start a thread.
    port: createSlackPort({ ...options, threadTs, startsThreads: false }),
    render: renderSlack,
    chat: chatOf(channelId, threadTs),
    replyTo: replyTo === undefined ? undefined : { id: replyTo },
    pacer: pacerOf(api, clock),
    policy: { delivery: threadTs === undefined ? 'edit' : 'native', ...policy },
  })
}

/** Throws `invalid` if the client has an unusable token, because Slack would refuse every call. */
export function requireToken(api: SlackApi): void {
  const fault = tokenFault(api)
  if (fault !== undefined)
    throw new SlackError('invalid', `The bot's token can't be used. ${fault} Use the xoxb-… token on the app's page.`)
}
