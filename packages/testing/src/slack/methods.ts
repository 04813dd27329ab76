import { type Fields, fieldsOf } from '../fields.ts'
import { flagIn, jsonIn, textIn } from '../platform/payload.ts'
import { type Shown, validBlocks } from './blocks.ts'
import type { Channel, Post } from './chat.ts'
import { limits } from './limits.ts'
import { optionalList, requiredText } from './payload.ts'
import { Refusal } from './refusal.ts'
import { fileFields } from './shared-file.ts'
import { addPost, channelIn, ownPost, replacePost, type SlackState } from './state.ts'
import { appendedStream, isLive, type Stream, startedStream, stoppedStream } from './stream.ts'
import { readView } from './view.ts'

/** A method of the Web API. Returns the fields of its response besides `ok`. Throws a `Refusal`. */
type Method = (state: SlackState, payload: Fields) => Fields

/** The app as the author of a message. */
const botID = 'B0BOT'

const methods: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'auth.test',
    ({ team, bot }) => ({
      team_id: team,
      user_id: bot,
      bot_id: botID,
      url: 'https://fake.slack.invalid/',
      team: 'Fake',
      user: 'fake_bot',
    }),
  ],
  ['chat.postMessage', postMessage],
  ['chat.postEphemeral', postEphemeral],
  ['chat.update', updateMessage],
  ['chat.delete', deleteMessage],
  ['chat.startStream', startStream],
  ['chat.appendStream', appendStream],
  ['chat.stopStream', stopStream],
  ['conversations.history', readHistory],
  ['conversations.replies', readReplies],
  ['assistant.threads.setStatus', setStatus],
  ['agents.sessions.setStatus', setSessionStatus],
  ['views.open', openView],
  ['reactions.add', addReaction],
  ['reactions.remove', removeReaction],
  ['files.getUploadURLExternal', getUploadUrl],
  ['files.completeUploadExternal', completeUpload],
  ['files.info', fileInfo],
])

/** Undefined if the Web API doesn't have the method. */
export function methodNamed(name: string): Method | undefined {
  return methods.get(name)
}

/** Posts a message. Throws a `Refusal` for no, too much or wrong content, and where the bot can't write. */
function postMessage(state: SlackState, payload: Fields): Fields {
  const channel = channelIn(state, payload)
  const threadTs = threadOf(channel, payload)
  const written = readMessage(state, payload, limits.text)
  const metadata = metadataIn(payload)
  const post = addPost(state, channel, { from: 'bot', threadTs, ...written, ...(metadata && { metadata }) })
  return { channel: channel.id, ts: post.ts, message: { ts: post.ts, thread_ts: threadTs } }
}

/**
 * Shows a message to one person alone. It is not on the screen. Throws a `Refusal` as `postMessage`, and without a
 * `user`.
 */
function postEphemeral(state: SlackState, payload: Fields): Fields {
  const channel = channelIn(state, payload)
  const { shown } = readMessage(state, payload, limits.text)
  const user = requiredText(payload, 'user')
  state.whispers.push({ user, channel: channel.id, threadTs: textIn(payload, 'thread_ts'), text: shown.text })
  state.changed(channel)
  return { message_ts: state.nextTs() }
}

/**
 * Replaces the content of the bot's own message, and ends its stream. Throws a `Refusal` for another author's, while
 * it is streamed, and for no, too much or wrong content.
 */
function updateMessage(state: SlackState, payload: Fields): Fields {
  const channel = channelIn(state, payload)
  const post = ownPost(channel, payload)
  if (post.stream && isLive(post.stream, state.clock.now())) throw new Refusal('streaming_state_conflict')
  const written = readMessage(state, payload, limits.updateText)
  const { stream: _, ...rest } = post
  replacePost(state, channel, { ...rest, ...written, editedTimes: post.editedTimes + 1 })
  return { channel: channel.id, ts: post.ts, text: written.fallback }
}

/** Deletes the bot's own message. Throws a `Refusal` for another author's. */
function deleteMessage(state: SlackState, payload: Fields): Fields {
  const channel = channelIn(state, payload)
  const post = ownPost(channel, payload, 'cant_delete_message')
  channel.posts.delete(post.ts)
  state.changed(channel)
  return { channel: channel.id, ts: post.ts }
}

