import type { ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { subjectOf, toolsOf } from '../select.ts'

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
function filesOf(part: ToolPart): readonly string[] {
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
