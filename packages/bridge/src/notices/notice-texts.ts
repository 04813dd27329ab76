import { type Ask, answerOf, type Reply, subjectOf, toolsOf, totalUsage } from '@reply/core'
import { counted, dollars, duration } from '@reply/core/show'
import { type NoticeFields, type NoticeKind, quotable } from '@reply/sink/channel'
import { oneLine } from '@reply/sink/internal'
import type { Execution } from '../state/execution.ts'
import { texts } from '../texts.ts'

/** What a notice says. */
export interface NoticeTexts {
  readonly kind: NoticeKind
  readonly title: string
  readonly text: string
}

/** How much of an answer, an error or a request a notice quotes, in UTF-16 units. */
const quotedLength = 300

/**
 * Returns the texts about the end of a run: the outcome, the time, the changed files and the cost as far as they are known, and
 * the run's id. With `summary`, also the beginning of the answer, or the reason if it did not complete. Texts of a person or an
 * agent are only in the latter.
 */
export function endTexts(
  { id, status, reason, startedAt, finishedAt }: Execution,
  reply: Reply | undefined,
  content: NoticeFields['content'] = 'none',
): NoticeTexts {
  const kind = status === 'error' ? 'failure' : 'final'
  const from = reply?.startedAt ?? startedAt
  const until = reply?.settledAt ?? finishedAt
  const files = reply ? changedFiles(reply).size : 0
  const cost = reply ? totalUsage(reply).cost : 0
  const facts = [
    until === undefined ? undefined : duration(until - from),
    files > 0 ? counted(files, 'file') : undefined,
    cost > 0 ? dollars(cost) : undefined,
    id,
  ]
  const quoted = kind === 'final' && status === 'complete' ? reply && answerOf(reply) : reason
  return {
    kind,
    title: texts.noticeTitles[status],
    text: withQuote(facts.filter((fact) => fact !== undefined).join(' · '), content === 'summary' ? quoted : undefined),
  }
}

/** Returns the texts about an ask: what waits, and the run's id. With `summary`, also the beginning of what is asked. */
export function askTexts(
  { id }: Pick<Execution, 'id'>,
  ask: Ask,
  content: NoticeFields['content'] = 'none',
): NoticeTexts {
  const quoted = ask.type === 'permission' ? ask.title : ask.questions.map(({ question }) => question).join(' ')
  return {
    kind: 'ask',
    title: texts.noticeAsks[ask.type],
    text: withQuote(id, content === 'summary' ? quoted : undefined),
  }
}

/** Returns the facts, with the beginning of a quoted text below them, without secrets. */
function withQuote(facts: string, quoted = ''): string {
  const quote = oneLine(quotable(quoted), quotedLength)
  return quote === '' ? facts : `${facts}\n${quote}`
}

/** The tools that change the file that their call names, in small letters: of OpenCode and of Claude Code. */
const editors: ReadonlySet<string> = new Set(['edit', 'multiedit', 'write', 'notebookedit'])

/** The line of a patch that names a file. */
const patchedFile = /^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm

/**
 * Returns the files that a run and its sub-agents changed: those that the server reports for its steps, or else those of completed
 * calls of the agent's own tools for edits. Changes by commands are only in the former.
 */
export function changedFiles(reply: Reply): ReadonlySet<string> {
  const patched = reply.messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.type === 'patch' ? part.files : [])),
  )
  const own = patched.length > 0 ? patched : toolsOf(reply).flatMap(filesOf)
  return new Set([...own, ...reply.children.flatMap((child) => [...changedFiles(child.reply)])])
}

/** Returns the files that a completed call changed. Empty for other tools. */
function filesOf(part: ReturnType<typeof toolsOf>[number]): readonly string[] {
  const { status, input } = part.state
  if (status !== 'completed') return []
  const tool = part.tool.toLowerCase()
  if (editors.has(tool)) {
    const path = input.filePath ?? input.file_path ?? input.notebook_path ?? subjectOf(part)
    return typeof path === 'string' ? [path] : []
  }
  if (tool !== 'apply_patch' && tool !== 'patch') return []
  const { patchText, changes } = input
  if (typeof patchText === 'string') return [...patchText.matchAll(patchedFile)].map(([, path = '']) => path.trim())
  return Array.isArray(changes) ? changes.flatMap((change: unknown) => pathIn(change)) : []
}

/** Returns the `path` of a value. Empty if it has none. */
function pathIn(value: unknown): readonly string[] {
  return typeof value === 'object' && value !== null && 'path' in value && typeof value.path === 'string'
    ? [value.path]
    : []
}
