import type { Clock } from '@reply/core'
import type { MessageRef } from '@reply/sink'
import { type AppendStream, type EditOptions, PortError, type StreamPiece } from '@reply/sink/channel'
import type { Task, TypingOptions } from '@reply/sink/internal'
import { type Call, errorCodeOf, type Features, isLacking, isMisplaced, refOf, type SlackFields } from './api.ts'
import { bytesOf, mostTasks, streamLength, streamMs, tasksLength } from './limits.ts'
import { clipped, quieted } from './render.ts'

/** The person that a stream is shown to. Slack requires it outside of direct messages. */
export interface SlackRecipient {
  /** The user's id: `U…` or `W…`. */
  readonly userId: string
  /** The id of the user's workspace: `T…`. */
  readonly teamId: string
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
  readonly onMisplaced: () => void
}

/** The tasks sent in one stream, and the bytes of their titles and reasons. */
interface SentTasks {
  readonly tasks: Set<string>
  length: number
}

/** Characters of a task's title. */
const titleLength = 120

const statuses = { pending: 'pending', running: 'in_progress', done: 'complete', failed: 'error' } as const

/** Slack's native streams. Sends only chunks, because a stream that began with chunks can't continue as text. */
export function createStream(options: StreamTarget): AppendStream {
  const { call, channelId: channel, threadTs, recipient, features, isWorking, onMisplaced } = options
  /** Open streams, by message id. */
  const open = new Map<string, SentTasks>()
  return {
    kind: 'append',
    maxMs: streamMs,
    maxLength: streamLength,
    measure: bytesOf,
    open: begin,
    append,
    close,
  }

  async function begin(piece: StreamPiece, { signal }: EditOptions): Promise<MessageRef> {
    const sent: SentTasks = { tasks: new Set(), length: 0 }
    const chunks = chunksOf(piece, sent)
    const to = recipient && { recipient_user_id: recipient.userId, recipient_team_id: recipient.teamId }
    const more = { ...(chunks.length > 0 && { chunks }), ...to, task_display_mode: 'plan' }
    const { ts } = await requireStreams(
      call('chat.startStream', { channel, thread_ts: threadTs, ...more }, { verb: 'stream', signal }),
    )
    const ref = refOf(String(ts))
    features.streamed.set(ref.id, true)
    open.set(ref.id, sent)
    return ref
  }

  async function append(ref: MessageRef, piece: StreamPiece, { signal }: EditOptions): Promise<void> {
    const chunks = chunksOf(piece, open.get(ref.id))
    if (chunks.length === 0) return
    features.streamed.set(ref.id, true)
    await requireStreams(call('chat.appendStream', { channel, ts: ref.id, chunks }, { verb: 'append', signal }))
  }

  async function close(ref: MessageRef, piece: StreamPiece, { signal }: EditOptions): Promise<void> {
    const chunks = chunksOf(piece, open.get(ref.id))
    const more = { ...(chunks.length > 0 && { chunks }), session_status: isWorking() ? 'processing' : 'active' }
    features.streamed.set(ref.id, true)
    await requireStreams(call('chat.stopStream', { channel, ts: ref.id, ...more }, { verb: 'close', signal }))
    open.delete(ref.id)
  }

  /** Disables streams if the workspace or channel has none. The sink then edits messages instead. */
  async function requireStreams<T>(called: Promise<T>): Promise<T> {
    try {
      return await called
    } catch (error) {
      const code = errorCodeOf(error)
      if (!(error instanceof PortError) || !(isLacking(code) || isMisplaced(code))) throw error
      if (isLacking(code)) features.streams = false
      else onMisplaced()
      throw new PortError('unreachable', `${error.message}. Streams are not available here.`, { cause: error })
    }
  }
}

