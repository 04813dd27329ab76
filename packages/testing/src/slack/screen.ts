import type { SlackControl } from './blocks.ts'
import type { Channel, Post, SlackFileSent } from './chat.ts'
import { isLive, type SlackTask } from './stream.ts'

/** A message as a person sees it. */
export interface SlackMessage {
  /** The message's id: Slack's timestamp. */
  readonly ts: string
  /** `bot` for the app under test, else `user`. */
  readonly from: 'bot' | 'user'
  /** The source of Markdown, otherwise the text as displayed. */
  readonly text: string
  /** How `text` is written. */
  readonly mode: 'markdown' | 'plain'
  /** The text in notifications and for screen readers. */
  readonly fallback: string
  /** Rows of buttons and selects. */
  readonly controls: readonly (readonly SlackControl[])[]
  /** The attached file, if any. The first of several. */
  readonly file: { readonly name: string; readonly bytes: Uint8Array } | undefined
  /** All attached files. */
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[]
  /** The `ts` of its thread's first message. Absent outside of threads. */
  readonly threadTs: string | undefined
  /** How often it was edited. */
  readonly editedTimes: number
  /** Names of the emoji below it, without colons. */
  readonly reactions: readonly string[]
  /** Whether text is still being added. */
  readonly isStreaming: boolean
  /** The steps that a stream shows, and their headline. */
  readonly tasks: readonly SlackTask[]
  /** The headline above the steps. May be empty. */
  readonly plan: string
}

/** The messages that a person sees in a channel, or in a thread including its first message, in order. */
export function screenOf({ posts }: Channel, threadTs: string | undefined, now: number): readonly SlackMessage[] {
  const all = [...posts.values()]
  const shown = threadTs === undefined ? all : all.filter((post) => post.ts === threadTs || post.threadTs === threadTs)
  return shown.map((post) => messageShown(post, now))
}

/** A message as a person sees it now. It is streaming as long as its stream lives. */
function messageShown({ shown, stream, files = [], from, ...post }: Post, now: number): SlackMessage {
  return {
    ts: post.ts,
    from: from === 'bot' ? 'bot' : 'user',
    text: shown.text,
    mode: shown.mode,
    fallback: post.fallback,
    controls: shown.rows,
    file: files.map(nameAndBytes)[0],
    files: files.map(nameAndBytes),
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
