import type { MessageHead, SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { hasMessageEnded } from '../reduce/message.ts'
import { isRejectedForGood } from '../show/tool.ts'

/** A message as returned by REST. */
export type ReadMessage = SnapshotEvent['messages'][number]

/**
 * The index where the session's last run starts. Messages that the server itself inserted, such as after a compaction,
 * or that arrived during a step continue the run. -1 without a user message.
 */
export function lastRunStart(messages: readonly ReadMessage[]): number {
  for (let at = messages.length - 1; at > 0; at--) if (isRunStart(messages, at)) return at
  return messages.findIndex((message) => message.head.role === 'user')
}

/**
 * The first index of each of the session's runs, in order: the first user message, then the prompts that don't continue
 * a run. A prompt after a step that never ended continues its run. Empty without a user message.
 */
export function runStarts(messages: readonly ReadMessage[]): readonly number[] {
  const first = messages.findIndex((message) => message.head.role === 'user')
  return messages.flatMap((_, at) => (at === first || (at > first && isRunStart(messages, at)) ? [at] : []))
}

/** A run that is followed by another one, and how it ended. */
export interface RunEnd {
  /** Index of the user message that begins the next run. */
  readonly nextIndex: number
  /** `lost`: one of its steps never ended. Only a restarted server continues after that. */
  readonly by: 'rest' | 'lost'
}

/**
 * Where the run that began at `startIndex` ends and the next begins: at a prompt after its end (`rest`), or at one that
 * the server went on with although the step before never ended (`lost`). `isKnown` identifies the messages that the
 * stream assigned to this run. Such a prompt only begins another one if it came after the end of the last step that is
 * known of this run, and the server goes on: the idle in between was missed. Undefined if no other run follows.
 */
export function runEnd(
  { messages, status }: Pick<SnapshotEvent, 'messages' | 'status'>,
  startIndex: number,
  isKnown: (id: string) => boolean,
): RunEnd | undefined {
  const lastKnownStep = messages.findLastIndex(({ head }) => head.role === 'assistant' && isKnown(head.id))
  for (let nextIndex = startIndex + 1; nextIndex < messages.length; nextIndex++) {
    const message = messages[nextIndex]
    if (message?.head.role !== 'user') continue
    const isAnswered = messages.some(({ head }, index) => index > nextIndex && head.role === 'assistant')
    if (isKnown(message.head.id)) {
      const isEndMissed = nextIndex > lastKnownStep && (isAnswered || status !== 'idle')
      if (isEndMissed && isRunStart(messages, nextIndex)) return { nextIndex, by: 'rest' }
      continue
    }
    if (isRunStart(messages, nextIndex)) return { nextIndex, by: 'rest' }
    const before = messages.slice(startIndex, nextIndex).findLast(({ head }) => head.role === 'assistant')
    if (before && !hasMessageEnded(before.head) && (isAnswered || status === 'idle') && !isInserted(message.parts))
      return { nextIndex, by: 'lost' }
  }
  return undefined
}

/**
 * Whether the message at this index begins a run: it is a prompt that arrived after the previous step had ended for
 * good. Depends only on that step and the prompt. False for the first message, and for one that the server inserted to
 * compact or to continue after that.
 */
export function isRunStart(messages: readonly ReadMessage[], index: number): boolean {
  const asked = messages[index]
  const before = messages[index - 1]
  if (asked?.head.role !== 'user' || before?.head.role !== 'assistant') return false
  if (isAutoCompaction(asked.parts) || (before.head.summary && isInserted(asked.parts))) return false
  return isAskedAfter(before, asked.head)
}

/**
 * Whether a prompt arrived after a step that had ended for good. False if the step goes on with tool calls, or the
 * prompt is from the time of the step. Without times, an ended step counts as earlier, and so does one that began after
 * the prompt, because the server's clock was set back then.
 */
export function isAskedAfter(step: EndedStep, { createdAt }: Pick<MessageHead, 'createdAt'>): boolean {
  const { createdAt: begunAt, completedAt } = step.head
  if (!hasMessageEnded(step.head) || goesOn(step)) return false
  if (completedAt === undefined || createdAt === undefined || createdAt >= completedAt) return true
  // Older than the step itself: the server's clock was set back in between.
  return begunAt !== undefined && createdAt < begunAt
}

/** What tells how a step ended. */
interface EndedStep {
  readonly head: Pick<MessageHead, 'createdAt' | 'completedAt' | 'error' | 'finish' | 'endsRun' | 'output'>
  readonly parts: readonly Part[]
}

/**
 * Whether the model is called again after this step, because it called tools. False if a call gave the value that the
 * prompt asked for, or a person rejected a call without a reason: both end the run.
 */
function goesOn({ head: { error, finish, endsRun, output }, parts }: EndedStep): boolean {
  if (error !== undefined || finish !== 'tool-calls' || endsRun || output !== undefined) return false
  return !parts.some((part) => part.type === 'tool' && isRejectedForGood(part))
}

/**
 * Drops undecided prompts at the end: those whose parts are not stored yet, and those after an unfinished step while
 * the session is busy. They may continue its run, or begin one on a restarted server. The message that answers them
 * will decide. Keeps those that `isKnown`.
 */
export function withoutUndecided(
  { messages, status }: Pick<SnapshotEvent, 'messages' | 'status'>,
  isKnown: (id: string) => boolean,
): readonly ReadMessage[] {
  const lastAnswerIndex = messages.findLastIndex(({ head }) => head.role === 'assistant')
  const before = messages[lastAnswerIndex]
  const isUndecided = status !== 'idle' && before !== undefined && !hasMessageEnded(before.head)
  return messages.filter(
    ({ head, parts }, at) =>
      at <= lastAnswerIndex || isKnown(head.id) || !(parts.length === 0 || (isUndecided && !isInserted(parts))),
  )
}

/**
 * Whether the server inserted the message: into a run, or to report a background sub-agent's end. False without parts.
 */
export function isInserted(parts: readonly Part[]): boolean {
  return (
    isAutoCompaction(parts) ||
    (parts.length > 0 && parts.every((part) => 'synthetic' in part && part.synthetic === true))
  )
}

/** Whether the server itself requested the compaction, because the context was full. False without parts. */
function isAutoCompaction(parts: readonly Part[]): boolean {
  return parts.length > 0 && parts.every((part) => part.type === 'compaction' && part.auto)
}
