import type { ToolPart } from '../part.ts'
import { readContent, textContent } from './decode/content.ts'
import type { ThoughtContent } from './thought.ts'
import { kindOf } from './tool-kind.ts'

/**
 * All that a call shows so far: the content that its source tells in `metadata.content`, in the words of the Agent Client
 * Protocol, else its change of a file, and its output or error. Empty if there is nothing.
 */
export function contentOf(part: ToolPart): readonly ThoughtContent[] {
  const { status, error, metadata } = part.state
  const told = Array.isArray(metadata?.content) ? metadata.content : undefined
  const failure = status === 'error' && error !== undefined && error !== '' ? [textContent(error)] : []
  if (told) {
    const content = told.flatMap((item) => readContent(item) ?? [])
    // A terminal is a name alone: what it shows is the call's output.
    const printed = content.some(({ type }) => type === 'terminal') ? outputOf(part) : []
    return [...content, ...printed, ...failure]
  }
  return [...changeOf(part), ...outputOf(part), ...failure]
}

/** What an edit or a write does. Its input tells it: what servers report afterwards is a patch. */
function changeOf(part: ToolPart): readonly ThoughtContent[] {
  if (part.state.status === 'error' || kindOf(part) !== 'edit') return []
  const { filePath, path = filePath, file_path = path, content, oldString, newString } = part.state.input
  const { old_string = oldString, new_string = newString } = part.state.input
  const newText = content ?? new_string
  if (typeof file_path !== 'string' || typeof newText !== 'string') return []
  return [{ type: 'diff', path: file_path, ...(typeof old_string === 'string' && { oldText: old_string }), newText }]
}

/** A shell command of OpenCode 1 tells its output in the metadata while it runs. */
function outputOf({ state }: ToolPart): readonly ThoughtContent[] {
  const output = state.output ?? state.metadata?.output
  return typeof output === 'string' && output !== '' ? [textContent(output)] : []
}
