import type { Clock } from '@reply/core'
import type { Actor, MessageRef } from '@reply/sink'
import { type AppendStream, type EditOptions, PortError, type PostOptions, type StreamPiece } from '@reply/sink/channel'
import { type ChatPace, callHeedingLimits, type Task, type TypingOptions } from '@reply/sink/internal'
import {
  type Call,
  errorCodeOf,
  type Features,
  isMissingFeature,
  isWithoutStreams,
  refOf,
  type SlackFields,
} from './api.ts'
import { bytesOf, mostTasks, streamLength, streamMs, tasksLength } from './limits.ts'
import { clipWellFormed, disableMentions } from './render.ts'

/** The person that a stream is shown to. Slack requires it outside of direct messages. */
export interface SlackRecipient {
  /** The user's id: `U…` or `W…`. */
  readonly userId: string
  /** The id of the user's workspace: `T…`. */
  readonly teamId: string
}

/** Returns a message's author as a recipient. Undefined without a workspace, which presses don't tell. */
export function recipientOf(author: Actor | undefined): SlackRecipient | undefined {
  return author?.teamID === undefined ? undefined : { userId: author.id, teamId: author.teamID }
}

interface StreamTarget {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly recipient: SlackRecipient | undefined
  readonly features: Features
  /** True if the reply continues after a stream is closed. */
  readonly isWorking: () => boolean
  /** Called if this channel has no streams, although the workspace may have them. */
  readonly onChannelWithoutStreams: () => void
}

/** The tasks sent in one stream, and the bytes of their titles and reasons. */
interface SentTasks {
  readonly tasks: Set<string>
  bytes: number
}

/** Characters of a task's title. */
const taskTitleLength = 120

const statuses = { pending: 'pending', running: 'in_progress', done: 'complete', failed: 'error' } as const

/**
 * Creates Slack's native stream of a thread. Sends only chunks, because a stream that began with chunks can't continue as
 * text.
 */
export function createStream(options: StreamTarget): AppendStream {
  const { call, channelId: channel, threadTs, recipient, features, isWorking, onChannelWithoutStreams } = options
  /** Open streams, by message id. */
  const openStreams = new Map<string, SentTasks>()
  return {
    kind: 'append',
    maxMs: streamMs,
    maxLength: streamLength,
    measure: bytesOf,
    open: openStream,
    append,
    close: closeStream,
  }

  /** Opens a stream with the piece, and returns its message. */
  async function openStream(piece: StreamPiece, { key, signal }: PostOptions): Promise<MessageRef> {
    const sent: SentTasks = { tasks: new Set(), bytes: 0 }
    const chunks = buildChunks(piece, sent)
    const to = recipient && { recipient_user_id: recipient.userId, recipient_team_id: recipient.teamId }
    const more = { ...(chunks.length > 0 && { chunks }), ...to, task_display_mode: 'plan' }
    const { ts } = await requireStreams(
      call('chat.startStream', { channel, thread_ts: threadTs, ...more }, { verb: 'stream', signal }),
    )
    const ref = refOf(String(ts))
    features.streamed.set(ref.id, key)
    openStreams.set(ref.id, sent)
    return ref
  }

  /** Appends what is new in the piece. Makes no call if nothing is. */
  async function append(ref: MessageRef, piece: StreamPiece, { signal }: EditOptions): Promise<void> {
    const chunks = buildChunks(piece, openStreams.get(ref.id))
    if (chunks.length === 0) return
    keepStreamed(ref)
    await requireStreams(call('chat.appendStream', { channel, ts: ref.id, chunks }, { verb: 'append', signal }))
  }

  /** Sends the rest and closes the stream, and tells Slack whether the reply continues. */
  async function closeStream(ref: MessageRef, piece: StreamPiece, { signal }: EditOptions): Promise<void> {
    const chunks = buildChunks(piece, openStreams.get(ref.id))
    const more = { ...(chunks.length > 0 && { chunks }), session_status: isWorking() ? 'processing' : 'active' }
    keepStreamed(ref)
    await requireStreams(call('chat.stopStream', { channel, ts: ref.id, ...more }, { verb: 'close', signal }))
    openStreams.delete(ref.id)
  }

  /** Records that the stream belongs to a reply. Its key stays if this process knows it. */
  function keepStreamed({ id }: MessageRef): void {
    features.streamed.set(id, features.streamed.get(id))
  }

  /**
   * Resolves as the call does. If the workspace or channel has no streams, disables them and rejects with `unreachable`. The
   * sink then edits messages instead.
   */
  async function requireStreams<T>(called: Promise<T>): Promise<T> {
    try {
      return await called
    } catch (error) {
      const code = errorCodeOf(error)
      if (!(error instanceof PortError) || !(isMissingFeature(code) || isWithoutStreams(code))) throw error
      if (isMissingFeature(code)) features.streams = false
      else onChannelWithoutStreams()
      throw new PortError('unreachable', `${error.message}. Streams are not available here.`, { cause: error })
    }
  }
}

/** Returns the chunks of a piece. Records its tasks in `sent`, and leaves out those that exceed the budget. */
function buildChunks(
  { text, tasks, plan }: StreamPiece,
  sent: SentTasks = { tasks: new Set(), bytes: 0 },
): readonly SlackFields[] {
  return [
    ...(plan ? [{ type: 'plan_update', title: safeTitle(plan) }] : []),
    ...tasks
      .filter((task) => reserveTask(task, sent))
      .map(({ id, title, status, reason }) => ({
        type: 'task_update',
        id,
        title: safeTitle(title || '…'),
        status: statuses[status],
        ...reserveOutput(reason, sent),
      })),
    ...(text === '' ? [] : [{ type: 'markdown_text', text }]),
  ]
}

