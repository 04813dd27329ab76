import type { Child, Reply } from '@reply/core'
import { allReplies } from './truth.ts'

/**
 * How each scenario ends: its root replies in order of opening, each with its sub-agents' in brackets. `background`
 * marks one that outlives its parent's reply: it is `open` there, and continues in the next.
 */
const outcomes: Readonly<Record<string, string>> = {
  'abort-before-text': 'aborted',
  'abort-child': 'aborted[aborted]',
  'abort-child-permission': 'aborted[aborted]',
  'abort-permission': 'aborted',
  'abort-question': 'aborted',
  'abort-reasoning': 'aborted',
  'abort-text': 'aborted',
  'abort-then-prompt': 'aborted completed',
  'abort-tool': 'aborted',
  'bad-arguments': 'completed',
  'bad-request': 'failed',
  burst: 'completed',
  'chunked-output': 'completed',
  command: 'completed',
  'command-subtask': 'completed[completed]',
  'compaction-auto': 'completed',
  'compaction-manual': 'completed completed completed',
  'compaction-overflow': 'completed',
  disposed: 'aborted',
  'empty-answer': 'completed',
  'failing-command': 'completed',
  'failing-read': 'completed',
  'file-prompt': 'completed',
  'finish-length': 'completed',
  fork: 'completed completed',
  killed: 'lost',
  'killed-then-prompt': 'lost completed',
  'killed-tool': 'lost',
  'large-output': 'completed',
  'long-markdown': 'completed',
  'mcp-files': 'completed',
  'no-reply': 'completed',
  'no-reply-then-prompt': 'completed',
  'parallel-tools': 'completed',
  'part-removed': 'completed completed',
  'permission-always': 'completed',
  'permission-always-parallel': 'completed',
  'permission-denied': 'completed',
  'permission-edit': 'completed',
  'permission-once': 'completed',
  'permission-rejected': 'stopped',
  'permission-rejected-message': 'completed',
  'permission-rejected-parallel': 'stopped',
  'permission-twice': 'completed',
  plain: 'completed',
  'plan-agent': 'completed',
  question: 'completed',
  'rejected-then-prompt': 'stopped completed',
  'question-rejected': 'stopped',
  'questions-multi': 'completed',
  'read-picture': 'completed',
  'reasoning-only': 'completed',
  'reasoning-text': 'completed',
  'retry-429': 'completed',
  'retry-aborted': 'aborted',
  'retry-cut': 'completed',
  'retry-cut-closed': 'completed',
  'retry-cut-reasoning': 'completed',
  'retry-cut-tool': 'completed',
  'retry-later-step': 'completed',
  'retry-twice': 'completed',
  revert: 'completed completed completed',
  'revert-undone': 'completed completed',
  'second-prompt': 'completed',
  'second-prompt-tool': 'completed',
  'session-deleted': 'lost',
  shell: 'completed',
  subagent: 'completed[completed]',
  'subagent-background': 'completed[background open] completed[background completed] completed',
  'subagent-failing': 'completed[failed]',
  'subagent-nested': 'completed[completed[completed]]',
  'subagent-nested-permission': 'completed[completed[completed]]',
  'subagent-parallel': 'completed[completed completed]',
  'subagent-permission': 'completed[completed]',
  'subagent-question': 'completed[completed]',
  'subagent-resumed': 'completed[completed completed]',
  'tool-only': 'completed',
  'tools-todos': 'completed',
  'trailing-space': 'completed',
  'two-sessions': 'completed completed',
  'two-turns': 'completed completed',
  unauthorized: 'failed',
  unicode: 'completed',
  'unknown-model': 'failed',
  'unknown-tool': 'completed',
  'write-edit': 'completed',
}

/** Versions whose server behaves differently. */
const exceptions: Readonly<Record<string, string>> = {
  // It doesn't compact on overflow: the error is the end.
  '1.1.65/compaction-overflow': 'failed',
  // The stream ends with the instance, before the end of the run.
  '1.1.65/disposed': 'lost',
  '1.2.27/disposed': 'lost',
  '1.14.41/disposed': 'lost',
}

export const scenarios: readonly string[] = Object.keys(outcomes)

export function outcomesOf(version: string, scenario: string): string | undefined {
  return exceptions[`${version}/${scenario}`] ?? outcomes[scenario]
}

export function tellOutcomes(replies: readonly Reply[]): string {
  return replies.map(tellOutcome).join(' ')
}

function tellOutcome(reply: Reply): string {
  const own = reply.outcome ?? 'open'
  if (reply.children.length === 0) return own
  const children = reply.children.map((child) => `${child.background ? 'background ' : ''}${tellOutcome(child.reply)}`)
  return `${own}[${children.join(' ')}]`
}

/**
 * The replies with their sub-agents in the order of the calls that started them. A reply lists them in order of
 * arrival, and a server may create those of parallel calls in any order.
 */
export function inOrderOfCalls(replies: readonly Reply[]): readonly Reply[] {
  const parts = allReplies(replies).flatMap(({ messages }) => messages.flatMap((message) => message.parts))
  const calls = parts.flatMap((part) => (part.type === 'tool' ? [part.callID] : []))
  const placeOf = ({ callID }: Child): number => (callID === undefined ? -1 : calls.indexOf(callID))
  const ordered = (reply: Reply): Reply => ({
    ...reply,
    children: reply.children
      .toSorted((one, other) => placeOf(one) - placeOf(other))
      .map((child) => ({ ...child, reply: ordered(child.reply) })),
  })
  return replies.map(ordered)
}
