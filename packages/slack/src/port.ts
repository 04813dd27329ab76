import { type Clock, systemClock } from '@reply/core'
import { pause, wallTime } from '@reply/core/internal'
import type { MessageRef } from '@reply/sink'
import {
  type AppendStream,
  type Attachment,
  type Bubble,
  type ChannelPort,
  type EditOptions,
  type Form,
  ignoreGone,
  type LookedUp,
  type LookUpOptions,
  PortError,
  type PostOptions,
  pacerOf,
} from '@reply/sink/channel'
import { requireFileSize, requireLength, type TypingOptions } from '@reply/sink/internal'
import {
  type Call,
  createCall,
  errorCodeOf,
  type Features,
  featuresOf,
  noMentionsOrPreviews,
  refOf,
  type SlackApi,
  type SlackFields,
} from './api.ts'
import { encodeForm, ids } from './form.ts'
import {
  blockOverhead,
  blocksLength,
  fallbackLength,
  fileLimits,
  labelLength,
  mostOptions,
  optionLength,
  slackLimits,
  streamMs,
  textLength,
} from './limits.ts'
import { escapeAndClip, plainLabel } from './render.ts'
import { createStatus, createStream, type SlackRecipient } from './stream.ts'

/** The options of `createSlackPort`. */
export interface SlackPortOptions {
  /** A `WebClient` without retries: `retryConfig: { retries: 0 }, rejectRateLimitedCalls: true`. */
  readonly api: SlackApi
  /** The channel's id, for example `C0123456789`. */
  readonly channelId: string
  /** The `ts` of the thread's first message. */
  readonly threadTs?: string | undefined
  /** Whether a reply to a message outside of threads starts a thread. Default true. */
  readonly startsThreads?: boolean | undefined
  /** The person that streams are shown to. Without it only direct messages have streams. */
  readonly recipient?: SlackRecipient | undefined
  /** Call timeout in ms. After it, the call may or may not have taken effect. Default 30,000. */
  readonly timeoutMs?: number | undefined
  /** The source of all times and timers. Default: the computer's clock. */
  readonly clock?: Clock | undefined
}

const reactions = { seen: 'eyes', done: 'white_check_mark' } as const

/**
 * Creates the platform adapter for one Slack channel or thread. It never retries a call: the sink does. Outside of a
 * thread, it has no typing notice and no stream.
 */