/** Returns a title without mentions, cut to Slack's length. Titles come from the model, so they are treated like text. */
function safeTitle(title: string): string {
  return clipWellFormed(disableMentions(title), taskTitleLength)
}

/**
 * Returns the reason that a task failed, shown below its title, and counts it in `sent`. Empty once the budget is used up.
 * Slack counts it twice.
 */
function reserveOutput(reason: string | undefined, sent: SentTasks): { readonly output?: string } {
  if (reason === undefined) return {}
  const output = safeTitle(reason)
  const length = sent.bytes + 2 * bytesOf(output)
  if (length > tasksLength) return {}
  sent.bytes = length
  return { output }
}

/**
 * Whether the task may be sent, which counts it in `sent`. False for a new task once the budget is used up. A task that was
 * sent before always gets its updates.
 */
function reserveTask({ id, title }: Task, sent: SentTasks): boolean {
  if (sent.tasks.has(id)) return true
  const length = sent.bytes + bytesOf(safeTitle(title))
  if (length > tasksLength || sent.tasks.size >= mostTasks) return false
  sent.tasks.add(id)
  sent.bytes = length
  return true
}

interface StatusTarget {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly features: Features
  readonly pace: ChatPace
  readonly clock: Clock
}

/** The activity to show, and the signal that aborts the calls. */
type Activity = Pick<TypingOptions, 'doing' | 'signal'>

/** The status that a thread shows while the agent works. */
interface Status {
  /**
   * Sends the session status if `on` has changed, and then the status text, after all earlier calls. Skips the text if a newer
   * call follows. Ignores failures.
   */
  set(on: boolean, options: Activity): Promise<void>
  /** What `set` was called with last. */
  readonly isOn: boolean
}

/** Characters of a status. Slack documents no limit, but a longer one is unreadable. */
const statusLength = 100

/**
 * Creates the status of a thread. Uses two methods together: the session status, which has the Stop button, and the older
 * status text.
 */
export function createStatus(options: StatusTarget): Status {
  const { call, channelId: channel_id, threadTs: thread_ts, features, pace, clock } = options
  let isOn = false
  /** What Slack shows as the session status. Undefined while a call is in flight, and after a failed one. */
  let isShownOn: boolean | undefined = false
  let revision = 0
  let lastSend = Promise.resolve()
  let stopRetry = (): void => {}
  return {
    set,
    get isOn() {
      return isOn
    },
  }

  /**
   * Sends the session status if `on` has changed, and then the status text, after all earlier calls. Skips the text if a
   * newer call follows.
   */
  async function set(on: boolean, { doing, signal }: Activity): Promise<void> {
    const isNew = on !== isOn
    isOn = on
    revision += 1
    const turn = revision
    // Sequential. Otherwise a slow call could arrive after the final one, and its status would stay.
    lastSend = lastSend.then(async () => {
      if (isNew) await sendSession(signal)
      if (turn < revision) return
      await sendText(on ? clipWellFormed(disableMentions(doing ?? 'is working…'), statusLength) : '', signal)
    })
    await lastSend
  }

  /**
   * Sends the current session status unless it is shown. Sends it later if the budget is used up: at its end without fail, because
   * a session stays shown as processing for an hour. So starts leave half of the budget to ends. Ignores other failures.
   */
  async function sendSession(signal?: AbortSignal): Promise<void> {
    stopRetry()
    if (!features.sessions.isSupported || isShownOn === isOn) return
    const waitMs = pace.readyAt(isOn ? 'status' : 'ask', 'session') - clock.now()
    if (waitMs > 0) return sendSessionAfter(waitMs)
    const on = isOn
    isShownOn = undefined
    const endCall = pace.startAside('session')
    try {
      const fields = { channel_id, thread_ts, status: on ? 'processing' : 'active' }
      await callHeedingLimits(
        pace,
        async () => await call('agents.sessions.setStatus', fields, { verb: 'status', signal }),
        'session',
      )
      isShownOn = on
    } catch (error) {
      if (isMissingFeature(errorCodeOf(error))) features.sessions.isSupported = false
      if (error instanceof PortError && error.retryAfterMs !== undefined) sendSessionAfter(error.retryAfterMs)
    } finally {
      endCall()
    }
  }

  /** Sends the session status after that time, and after all earlier calls. */
  function sendSessionAfter(waitMs: number): void {
    stopRetry = clock.after(waitMs, () => {
      lastSend = lastSend.then(async () => await sendSession())
    })
  }

  /** Sends the status text, unless the workspace has none or Slack has requested a pause. Ignores failures. */
  async function sendText(status: string, signal: AbortSignal | undefined): Promise<void> {
    const { statuses } = features
    if (!statuses.isSupported || statuses.limitedUntil > clock.now()) return
    try {
      const fields = { channel_id, thread_ts, status }
      await call('assistant.threads.setStatus', fields, { verb: 'status', signal })
    } catch (error) {
      if (isMissingFeature(errorCodeOf(error))) statuses.isSupported = false
      if (error instanceof PortError && error.retryAfterMs !== undefined)
        statuses.limitedUntil = clock.now() + error.retryAfterMs
    }
  }
}