/**
 * Returns the type and the payload of an event. Undefined if the call has none. Throws a `Refusal` if either is
 * missing.
 * https://docs.slack.dev/messaging/message-metadata
 */
function metadataIn(payload: Fields): object | undefined {
  if (payload.metadata === undefined || payload.metadata === '') return undefined
  const { event_type: type, event_payload: content } = fieldsOf(jsonIn(payload, 'metadata'))
  const isValid = typeof type === 'string' && type !== '' && typeof content === 'object' && content !== null
  if (!isValid) throw new Refusal('invalid_metadata_format')
  return { event_type: type, event_payload: content }
}

/**
 * Returns the `ts` of the first message of the thread that a call names by any of its messages. Undefined if it names
 * none. Throws a `Refusal` if the message doesn't exist.
 */
function threadOf({ posts }: Channel, payload: Fields): string | undefined {
  const threadTs = textIn(payload, 'thread_ts')
  if (threadTs === undefined) return undefined
  const root = posts.get(threadTs)
  if (!root) throw new Refusal('thread_not_found')
  return root.threadTs ?? threadTs
}

interface MessageContent {
  readonly fallback: string
  readonly shown: Shown
  readonly blocks: readonly unknown[]
}

/**
 * Returns the content of a message: its blocks, else its Markdown, else its text. Adds its mentions to the state.
 * Throws a `Refusal` if it has none, if it has Markdown beside another, for wrong blocks, and for a text over `most`
 * characters.
 */
function readMessage(state: SlackState, payload: Fields, most: number): MessageContent {
  const fallback = textIn(payload, 'text') ?? ''
  const markdown = textIn(payload, 'markdown_text')
  const blocks = optionalList(payload, 'blocks', 'invalid_blocks_format') ?? []
  if (markdown !== undefined && (fallback !== '' || blocks.length > 0)) throw new Refusal('markdown_text_conflict')
  if (fallback.length > most) throw new Refusal('msg_too_long')
  if ((markdown?.length ?? 0) > limits.markdown) throw new Refusal('msg_too_long')
  if (fallback === '' && markdown === undefined && blocks.length === 0) throw new Refusal('no_text')
  const linksNames = flagIn(payload, 'link_names') || textIn(payload, 'parse') === 'full'
  state.mentions.push(...mentionsInMrkdwn(fallback, linksNames), ...mentionsIn(markdown ?? '', linksNames))
  state.mentions.push(...mentionsInBlocks(blocks))
  if (blocks.length > 0) return { fallback, shown: validBlocks(blocks), blocks }
  if (markdown !== undefined) return { fallback, shown: { text: markdown, mode: 'markdown', rows: [] }, blocks }
  return { fallback, shown: { text: unescaped(fallback), mode: 'plain', rows: [] }, blocks }
}