export function createSlackPort(
  options: SlackPortOptions,
): ChannelPort & { readonly stream?: AppendStream | undefined } {
  const { api, channelId: channel, threadTs, startsThreads = true, recipient, timeoutMs, clock = systemClock } = options
  const features = featuresOf(api)
  const shownSigns = new Map<string, 'seen' | 'done'>()
  const call = createCall({ api, channelId: channel, timeoutMs, clock })
  const pace = pacerOf(api, clock).chat({ id: channel }, slackLimits)
  const status =
    threadTs === undefined ? undefined : createStatus({ call, channelId: channel, threadTs, features, pace, clock })
  let stream = threadTs === undefined ? undefined : createThreadStream(threadTs)
  return {
    limits: currentLimits(),
    post,
    edit,
    remove,
    upload: (file, posting) => uploadAlbum([file], posting),
    uploadAlbum,
    react,
    lookUp: (options) => lookUp(options, { call, channelId: channel, threadTs, startsThreads, features, clock }),
    ...(status && { typing: (on: boolean, typing: TypingOptions) => status.set(on, typing) }),
    /** Streams exist only in threads, and not in every workspace. */
    get stream(): AppendStream | undefined {
      return features.streams ? stream : undefined
    },
  }

  /**
   * Returns the limits. `typingHasStatus` is a getter, because only setting a status shows whether the workspace has them.
   */
  function currentLimits(): ChannelPort['limits'] {
    return {
      ...slackLimits,
      get typingHasStatus() {
        return status !== undefined && features.statuses.isSupported
      },
    }
  }

  /** Creates the stream of a thread. Undefined in a channel without a recipient. */
  function createThreadStream(thread: string): AppendStream | undefined {
    if (!channel.startsWith('D') && !recipient) return undefined
    const isWorking = (): boolean => status?.isOn === true
    const onChannelWithoutStreams = (): void => {
      stream = undefined
    }
    const who = { call, channelId: channel, threadTs: thread, recipient }
    return createStream({ ...who, features, isWorking, onChannelWithoutStreams })
  }

  /** Posts a message. Puts the key into the message's metadata, by which `lookUp` finds it. */
  async function post(bubble: Bubble, { replyTo, key, signal }: PostOptions): Promise<MessageRef> {
    const fields = {
      channel,
      ...threadOf(replyTo),
      ...prepareContent(bubble),
      ...noMentionsOrPreviews,
      metadata: postMetadata(key),
    }
    const { ts } = await call('chat.postMessage', fields, { verb: 'post', scope: 'chat', signal })
    return refOf(String(ts))
  }

  /**
   * Edits a message. Omitting the blocks of buttons removes the buttons. Slack creates link previews only for posts, not for
   * edits and streams. Measured by others: https://github.com/NousResearch/hermes-agent/pull/97957
   */
  async function edit({ id }: MessageRef, bubble: Bubble, { signal }: EditOptions): Promise<void> {
    const { parse, link_names } = noMentionsOrPreviews
    await call(
      'chat.update',
      { channel, ts: id, ...prepareContent(bubble), parse, link_names },
      { verb: 'edit', signal },
    )
  }

  /** Removes a message. Succeeds for one that is already gone. */
  async function remove({ id }: MessageRef, { signal }: EditOptions): Promise<void> {
    await ignoreGone(call('chat.delete', { channel, ts: id }, { verb: 'remove', signal }))
  }

  /**
   * Uploads files to the thread as one message. Resolves with its ref, or with the id of the first file if the message is not
   * found. Slack shows PNGs, JPEGs, GIFs and WebPs as pictures.
   */
  async function uploadAlbum(
    attachments: readonly Attachment[],
    { replyTo, signal }: PostOptions,
  ): Promise<MessageRef> {
    for (const one of attachments) requireFileSize(one, fileLimits)
    return await upload(attachments, { call, channelId: channel, clock, thread: threadOf(replyTo), signal })
  }

  /** Replaces one reaction by the other. Reactions of an earlier process are unknown, so removing them removes both. */
  async function react({ id }: MessageRef, sign: 'seen' | 'done' | undefined, { signal }: EditOptions): Promise<void> {
    const before = shownSigns.get(id)
    if (sign && sign !== before) {
      const fields = { channel, timestamp: id, name: reactions[sign] }
      await ignoreCode('already_reacted', call('reactions.add', fields, { verb: 'react', signal }))
      shownSigns.set(id, sign)
    }
    const stale = before ? [before] : sign === 'seen' ? [] : (['seen', 'done'] as const)
    for (const old of stale) {
      if (old === sign) continue
      const fields = { channel, timestamp: id, name: reactions[old] }
      await ignoreCode('no_reaction', call('reactions.remove', fields, { verb: 'react', signal }))
    }
    if (!sign) shownSigns.delete(id)
  }

  /** Returns the fields of a message. Throws `too-long`. */
  function prepareContent(bubble: Bubble): SlackFields {
    requireLength(bubble.text, textLength)
    return messageContent(bubble)
  }

  /**
   * Returns the field for the thread to post in. In a thread, all posts stay there. Outside, a reply starts a thread under the
   * message that it answers if `startsThreads` is set. Empty for a post in the channel itself.
   */
  function threadOf(replyTo: MessageRef | undefined): SlackFields {
    const thread = threadTs ?? (startsThreads ? replyTo?.id : undefined)
    return thread === undefined ? {} : { thread_ts: thread }
  }
}

/** Resolves when the call ends, also if Slack refuses it with this code. */
async function ignoreCode(code: string, called: Promise<unknown>): Promise<void> {
  try {
    await called
  } catch (error) {
    if (errorCodeOf(error) !== code) throw error
  }
}

