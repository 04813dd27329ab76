import type { MessageRef } from '@reply/sink'
import { type AppendStream, type EditOptions, PortError, type StreamPiece } from '@reply/sink/channel'
import type { Task } from '@reply/sink/internal'
import type { SlackFields } from '../api.ts'
import { type Call, saysOf } from '../call.ts'
import { type Features, isLacking, isMisplaced } from '../features.ts'
import { bytesOf, mostTasks, streamLength, streamMs, tasksLength } from '../limits.ts'
import { refOf } from '../place.ts'
import { clipped, quieted } from '../render.ts'

/** The person that a stream is shown to. Slack requires it outside of direct messages. */
export interface SlackRecipient {
  /** The user's id: `U…` or `W…`. */
  readonly userId: string
  /** The id of the user's workspace: `T…`. */
  readonly teamId: string
}

export interface StreamOptions {
  readonly call: Call
  readonly channelId: string
  readonly threadTs: string
  readonly recipient: SlackRecipient | undefined
  readonly features: Features
  /** True if the reply goes on after a stream is closed. */
  readonly isWorking: () => boolean
  /** Called if this channel has no streams although the workspace may have them. */
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
export function createStream(options: StreamOptions): AppendStream {
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
    const { ts } = await sure(
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
    await sure(call('chat.appendStream', { channel, ts: ref.id, chunks }, { verb: 'append', signal }))
  }

  async function close(ref: MessageRef, piece: StreamPiece, { signal }: EditOptions): Promise<void> {
    const chunks = chunksOf(piece, open.get(ref.id))
    const more = { ...(chunks.length > 0 && { chunks }), session_status: isWorking() ? 'processing' : 'active' }
    features.streamed.set(ref.id, true)
    await sure(call('chat.stopStream', { channel, ts: ref.id, ...more }, { verb: 'close', signal }))
    open.delete(ref.id)
  }

  /** Stops trying streams where the workspace or channel has none; the sink then edits messages instead. */
  async function sure<T>(called: Promise<T>): Promise<T> {
    try {
      return await called
    } catch (error) {
      const word = saysOf(error)
      if (!(error instanceof PortError) || !(isLacking(word) || isMisplaced(word))) throw error
      if (isLacking(word)) features.streams = false
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

/** Why a task failed, below its title. Left out once the budget is used up. Slack counts it twice. */
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