/** Returns the text with `<`, `>` and `&` in place of their escapes, as people see it. */
function unescaped(text: string): string {
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

/**
 * Begins a streamed message in a thread, and with it a session that is working. Throws a `Refusal` if the workspace
 * lacks streams, without a thread, and outside of direct messages without a recipient.
 */
function startStream(state: SlackState, payload: Fields): Fields {
  requireStreams(state)
  const channel = channelIn(state, payload)
  requiredText(payload, 'thread_ts')
  const threadTs = threadOf(channel, payload)
  if (!channel.isDirect) {
    if (textIn(payload, 'recipient_user_id') === undefined) throw new Refusal('missing_recipient_user_id')
    if (textIn(payload, 'recipient_team_id') === undefined) throw new Refusal('missing_recipient_team_id')
  }
  const stream = startedStream(payload, state.clock.now())
  const post = addPost(state, channel, { from: 'bot', threadTs, ...displayOf(state, stream), blocks: [], stream })
  // A stream creates a session, and the session is working.
  if (threadTs !== undefined) channel.sessions.set(threadTs, 'processing')
  return { channel: channel.id, ts: post.ts }
}

/** Adds to a stream. Throws a `Refusal` if it isn't the bot's, has ended, gets nothing, or becomes too long. */
function appendStream(state: SlackState, payload: Fields): Fields {
  const { channel, post, stream } = ownStream(state, payload)
  const next = appendedStream(stream, payload, state.clock.now())
  replacePost(state, channel, { ...post, ...displayOf(state, next), stream: next })
  return { channel: channel.id, ts: post.ts }
}

/**
 * Ends a stream, and sets the status of its session, "active" by default. Blocks add their buttons to the message,
 * not their text. Throws a `Refusal` if the stream isn't the bot's or has ended, and for wrong content.
 */
function stopStream(state: SlackState, payload: Fields): Fields {
  const { channel, post, stream } = ownStream(state, payload)
  const session = requireSessionStatus(textIn(payload, 'session_status') ?? 'active')
  const next = stoppedStream(stream, payload, state.clock.now())
  const blocks = optionalList(payload, 'blocks', 'invalid_blocks') ?? []
  const { shown, fallback } = displayOf(state, next)
  const rows = blocks.length > 0 ? validBlocks(blocks).rows : []
  replacePost(state, channel, { ...post, fallback, shown: { ...shown, rows }, blocks, stream: next })
  if (post.threadTs !== undefined) channel.sessions.set(post.threadTs, session)
  return { channel: channel.id, ts: post.ts }
}

/** Returns a message that the bot streams or has streamed. Throws a `Refusal` for any other. */
function ownStream(
  state: SlackState,
  payload: Fields,
): { readonly channel: Channel; readonly post: Post; readonly stream: Stream } {
  requireStreams(state)
  const channel = channelIn(state, payload)
  const post = ownPost(channel, payload, 'message_not_owned_by_app')
  if (!post.stream) throw new Refusal('message_not_in_streaming_state')
  return { channel, post, stream: post.stream }
}

/** Throws a `Refusal` if the workspace lacks streams. */
function requireStreams({ features }: SlackState): void {
  if (!features.streams) throw new Refusal('feature_not_enabled')
}

/** Returns the content of a stream's message. Adds its mentions to the state, unless they are there. */
function displayOf(
  state: SlackState,
  { text, plan, tasks }: Stream,
): { readonly shown: Shown; readonly fallback: string } {
  const texts = [text, plan, ...tasks.flatMap(({ title, details, output }) => [title, details, output])]
  for (const mention of texts.flatMap((one) => mentionsIn(one)))
    if (!state.mentions.includes(mention)) state.mentions.push(mention)
  return { shown: { text, mode: 'markdown', rows: [] }, fallback: text }
}

/**
 * Shows the agent's status in a thread's head for 2 min. An empty one removes it. Throws a `Refusal` if the workspace
 * lacks statuses or the thread doesn't exist.
 */
function setStatus(state: SlackState, payload: Fields): Fields {
  if (!state.features.statuses) throw new Refusal('unknown_method')
  const channel = channelIn(state, payload, 'channel_id')
  const threadTs = requiredText(payload, 'thread_ts')
  if (!channel.posts.has(threadTs)) throw new Refusal('thread_not_found')
  const status = textIn(payload, 'status') ?? ''
  state.mentions.push(...mentionsIn(status))
  if (status === '') channel.statuses.delete(threadTs)
  else channel.statuses.set(threadTs, { status, until: state.clock.now() + limits.statusMs })
  state.changed(channel)
  return {}
}

const sessionStatuses: ReadonlySet<string> = new Set(['active', 'processing', 'suspended', 'closed'])

/** Returns the status. Throws a `Refusal` if an agent's session can't have it. */
function requireSessionStatus(status: string): string {
  if (sessionStatuses.has(status)) return status
  throw new Refusal('invalid_status')
}

/**
 * Sets the status of a thread's session, which needs no message. Throws a `Refusal` if the workspace has no sessions,
 * and for an unknown status.
 */
function setSessionStatus(state: SlackState, payload: Fields): Fields {
  if (!state.features.sessions) throw new Refusal('not_authorized')
  const channel = channelIn(state, payload, 'channel_id')
  channel.sessions.set(requiredText(payload, 'thread_ts'), requireSessionStatus(requiredText(payload, 'status')))
  state.changed(channel)
  return {}
}

/**
 * Opens a dialog for the person whose action the trigger comes from, in place of an open one. A trigger works once,
 * for 3 s. Throws a `Refusal` for any other trigger, and for a wrong dialog.
 */
function openView(state: SlackState, payload: Fields): Fields {
  const trigger = requiredText(payload, 'trigger_id')
  const opener = state.triggers.get(trigger)
  if (!opener) throw new Refusal('invalid_trigger_id')
  state.triggers.delete(trigger)
  if (opener.until < state.clock.now()) throw new Refusal('expired_trigger_id')
  const view = readView(jsonIn(payload, 'view'), state.nextId('V'), opener.user)
  state.views.set(view.user, view)
  return { view: { id: view.id } }
}

/** Adds an emoji to a message. Throws a `Refusal` if it is there, or if the message doesn't exist. */
function addReaction(state: SlackState, payload: Fields): Fields {
  return changeReactions(state, payload, (before, name) => {
    if (before.includes(name)) throw new Refusal('already_reacted')
    return [...before, name]
  })
}

/** Removes an emoji from a message. Throws a `Refusal` if it isn't there, or if the message doesn't exist. */
function removeReaction(state: SlackState, payload: Fields): Fields {
  return changeReactions(state, payload, (before, name) => {
    if (!before.includes(name)) throw new Refusal('no_reaction')
    return before.filter((one) => one !== name)
  })
}

/**
 * Replaces the reactions of a message by those that `change` returns. Throws a `Refusal` if the message doesn't
 * exist.
 */
function changeReactions(
  state: SlackState,
  payload: Fields,
  change: (before: readonly string[], name: string) => readonly string[],
): Fields {
  const channel = channelIn(state, payload)
  const post = channel.posts.get(requiredText(payload, 'timestamp'))
  if (!post) throw new Refusal('message_not_found')
  replacePost(state, channel, { ...post, reactions: change(post.reactions, requiredText(payload, 'name')) })
  return {}
}

/** Reserves an id and a URL for the bytes. Throws a `Refusal` without a name, and for a length that isn't above 0. */
function getUploadUrl(state: SlackState, payload: Fields): Fields {
  const name = requiredText(payload, 'filename')
  const length = Number(requiredText(payload, 'length'))
  if (!(length > 0)) throw new Refusal('invalid_arguments', '[ERROR] length must be greater than 0')
  const id = state.nextId('F')
  state.uploads.set(id, { name, length })
  return { file_id: id, upload_url: `${state.addressOf()}/upload/${id}` }
}

/**
 * Posts the uploaded files as one message. Throws a `Refusal`, and posts nothing, if one of them has no bytes. In one
 * call they are "attached to a single message", by `getMultipleFileUploadJobs` of `@slack/web-api`.
 */
function completeUpload(state: SlackState, payload: Fields): Fields {
  const uploads = optionalList(payload, 'files', 'invalid_arguments') ?? []
  const channel = channelIn(state, payload, 'channel_id')
  const threadTs = threadOf(channel, payload)
  const text = textIn(payload, 'initial_comment') ?? ''
  state.mentions.push(...mentionsInMrkdwn(text))
  const files = uploads.map(fieldsOf).map(({ id: named }) => {
    const id = String(named)
    const { name = '', bytes } = state.uploads.get(id) ?? {}
    if (!bytes) throw new Refusal('file_not_found')
    return { id, name, bytes }
  })
  for (const file of files) {
    state.uploads.delete(file.id)
    state.files.set(file.id, file)
  }
  const shown = { text, mode: 'plain', rows: [] } as const
  if (files.length > 0) addPost(state, channel, { from: 'bot', threadTs, fallback: text, shown, blocks: [], files })
  return { files: uploads }
}

/**
 * Returns a file with the messages that share it, or only those in the given channel. Throws a `Refusal` if there is
 * no such file.
 */
function fileInfo(state: SlackState, payload: Fields): Fields {
  const id = requiredText(payload, 'file')
  const file = state.files.get(id)
  if (!file) throw new Refusal('file_not_found')
  const channel = textIn(payload, 'channel')
  const shares = state.sharesOf(id).filter((share) => channel === undefined || share.channel === channel)
  const byChannel = Object.fromEntries(shares.map((share) => [share.channel, [{ ts: share.ts }]]))
  return { file: { ...fileFields(state, file), shares: { public: byChannel } } }
}

/**
 * Returns the messages of a channel, newest first, without answers in threads.
 * https://docs.slack.dev/reference/methods/conversations.history
 */
function readHistory(state: SlackState, payload: Fields): Fields {
  const channel = readableChannel(state, payload)
  const posts = [...channel.posts.values()].filter(({ ts, threadTs }) => threadTs === undefined || threadTs === ts)
  return firstPage(posts.toReversed(), state, payload)
}

/**
 * Returns a thread with its first message, oldest first. Throws a `Refusal` if that message doesn't exist.
 * https://docs.slack.dev/reference/methods/conversations.replies
 */
function readReplies(state: SlackState, payload: Fields): Fields {
  const channel = readableChannel(state, payload)
  const root = requiredText(payload, 'ts')
  if (!channel.posts.has(root)) throw new Refusal('thread_not_found')
  return firstPage(
    [...channel.posts.values()].filter(({ ts, threadTs }) => ts === root || threadTs === root),
    state,
    payload,
  )
}

/**
 * Returns the channel that a call names, as `channelIn` does. Throws a `Refusal` also if the app may not read messages.
 */
function readableChannel(state: SlackState, payload: Fields): Channel {
  if (!state.features.history) throw new Refusal('missing_scope')
  return channelIn(state, payload)
}

/**
 * Returns the state of a message's stream. Empty if it has none. `streaming_state` is in `ConversationsRepliesResponse`
 * and `ConversationsHistoryResponse` of `@slack/web-api`, and its values are in `events/message.d.ts` of
 * `@slack/types`. The value for a stream that Slack closed is undocumented.
 */
function streamingState({ stream }: Post, now: number): Fields {
  if (!stream) return {}
  if (isLive(stream, now)) return { streaming_state: 'in_progress' }
  return { streaming_state: stream.end === undefined ? 'errored' : 'completed' }
}

/**
 * Returns the result of a method that lists messages: the first after `oldest`, in the given order, 100 or up to
 * `limit`. Metadata is left out unless the call asks for it.
 */
function firstPage(posts: readonly Post[], { bot, clock }: SlackState, payload: Fields): Fields {
  const oldest = Number(textIn(payload, 'oldest') ?? 0)
  const limit = Number(payload.limit ?? 100)
  const newer = posts.filter(({ ts }) => Number(ts) > oldest)
  const withMetadata = flagIn(payload, 'include_all_metadata')
  const messages = newer.slice(0, limit).map((post) => ({
    type: 'message',
    ts: post.ts,
    text: post.fallback,
    blocks: post.blocks,
    ...(post.from === 'bot' ? { user: bot, bot_id: botID } : { user: post.from.id }),
    ...streamingState(post, clock.now()),
    ...(post.threadTs !== undefined && { thread_ts: post.threadTs }),
    ...(withMetadata && post.metadata !== undefined && { metadata: post.metadata }),
  }))
  return { messages, has_more: newer.length > limit }
}

/** Mentions anywhere in a text that Slack formats. Ignores whether they are inside code. */
const markup = /<!(?:channel|here|everyone|subteam\^\w+)(?:[|^][^>]*)?>|<@[UWB]\w+(?:\|[^>]*)?>/g

/** A link to a person counts too. */
const links = /\]\(\s*<?[!@]\w[^)]*\)|^\s*\[[^\]]+\]:\s*<?[!@]\w.*$/gm