interface UploadTarget {
  readonly call: Call
  readonly channelId: string
  readonly clock: Clock
  readonly thread: SlackFields
  /** Ends the calls before their deadline. */
  readonly signal: AbortSignal
}

/** How often to look up the file's message, and the ms between. Slack posts it a moment after the upload. */
const lookUps = 4
const lookUpMs = 500

/**
 * Uploads files and returns their message, or the first file's id if the message is not found in `lookUps` tries. Throws
 * `ambiguous` if the response names no file. Slack's external upload takes three steps: get a URL, send the bytes, share
 * the files. The client's `files.uploadV2` does all three.
 */
async function upload(
  attachments: readonly Attachment[],
  { call, channelId, clock, thread, signal }: UploadTarget,
): Promise<MessageRef> {
  const captions = attachments.map(({ caption }) => caption).filter((caption) => caption !== '')
  const options = {
    channel_id: channelId,
    ...thread,
    file_uploads: attachments.map(({ name, bytes }) => ({ file: Buffer.from(bytes), filename: name, title: name })),
    ...(captions.length > 0 && { initial_comment: escapeAndClip(unlinked(captions.join('\n')), fallbackLength) }),
  }
  const byteCount = attachments.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const { files } = await call('files.uploadV2', options, { verb: 'upload', signal, byteCount })
  const file = uploadedFileId(files)
  if (file === undefined) throw new PortError('ambiguous', `upload in ${channelId}: Slack's response contains no file.`)
  for (let look = 0; look < lookUps; look++) {
    if (look > 0) await pause(clock, lookUpMs, signal)
    const ts = await findFileMessage(file, { call, channelId, signal })
    if (ts !== undefined) return refOf(ts)
  }
  return { id: file }
}

/** Returns a comment with its addresses broken, because this call can't turn link previews off. */
function unlinked(text: string): string {
  return text.replace(/:(?=\/\/)|\bwww(?=\.)/gi, '$&\u2060')
}

/**
 * Finds the file's message. Undefined if the lookup fails, for example without its scope. The file id then serves as the
 * ref.
 */
async function findFileMessage(
  file: string,
  { call, channelId, signal }: Pick<UploadTarget, 'call' | 'channelId' | 'signal'>,
): Promise<string | undefined> {
  try {
    const { file: found } = await call('files.info', { file }, { verb: 'look at a file', signal })
    const shares = Object.values(asFields(asFields(found).shares)).map(asFields)
    const [share] = shares.flatMap((byChannel) => asList(byChannel[channelId]))
    const { ts } = asFields(share)
    return typeof ts === 'string' ? ts : undefined
  } catch {
    // The upload itself succeeded, so a failed lookup is not an error.
    return undefined
  }
}

/** Returns the file's id in a response of `files.uploadV2`. Undefined without one. */
function uploadedFileId(files: unknown): string | undefined {
  const [completed] = asList(files)
  const [file] = asList(asFields(completed).files)
  const { id } = asFields(file)
  return typeof id === 'string' ? id : undefined
}

/** Returns a copy of an object's fields. Empty for any other value. */
function asFields(value: unknown): SlackFields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

/** Returns an array as it is. Empty for any other value. */
function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Returns a message's blocks, and the fallback text for notifications, which is "…" for a blank one. Mentioned people come
 * first in both, without ids that are not a person's. Throws `too-long` if the blocks exceed Slack's limit.
 */
