import type { SlackControl } from './blocks.ts'
import type { Channel, Post, SlackFileSent } from './chat.ts'
import { isLive, type SlackTask } from './stream.ts'

/** A message as a person sees it. */
export interface SlackMessage {
  readonly ts: string
  readonly from: 'bot' | 'user'
  /** For Markdown its source; otherwise the text as displayed. */
  readonly text: string
  readonly mode: 'markdown' | 'plain'
  /** The text in notifications and for screen readers. */
  readonly fallback: string
  /** Rows of buttons and selects. */
  readonly controls: readonly (readonly SlackControl[])[]
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | undefined
  readonly threadTs: string | undefined
  readonly editedTimes: number
  readonly reactions: readonly string[]
  /** Whether text is still being added. */
  readonly isStreaming: boolean
  /** The steps that a stream shows, and their headline. */
  readonly tasks: readonly SlackTask[]
  readonly plan: string
}

/** What a person sees in a channel, or in a thread including its first message, in order. */
export function screenOf({ posts }: Channel, threadTs: string | undefined, now: number): readonly SlackMessage[] {
  const all = [...posts.values()]
  const seen = threadTs === undefined ? all : all.filter((post) => post.ts === threadTs || post.threadTs === threadTs)
  return seen.map((post) => seenOf(post, now))
}

function seenOf({ shown, stream, file, from, ...post }: Post, now: number): SlackMessage {
  return {
    ts: post.ts,
    from: from === 'bot' ? 'bot' : 'user',
    text: shown.text,
    mode: shown.mode,
    fallback: post.fallback,
    controls: shown.rows,
    file: file && nameAndBytes(file),
    threadTs: post.threadTs,
    editedTimes: post.editedTimes,
    reactions: post.reactions,
    isStreaming: stream !== undefined && isLive(stream, now),
    tasks: stream?.tasks ?? [],
    plan: stream?.plan ?? '',
  }
}

function nameAndBytes({ name, bytes }: SlackFileSent): NonNullable<SlackMessage['file']> {
  return { name, bytes }
}
