import { type Ask, escapeInvisible, type Reply, subjectOf, type ToolPart } from '@reply/core'
import type { Texts } from '../texts.ts'
import { oneLine } from './format.ts'

/** How a tool call ended that did not succeed. */
export type ToolEnd =
  /** The run was stopped while it worked. */
  | { readonly type: 'interrupted' }
  /** A person rejected it, with a reason if they gave one. */
  | { readonly type: 'rejected'; readonly reason: string | undefined }
  /** A rule of the server forbids it. */
  | { readonly type: 'forbidden' }
  /** `reason` is the tool's error, with its line breaks. May be empty. */
  | { readonly type: 'failed'; readonly reason: string }

/** OpenCode's own tools with an underscore: theirs is not a server's name. */
const ownNames = new Set([
  'apply_patch',
  'plan_enter',
  'plan_exit',
  'todo_read',
  'todo_write',
  'web_fetch',
  'web_search',
])

/** A custom tool's name often begins with a verb, as in `send_mail`; a server's does not. */
const verbs =
  /^(?:add|ask|build|call|check|close|create|delete|deploy|do|execute|fetch|find|get|list|make|move|open|post|put|query|read|remove|run|save|search|send|set|show|start|stop|test|update|write)_/

/**
 * A tool's name without its server's. Claude Code writes `mcp__files__read`; OpenCode joins the two by an underscore
 * (https://opencode.ai/docs/mcp-servers): `github_create_issue` becomes `create_issue`. A server whose own name has an
 * underscore loses only the first word.
 */
export function toolLabel(name: string): string {
  const marked = /^mcp__.+?__(.+)$/s.exec(name)?.[1]
  if (marked !== undefined) return marked
  if (ownNames.has(name) || verbs.test(name)) return name
  return /^[A-Za-z0-9-]+_(?=[A-Za-z0-9])(.+)$/s.exec(name)?.[1] ?? name
}

/** "bash: npm test": the tool, and what it works on. */
export function titleOf(part: ToolPart): string {
  const subject = oneLine(subjectOf(part) ?? '', 120)
  const name = escapeInvisible(toolLabel(part.tool))
  return subject === '' ? name : `${name}: ${subject}`
}

// How the errors of rejected, forbidden and stopped calls begin, on OpenCode 1.1 to 1.18 and 2. Others mention the same
// words, as in "EACCES: permission denied".
const rejection =
  /^(?:Error: )?(?:The user (?:rejected permission|dismissed this question|declined this tool call)|(?:Permission|Question)RejectedError\b|PermissionCorrectedError\b)/
const rule = /^(?:Error: )?(?:The user has specified a rule which prevents you|PermissionDeniedError\b)/
const stop = /^(?:Error: )?(?:Tool execution (?:aborted|interrupted)|Task cancelled)\.?$/

// Followed by the reason as it was typed; 1.2 sends it as JSON.
const feedback = /with the following feedback: (.+)$|^PermissionCorrectedError\(\{\s*"feedback":\s*"((?:[^"\\]|\\.)*)"/s

/** How a call ended. Undefined while it runs, and if it succeeded. */
export function toolEndOf(part: ToolPart, { asks }: Pick<Reply, 'asks'>): ToolEnd | undefined {
  const { status, error = '', interrupted } = part.state
  if (interrupted || (part.status === 'sealed' && (status === 'running' || status === 'pending')))
    return { type: 'interrupted' }
  if (status !== 'error') return undefined
  if (rejection.test(error) || asks.some((ask) => isRejectionOf(ask, part)))
    return { type: 'rejected', reason: feedbackIn(error) }
  if (rule.test(error)) return { type: 'forbidden' }
  return stop.test(error.trim()) ? { type: 'interrupted' } : { type: 'failed', reason: error }
}

/** How a call ended, in a line of plain words. Empty if it was interrupted. */
export function endText(end: ToolEnd, texts: Texts): string {
  switch (end.type) {
    case 'rejected':
      return texts.toolDenied({ by: 'person', reason: end.reason && oneLine(end.reason, 200) })
    case 'forbidden':
      return texts.toolDenied({ by: 'rule', reason: undefined })
    case 'failed':
      return texts.toolFailed(oneLine(end.reason, 200))
    case 'interrupted':
      return ''
    default:
      return end satisfies never
  }
}

function isRejectionOf(ask: Ask, { callID }: ToolPart): boolean {
  if (ask.type !== 'permission' || ask.callID !== callID) return false
  return ask.status === 'rejected' || ask.reply === 'reject'
}

/** A person's reason for rejecting. Only the error text for the model contains it. */
function feedbackIn(error: string): string | undefined {
  const [, spoken, quoted = ''] = feedback.exec(error) ?? []
  const reason = (spoken ?? quoted.replace(/\\n/g, ' ').replace(/\\(.)/g, '$1')).trim()
  return reason === '' ? undefined : reason
}