export function messageContent(bubble: Bubble): SlackFields {
  const { text, plain, isPlain, buttons, form, mentions = [] } = bubble
  const people = mentions.map(({ id }) => id).filter((id) => /^[UW][A-Z\d]+$/.test(id))
  const lead = people.map((id) => `<@${id}>`).join(' ')
  const rows = buttons.map((row, at) => ({
    type: 'actions',
    block_id: `${ids.button}.${at}`,
    elements: row.map(({ label, data }, index) => ({
      type: 'button',
      action_id: `${ids.button}.${at}.${index}`,
      text: plainLabel(label, labelLength),
      value: data,
    })),
  }))
  const body = isPlain
    ? unformattedBlock(text, people)
    : { type: 'markdown', text: lead === '' ? text : `${lead}\n\n${text}` }
  const blocks = [body, ...rows, ...(form ? [formBlock(form)] : [])]
  const length = totalLength(blocks)
  if (length > blocksLength)
    throw new PortError('too-long', `The blocks have ${length} characters. Slack allows ${blocksLength}.`)
  const fallback = escapeAndClip(plain.trim() === '' ? '…' : plain, fallbackLength - lead.length - 1)
  return { text: lead === '' ? fallback : `${lead} ${fallback}`, blocks }
}

/**
 * Returns the length of all texts in a message's blocks, with Slack's overhead for each but the first, which has the text.
 */
function totalLength(blocks: readonly SlackFields[]): number {
  return blocks.reduce((sum, block) => sum + blockOverhead + countCharacters(block), -blockOverhead)
}

/** Counts the characters of all strings in a value. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, inner) => sum + countCharacters(inner), 0)
}

/** Returns a block with text that Slack doesn't format, below the mentioned people. */
function unformattedBlock(text: string, people: readonly string[]): SlackFields {
  const users = people.map((id) => ({ type: 'user', user_id: id }))
  const content = { type: 'text', text: people.length === 0 ? text : `\n${text}` }
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: [...users, content] }] }
}

/**
 * Returns the control of a form. A single question that only has options becomes a select. Every other form becomes a button
 * that opens a dialog.
 */
function formBlock(form: Form): SlackFields {
  const options = selectLabels(form)
  if (options) {
    const select = {
      type: 'static_select',
      action_id: ids.select,
      placeholder: plainLabel(form.label, labelLength),
      options: options.map((label) => ({ text: plainLabel(label, labelLength), value: label })),
    }
    return { type: 'actions', block_id: `${ids.select}:${form.token}`, elements: [select] }
  }
  const label = plainLabel(form.label, labelLength)
  const button = { type: 'button', action_id: ids.form, text: label, value: encodeForm(form) }
  return { type: 'actions', block_id: ids.form, elements: [button] }
}

/**
 * Returns the labels for a select if the form needs no dialog: a single question that takes one option and no text, whose
 * labels are few, unique and short enough to be values. Undefined otherwise.
 */
function selectLabels({ questions }: Form): readonly string[] | undefined {
  const [question, ...more] = questions
  if (!question || more.length > 0 || question.multiple || question.custom) return undefined
  const labels = question.options.map(({ label }) => label)
  if (labels.length === 0 || labels.length > mostOptions || new Set(labels).size < labels.length) return undefined
  return labels.every((label) => label.length > 0 && label.length <= optionLength) ? labels : undefined
}

interface LookUpTarget {
  readonly call: Call
  readonly channelId: string
  /** The `ts` of the thread's first message, for posts in a thread. */
  readonly threadTs: string | undefined
  /** Whether a reply outside of threads was posted in the thread of the message it answers. */
  readonly startsThreads: boolean
  readonly features: Features
  readonly clock: Clock
}

/** The event type of a post's metadata. https://docs.slack.dev/messaging/message-metadata */
const eventType = 'reply_post'

/** The most messages of one page. https://docs.slack.dev/reference/methods/conversations.history */
const pageSize = 100

/** How far Slack's clock and ours may differ, in ms. */
const skewMs = 60_000

/** Returns metadata by which `lookUp` finds a post. Invisible to people. */
function postMetadata(key: string): SlackFields {
  return { event_type: eventType, event_payload: { key } }
}

/** How long after its call a stream may begin, in ms. A call ends after 30 s. */
const openingMs = 30_000

/**
 * Looks for a post in the newest messages, and then in the thread that it may have started. Without the scope to read
 * (`channels:history` and the like), and for files, which have no metadata, it only checks whether Slack answers.
 */
