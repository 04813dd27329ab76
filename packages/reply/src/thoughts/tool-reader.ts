import type { Change } from '../change.ts'
import { same } from '../fields.ts'
import type { ToolPart, ToolStatus } from '../part.ts'
import { subjectOf } from '../select.ts'
import { readContent, type ThoughtContent, textContent } from './decode/content.ts'
import type { Thought, ThoughtOf, ToolKind } from './thought.ts'

type CallStatus = ThoughtOf<'tool_update'>['status']

const callStatuses: Readonly<Record<ToolStatus, CallStatus>> = {
  pending: 'pending',
  running: 'in_progress',
  completed: 'completed',
  error: 'failed',
}

/** A call that was started and is not done. */
interface StartedCall {
  readonly id: string
  status: CallStatus
  content: readonly ThoughtContent[]
}

/** Creates a function that returns the thoughts about tool calls that a change brings. Empty for any other change. */
export function createToolReader(): (change: Change) => readonly Thought[] {
  const calls = new Map<string, StartedCall>()
  const done = new Set<string>()
  return (change) => {
    if (change.type === 'replySettled') return endAllCalls()
    if (!('part' in change) || change.part.type !== 'tool') return []
    const key = `${change.part.messageID} ${change.part.id}`
    if (change.type === 'partRemoved') return removeCall(key)
    return done.has(key) ? [] : updateCall(key, change.part)
  }

  /**
   * Starts or updates the call, and ends it if it is done. Returns the thoughts of that, and none if neither status nor
   * content changed. Skips a new call whose input is still being written, unless it has a subject.
   */
  function updateCall(key: string, part: ToolPart): readonly Thought[] {
    const { id, state } = part
    const known = calls.get(key)
    // The model is still writing the input, so the call has no subject yet.
    if (!known && state.status === 'pending' && part.status === 'open' && subjectOf(part) === undefined) return []
    const call = known ?? { id, status: 'pending', content: [] }
    calls.set(key, call)
    const started: readonly Thought[] = known
      ? []
      : [{ type: 'tool_start', id, title: callTitle(part), kind: toolKindOf(part) }]
    const status = callStatuses[state.status]
    const content = contentOf(part)
    const isNewContent = content.length > 0 && !same(content, call.content)
    const isDone = status === 'completed' || status === 'failed'
    const isUpdate = isNewContent || (status !== call.status && !isDone)
    call.status = status
    call.content = content
    return [...started, ...(isUpdate ? [updateThought(call)] : []), ...(isDone ? [endCall(key, call)] : [])]
  }

  /**
   * Ends a call that a retry or an undo took back, and returns the thoughts of that. Empty if the call isn't running. A
   * call with this key may start again.
   */
  function removeCall(key: string): readonly Thought[] {
    const call = calls.get(key)
    const ended = call ? [endCall(key, call)] : []
    done.delete(key)
    return ended
  }

  /** Ends the calls that were still running when the reply settled, and returns the thoughts of that. */
  function endAllCalls(): readonly Thought[] {
    return [...calls].map(([key, call]) => endCall(key, call))
  }

  /**
   * Drops the call, ignores later changes of it, and returns its last thought. Every status but `completed` becomes
   * `failed`.
   */
  function endCall(key: string, { id, status }: StartedCall): Thought {
    calls.delete(key)
    done.add(key)
    return { type: 'tool_done', id, status: status === 'completed' ? 'completed' : 'failed' }
  }
}

/** The call's status and all of its content so far. The content is absent if it has none. */
function updateThought({ id, status, content }: StartedCall): Thought {
  return { type: 'tool_update', id, status, ...(content.length > 0 && { content }) }
}

/** The subject or else the tool's name, in one line: a subject of several lines is joined by spaces. */
function callTitle(part: ToolPart): string {
  const subject = subjectOf(part)
    ?.replaceAll(/\s*\n\s*/g, ' ')
    .trim()
  return subject || part.tool
}

/**
 * The content of a call so far: from the source's `metadata.content`, in the shape of the Agent Client Protocol,
 * otherwise its file change, and its output or error. May be empty.
 */
function contentOf(part: ToolPart): readonly ThoughtContent[] {
  const { status, error, metadata } = part.state
  const reported = Array.isArray(metadata?.content) ? metadata.content : undefined
  const failure = status === 'error' && error !== undefined && error !== '' ? [textContent(error)] : []
  if (reported) {
    const content = reported.flatMap((item) => readContent(item) ?? [])
    // A terminal is only a name. Its text is the call's output.
    const printed = content.some(({ type }) => type === 'terminal') ? outputContent(part) : []
    return [...content, ...printed, ...failure]
  }
  return [...diffContent(part), ...outputContent(part), ...failure]
}

/**
 * The file change of an edit or a write, from its input, because servers only report a patch. Empty for a failed call,
 * another kind of tool, and an input without a path and a new text.
 */
function diffContent(part: ToolPart): readonly ThoughtContent[] {
  if (part.state.status === 'error' || toolKindOf(part) !== 'edit') return []
  const { filePath, path = filePath, file_path = path, content, oldString, newString } = part.state.input
  const { old_string = oldString, new_string = newString } = part.state.input
  const newText = content ?? new_string
  if (typeof file_path !== 'string' || typeof newText !== 'string') return []
  return [{ type: 'diff', path: file_path, ...(typeof old_string === 'string' && { oldText: old_string }), newText }]
}

/** The call's output. Empty if it has none. While a shell command runs on OpenCode 1, its output is in the metadata. */
function outputContent({ state }: ToolPart): readonly ThoughtContent[] {
  const output = state.output ?? state.metadata?.output
  return typeof output === 'string' && output !== '' ? [textContent(output)] : []
}

const kinds: Readonly<Record<ToolKind, true>> = {
  read: true,
  edit: true,
  delete: true,
  move: true,
  search: true,
  execute: true,
  think: true,
  fetch: true,
  switch_mode: true,
  other: true,
}

/** Kinds of the tools of OpenCode, Claude Code and Codex, by their lower-case names. */
const kindByTool: ReadonlyMap<string, ToolKind> = new Map([
  ['read', 'read'],
  ['list', 'read'],
  ['ls', 'read'],
  ['skill', 'read'],
  ['edit', 'edit'],
  ['multiedit', 'edit'],
  ['notebookedit', 'edit'],
  ['write', 'edit'],
  ['patch', 'edit'],
  ['apply_patch', 'edit'],
  ['glob', 'search'],
  ['grep', 'search'],
  ['codesearch', 'search'],
  ['bash', 'execute'],
  ['shell', 'execute'],
  ['exec_command', 'execute'],
  ['webfetch', 'fetch'],
  ['websearch', 'fetch'],
  ['task', 'think'],
  ['subagent', 'think'],
  ['agent', 'think'],
  ['todowrite', 'think'],
  ['todoread', 'think'],
  ['plan_enter', 'switch_mode'],
  ['plan_exit', 'switch_mode'],
  ['exitplanmode', 'switch_mode'],
])

/**
 * The kind from the source's `metadata.kind`, otherwise from the tool's name. `other` counts as missing, and is the
 * kind of an unknown tool.
 */
function toolKindOf({ tool, state }: ToolPart): ToolKind {
  const reported = state.metadata?.kind
  return isToolKind(reported) && reported !== 'other' ? reported : (kindByTool.get(tool.toLowerCase()) ?? 'other')
}

function isToolKind(value: unknown): value is ToolKind {
  return typeof value === 'string' && Object.hasOwn(kinds, value)
}
