import type { Ask } from '../ask.ts'
import type { ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { subjectOf } from '../select.ts'
import { reasonIn } from './reason.ts'

/** Facts about a tool call for people. Texts may contain any characters: escape them for your output. */
export interface ToolFacts {
  /** The tool's name without its server's. Never empty. */
  readonly name: string
  /** The subject of the call, for example a command or a file within the reply's directory. Undefined if unknown. */
  readonly subject: string | undefined
  /** How it ended. Undefined while it runs and if it succeeded. */
  readonly end: ToolEnd | undefined
}

/** How a tool call ended that did not succeed. */
export type ToolEnd =
  /** The run was stopped during the call. */
  | { readonly type: 'interrupted' }
  /** A person rejected it, with a reason if they gave one. */
  | { readonly type: 'rejected'; readonly reason: string | undefined }
  /** A rule of the server forbids it. */
  | { readonly type: 'forbidden' }
  /** `reason` is the tool's error in one line. May be empty. */
  | { readonly type: 'failed'; readonly reason: string }
  /** The exit code of its command. Never 0. */
  | { readonly type: 'exited'; readonly code: number }

/**
 * The facts of a tool call: its name, its subject and how it ended. A blank name becomes `tool`. A call that the model
 * made wrongly has no subject.
 */
export function toolFacts(part: ToolPart, reply: Pick<Reply, 'asks' | 'directory'>): ToolFacts {
  const name = toolLabel(part.tool).trim() || 'tool'
  return { name, subject: isInvalid(part) ? undefined : localSubject(part, reply), end: toolEndOf(part, reply) }
}

/** OpenCode's own tools that have an underscore. The word before it is not the name of a server. */
const ownNames = new Set([
  'apply_patch',
  'plan_enter',
  'plan_exit',
  'todo_read',
  'todo_write',
  'web_fetch',
  'web_search',
])

/** A custom tool's name often begins with a verb, as in `send_mail`. A server's name does not. */
const verbs =
  /^(?:add|ask|build|call|check|close|create|delete|deploy|do|execute|fetch|find|get|list|make|move|open|post|put|query|read|remove|run|save|search|send|set|show|start|stop|test|update|write)_/

/**
 * A tool's name without its server's. Claude Code writes `mcp__files__read`. OpenCode joins the two by an underscore
 * (https://opencode.ai/docs/mcp-servers): `github_create_issue` becomes `create_issue`. A server whose own name has an
 * underscore loses only the first word. OpenCode's own tools, and names that begin with a verb, stay as they are.
 */
function toolLabel(name: string): string {
  const marked = /^mcp__.+?__(.+)$/s.exec(name)?.[1]
  if (marked !== undefined) return marked
  if (ownNames.has(name) || verbs.test(name)) return name
  return /^[A-Za-z0-9-]+_(?=[A-Za-z0-9])(.+)$/s.exec(name)?.[1] ?? name
}

/** The subject of the call, with paths relative to the reply's directory. Undefined if unknown. */
function localSubject(part: ToolPart, { directory = '' }: Pick<Reply, 'directory'>): string | undefined {
  const subject = subjectOf(part)
  return directory.length > 1 ? subject?.replaceAll(`${directory}/`, '') : subject
}

/**
 * Whether the model called an unknown tool, or with wrong arguments. OpenCode then reports a completed call of its own
 * tool.
 */
function isInvalid({ state }: ToolPart): boolean {
  return state.status === 'completed' && state.title === 'Invalid Tool'
}

// How the errors of rejected, forbidden and stopped calls begin, on OpenCode 1.1 to 1.18 and 2. Others mention the same
// words, as in "EACCES: permission denied".
const rejectedError =
  /^(?:Error: )?(?:The user (?:rejected permission|dismissed this question|declined this tool call)|(?:Permission|Question)RejectedError\b|PermissionCorrectedError\b)/
const forbiddenError = /^(?:Error: )?(?:The user has specified a rule which prevents you|PermissionDeniedError\b)/
const stoppedError = /^(?:Error: )?(?:Tool execution (?:aborted|interrupted)|Task cancelled)\.?$/

// Followed by the reason as it was typed. 1.2 sends it as JSON.
const rejectionFeedback =
  /with the following feedback: (.+)$|^PermissionCorrectedError\(\{\s*"feedback":\s*"((?:[^"\\]|\\.)*)"/s

/**
 * How the call ended. Undefined while it runs, and if it succeeded. A call that was still running at its reply's end is
 * interrupted. Its error, or a rejected permission for it, tells whether it was rejected, forbidden or interrupted
 * instead of failed.
 */
function toolEndOf(part: ToolPart, { asks }: Pick<Reply, 'asks'>): ToolEnd | undefined {
  const { status, error = '', interrupted, input, metadata } = part.state
  if (interrupted || (part.status === 'sealed' && (status === 'running' || status === 'pending')))
    return { type: 'interrupted' }
  if (isInvalid(part)) {
    const isUnknown = typeof input.error === 'string' && input.error.includes('unavailable tool')
    return { type: 'failed', reason: isUnknown ? 'no such tool' : 'invalid call' }
  }
  if (status === 'completed') {
    const code = metadata?.exit
    return typeof code === 'number' && code !== 0 ? { type: 'exited', code } : undefined
  }
  if (status !== 'error') return undefined
  if (rejectedError.test(error) || asks.some((ask) => isRejectionOf(ask, part)))
    return { type: 'rejected', reason: feedbackIn(error) }
  if (forbiddenError.test(error)) return { type: 'forbidden' }
  return stoppedError.test(error.trim()) ? { type: 'interrupted' } : { type: 'failed', reason: reasonIn(error) }
}

/** Whether the error of a call says that a person rejected it, without a reason that the agent could go on with. */
export function isRejectedForGood({ state: { status, error = '' } }: ToolPart): boolean {
  return status === 'error' && rejectedError.test(error) && !rejectionFeedback.test(error)
}

/** Whether the ask is a permission for this call that was rejected. */
function isRejectionOf(ask: Ask, { callID }: ToolPart): boolean {
  if (ask.type !== 'permission' || ask.callID !== callID) return false
  return ask.status === 'rejected' || ask.reply === 'reject'
}

/** The person's reason for rejecting, from the error text for the model. Undefined if none is given. */
function feedbackIn(error: string): string | undefined {
  const [, plainText, jsonText = ''] = rejectionFeedback.exec(error) ?? []
  const reason = (plainText ?? jsonText.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1')).trim()
  return reason === '' ? undefined : reason
}