async function lookUp(options: LookUpOptions, place: LookUpTarget): Promise<LookedUp> {
  const { threadTs, startsThreads } = place
  const found = await lookUpIn(threadTs, options, place)
  const startedThread = threadTs === undefined && startsThreads ? options.replyTo?.id : undefined
  if (found.type === 'there' || startedThread === undefined) return found
  const below = await lookUpIn(startedThread, options, place)
  return below.type === 'absent' ? found : below
}

/**
 * Looks for a post in one page of a thread, or of the channel itself without `threadTs`. Finds a message by its metadata, and a
 * stream by what this process remembers: it may have opened or found it before another process had the chat, and could not
 * store that. `unknown` for a file, if Slack refuses to list the messages, or if the post is not on a page that has another after
 * it.
 */
async function lookUpIn(threadTs: string | undefined, options: LookUpOptions, place: LookUpTarget): Promise<LookedUp> {
  const { key, kind, since, signal } = options
  const { call, channelId: channel, features } = place
  const oldest = String((since - skewMs) / 1000)
  const fields = { channel, oldest, limit: pageSize, include_all_metadata: true }
  const about = { verb: 'look-up', signal }
  try {
    const { messages, has_more } = await (threadTs === undefined
      ? call('conversations.history', fields, about)
      : call('conversations.replies', { ...fields, ts: threadTs }, about))
    if (kind === 'file' || !Array.isArray(messages)) return { type: 'unknown' }
    const all = messages.map(asFields)
    const keyOf = kind === 'stream' ? ({ ts }: SlackFields) => features.streamed.get(String(ts)) : postKeyOf
    const ts = all.find((message) => keyOf(message) === key)?.ts
    if (typeof ts === 'string') return { type: 'there', ref: refOf(ts) }
    if (kind === 'stream') return await claimOpenStream(has_more === true ? undefined : all, options, place)
    return { type: has_more === true ? 'unknown' : 'absent' }
  } catch (error) {
    if (!(error instanceof PortError) || error.type !== 'refused') throw error
    return { type: 'unknown' }
  }
}

/**
 * Finds a stream, and records it as this reply's. `chat.startStream` accepts no metadata, but each message has the author
 * and state of its stream: `user` and `streaming_state` in `ConversationsRepliesResponse` of `@slack/web-api`, whose states
 * are in `events/message.d.ts` of `@slack/types`. The stream is found if exactly one of this app began at that time and after the
 * message that it replies to, is open, and belongs to no other reply. Without one it is `absent`, or `unknown` if Slack may have
 * closed it for its age. Also `unknown` without `messages`, which are undefined if there is more than one page.
 */
async function claimOpenStream(
  messages: readonly SlackFields[] | undefined,
  { key, since, replyTo, signal }: LookUpOptions,
  { call, features, clock }: LookUpTarget,
): Promise<LookedUp> {
  if (!messages) return { type: 'unknown' }
  const me = features.ownUserId ?? (await call('auth.test', {}, { verb: 'look-up', signal })).user_id
  if (typeof me !== 'string') return { type: 'unknown' }
  features.ownUserId = me
  const found = messages.flatMap(({ user, streaming_state, ts }) => {
    const isOpen = user === me && streaming_state === 'in_progress' && typeof ts === 'string'
    // Both times are of Slack's clock. An earlier process may have left a stream of an earlier reply open.
    const isEarlier = Number(ts) <= Number(replyTo?.id)
    const isThen = !isEarlier && Number(ts) * 1000 < since + openingMs + skewMs
    return isOpen && isThen && !features.streamed.has(ts) ? [ts] : []
  })
  const [ts] = found
  if (ts !== undefined && found.length === 1) {
    features.streamed.set(ts, key)
    return { type: 'there', ref: refOf(ts) }
  }
  // Slack may have closed an older stream.
  return { type: found.length === 0 && wallTime(clock) < since + streamMs ? 'absent' : 'unknown' }
}

/** Returns the key that `post` put into a message's metadata. Undefined for other messages. */
function postKeyOf({ metadata }: SlackFields): unknown {
  const { event_type, event_payload } = asFields(metadata)
  return event_type === eventType ? asFields(event_payload).key : undefined
}