/** With `link_names` or `parse: full` a bare word is enough. */
const names = /(?<![\w@])@(?:channel|here|everyone|\w+)/g

/** Returns the mentions in Markdown as written: marks, links to people, and bare names if `linksNames`. */
function mentionsIn(text: string, linksNames = false): readonly string[] {
  return [...mentionsInMrkdwn(text, linksNames), ...[...text.matchAll(links)].map(([mention]) => mention)]
}

/**
 * Returns the mentions in Slack's older formatting, which has no Markdown links: marks, and bare names if `linksNames`.
 */
function mentionsInMrkdwn(text: string, linksNames = false): readonly string[] {
  const found = [...text.matchAll(markup), ...(linksNames ? text.matchAll(names) : [])]
  return found.map(([mention]) => mention)
}

/** Returns the mentions in blocks, also in their elements. Rich text blocks name the mentioned people explicitly. */
function mentionsInBlocks(blocks: readonly unknown[]): readonly string[] {
  return blocks.flatMap((value): readonly string[] => {
    const { type, text, elements, user_id } = fieldsOf(value)
    if (type === 'user') return [`<@${String(user_id)}>`]
    if (type === 'broadcast' || type === 'usergroup') return [`${type} element`]
    if (type === 'markdown') return mentionsIn(String(text))
    const written = fieldsOf(text)
    const own = written.type === 'mrkdwn' ? mentionsInMrkdwn(String(written.text)) : []
    return [...own, ...(Array.isArray(elements) ? mentionsInBlocks(elements) : [])]
  })
}
