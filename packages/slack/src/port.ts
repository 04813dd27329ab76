import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import {
  type AppendStream,
  type Attachment,
  type Bubble,
  type ChannelPort,
  type EditOptions,
  type PostOptions,
  unlessGone,
} from '@reply/sink/channel'
import { requireLength, systemClock, type TypingOptions } from '@reply/sink/internal'
import type { SlackApi, SlackFields } from './api.ts'
import { createCall, saysOf } from './call.ts'
import { featuresOf } from './features.ts'
import { slackLimits, textLength } from './limits.ts'
import { refOf } from './place.ts'
import { contentOf } from './port/blocks.ts'
import { lookUp, metadataOf } from './port/look-up.ts'
import { createStatus } from './port/status.ts'
import { createStream, type SlackRecipient } from './port/stream.ts'
import { upload } from './port/upload.ts'
import { quiet } from './quiet.ts'

/** The channel or thread to write in, and how. */
export interface SlackPortOptions {
  /** A `WebClient` without retries: `retryConfig: { retries: 0 }, rejectRateLimitedCalls: true`. */
  readonly api: SlackApi
  /** As in `C0123456789`. */
  readonly channelId: string
  /** The `ts` of the thread's first message. */
  readonly threadTs?: string | undefined
  /** Whether a reply to a message outside of threads starts a thread below that. Default true. */
  readonly startsThreads?: boolean | undefined
  /** The person that streams are shown to. Without it only direct messages have streams. */
  readonly recipient?: SlackRecipient | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

const signs = { seen: 'eyes', done: 'white_check_mark' } as const

/** Platform adapter for one Slack channel or thread. It never retries a call: the sink does. */
export function createSlackPort(
  options: SlackPortOptions,
): ChannelPort & { readonly stream?: AppendStream | undefined } {
  const { api, channelId: channel, threadTs, startsThreads = true, recipient, timeoutMs, clock = systemClock } = options
  const features = featuresOf(api)
  const signed = new Map<string, 'seen' | 'done'>()
  const call = createCall({ api, channelId: channel, timeoutMs, clock })
  const status =
    threadTs === undefined ? undefined : createStatus({ call, channelId: channel, threadTs, features, clock })
  let stream = threadTs === undefined ? undefined : streamIn(threadTs)
  return {
    ...{ limits: limits(), post, edit, remove, upload: file, react },
    lookUp: (options) => lookUp(options, { call, channelId: channel, threadTs, startsThreads, features, clock }),
    ...(status && { typing: (on: boolean, typing: TypingOptions) => status.set(on, typing) }),
    /** Streams exist only in threads, and not in every workspace. */
    get stream(): AppendStream | undefined {
      return features.streams ? stream : undefined
    },
  }

  /** `typingHasStatus` is a getter: only setting a status shows whether the workspace has them. */
  function limits(): ChannelPort['limits'] {
    return {
      ...slackLimits,
      get typingHasStatus() {
        return status !== undefined && features.statuses.has
      },
    }
  }

  function streamIn(thread: string): AppendStream | undefined {
    if (!channel.startsWith('D') && !recipient) return undefined
    const isWorking = (): boolean => status?.isOn === true
    const onMisplaced = (): void => {
      stream = undefined
    }
    const who = { call, channelId: channel, threadTs: thread, recipient }
    return createStream({ ...who, features, isWorking, onMisplaced })
  }

  async function post(bubble: Bubble, { replyTo, key, signal }: PostOptions): Promise<MessageRef> {
    const fields = { channel, ...threadOf(replyTo), ...content(bubble), ...quiet, metadata: metadataOf(key) }
    const { ts } = await call('chat.postMessage', fields, { verb: 'post', scope: 'chat', signal })
    return refOf(String(ts))
  }

  /**
   * Omitting the blocks of buttons removes the buttons. Slack makes link previews for posts alone, not for edits and
   * streams: measured by others, https://github.com/NousResearch/hermes-agent/pull/97957
   */
  async function edit({ id }: MessageRef, bubble: Bubble, { signal }: EditOptions): Promise<void> {
    const { parse, link_names } = quiet
    await call('chat.update', { channel, ts: id, ...content(bubble), parse, link_names }, { verb: 'edit', signal })
  }

  async function remove({ id }: MessageRef, { signal }: EditOptions): Promise<void> {
    await unlessGone(call('chat.delete', { channel, ts: id }, { verb: 'remove', signal }))
  }

  async function file(attachment: Attachment, { replyTo, signal }: PostOptions): Promise<MessageRef> {
    return await upload(attachment, { call, channelId: channel, clock, thread: threadOf(replyTo), signal })
  }

  /** Replaces one reaction by the other. Reactions of an earlier process are unknown, so the end removes both. */
  async function react({ id }: MessageRef, sign: 'seen' | 'done' | undefined, { signal }: EditOptions): Promise<void> {
    const before = signed.get(id)
    if (sign && sign !== before) {
      const fields = { channel, timestamp: id, name: signs[sign] }
      await unless('already_reacted', call('reactions.add', fields, { verb: 'react', signal }))
      signed.set(id, sign)
    }
    const stale = before ? [before] : sign === 'seen' ? [] : (['seen', 'done'] as const)
    for (const one of stale) {
      if (one === sign) continue
      const fields = { channel, timestamp: id, name: signs[one] }
      await unless('no_reaction', call('reactions.remove', fields, { verb: 'react', signal }))
    }
    if (!sign) signed.delete(id)
  }

  function content(bubble: Bubble): SlackFields {
    requireLength(bubble.text, textLength)
    if (bubble.form) features.forms.set(bubble.form.token, bubble.form)
    return contentOf(bubble)
  }

  /** In a thread, replies stay there. Outside, a reply starts the thread of the message that it answers. */
  function threadOf(replyTo: MessageRef | undefined): SlackFields {
    const thread = threadTs ?? (startsThreads ? replyTo?.id : undefined)
    return thread === undefined ? {} : { thread_ts: thread }
  }
}

async function unless(word: string, called: Promise<unknown>): Promise<void> {
  try {
    await called
  } catch (error) {
    if (saysOf(error) !== word) throw error
  }
}