function chunksOf(
  { text, tasks, plan }: StreamPiece,
  sent: SentTasks = { tasks: new Set(), length: 0 },
): readonly SlackFields[] {
  return [
    ...(plan ? [{ type: 'plan_update', title: titled(plan) }] : []),
    ...tasks
      .filter((task) => isRoomFor(task, sent))
      .map(({ id, title, status, reason }) => ({
        type: 'task_update',
        id,
        title: titled(title || '…'),
        status: statuses[status],
        ...outputOf(reason, sent),
      })),
    ...(text === '' ? [] : [{ type: 'markdown_text', text }]),
  ]
}

/** Titles come from the model, so their mentions are disabled like the text's. */
function titled(title: string): string {
  return clipped(quieted(title), titleLength)
}

/** The reason that a task failed, shown below its title. Left out once the budget is used up. Slack counts it twice. */
function outputOf(reason: string | undefined, sent: SentTasks): { readonly output?: string } {
  if (reason === undefined) return {}
  const output = titled(reason)
  const length = sent.length + 2 * bytesOf(output)
  if (length > tasksLength) return {}
  sent.length = length
  return { output }
}

/** Skips new tasks once the budget is used up. A task that was sent before always gets its updates. */
function isRoomFor({ id, title }: Task, sent: SentTasks): boolean {
  if (sent.tasks.has(id)) return true
  const length = sent.length + bytesOf(titled(title))
  if (length > tasksLength || sent.tasks.size >= mostTasks) return false
  sent.tasks.add(id)
  sent.length = length
  return true
}

interface StatusTarget {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly features: Features
  readonly clock: Clock
}

/** The activity to show, and the signal that aborts the calls. */
type Showing = Pick<TypingOptions, 'doing' | 'signal'>

/** The status that a thread shows while the agent works. */
interface Status {
  set(on: boolean, options: Showing): Promise<void>
  readonly isOn: boolean
}

/** Characters of a status. Slack documents no limit, but a longer one is unreadable. */
const length = 100

/** Uses two methods together: the session status, which has the Stop button, and the older status text. */
export function createStatus(options: StatusTarget): Status {
  const { call, channelId: channel_id, threadTs: thread_ts, features, clock } = options
  let isOn = false
  let revision = 0
  let last = Promise.resolve()
  return {
    set,
    get isOn() {
      return isOn
    },
  }

  async function set(on: boolean, { doing, signal }: Showing): Promise<void> {
    const isNew = on !== isOn
    isOn = on
    revision += 1
    const turn = revision
    // Sequential. Otherwise a slow call could arrive after the final one, and its status would stay.
    last = last.then(async () => {
      if (isNew) await sendSession(signal)
      if (turn < revision) return
      await send('statuses', { status: on ? clipped(quieted(doing ?? 'is working…'), length) : '' }, signal)
    })
    await last
  }

  /**
   * Sends the current state. Retries the end, because a missed one would leave the session shown as processing for an
   * hour.
   */
  async function sendSession(signal?: AbortSignal): Promise<void> {
    const waitMs = await send('sessions', { status: isOn ? 'processing' : 'active' }, signal)
    if (waitMs !== undefined && !isOn) clock.after(waitMs, () => void sendSession())
  }

  /**
   * Skips a missing or rate-limited feature. Returns how long to wait, in ms, if the call was skipped or refused for
   * its rate.
   */
  async function send(
    feature: 'sessions' | 'statuses',
    fields: SlackFields,
    signal?: AbortSignal,
  ): Promise<number | undefined> {
    const known = features[feature]
    if (!known.has) return undefined
    const waitMs = known.restUntil - clock.now()
    if (waitMs > 0) return waitMs
    try {
      await call(methods[feature], { channel_id, thread_ts, ...fields }, { verb: 'status', signal })
    } catch (error) {
      if (isLacking(errorCodeOf(error))) known.has = false
      if (!(error instanceof PortError) || error.retryAfterMs === undefined) return undefined
      known.restUntil = clock.now() + error.retryAfterMs
      return error.retryAfterMs
    }
    return undefined
  }
}

const methods = { sessions: 'agents.sessions.setStatus', statuses: 'assistant.threads.setStatus' } as const
