import { type Fields, fieldsOf, isFields, textIn } from '../fields.ts'
import type { FileChange } from '../file-change.ts'
import type { Part, ToolPart } from '../part.ts'
import type { Reply } from '../reply.ts'
import { partsOf, subjectOf } from '../select.ts'
import { counted } from './numbers.ts'
import { countLines, hunksIn, patchBetween } from './patch.ts'

/**
 * Returns the files that a run changed, in the order of their first change: what the server reports for its prompts, or
 * else what the run's edits and those of its sub-agents tell, with the files that the server names for its steps. The
 * lines of files that commands changed are then not known. Lines of several edits add up.
 */
export function changesOf(reply: Reply): readonly FileChange[] {
  return mergedChanges(changesOfRun(reply), reply.directory)
}

/** How much changed, as far as it is known. */
export interface ChangeCounts {
  /** How many files changed. */
  readonly files: number
  /** How many lines were added. */
  readonly additions: number
  /** How many lines were removed. */
  readonly deletions: number
}

/** Counts the changed files and lines. */
export function countChanges(changes: readonly FileChange[]): ChangeCounts {
  const sum = (counts: readonly (number | undefined)[]): number =>
    counts.reduce<number>((total, count) => total + (count ?? 0), 0)
  return {
    files: changes.length,
    additions: sum(changes.map(({ additions }) => additions)),
    deletions: sum(changes.map(({ deletions }) => deletions)),
  }
}

/** Returns the counts as people read them: `3 files · +41 −7`. Without the lines if none is known. */
export function changesLine({ files, additions, deletions }: ChangeCounts): string {
  const lines = additions + deletions > 0 ? [`+${additions} −${deletions}`] : []
  return [counted(files, 'file'), ...lines].join(' · ')
}

/**
 * Returns the changes as one unified diff with Git's headers, as `git apply` reads it. A file that was edited several times
 * has a section for each edit. A file whose lines are not known has a comment in place of a section. Empty without changes.
 */
export function diffText(changes: readonly FileChange[]): string {
  return changes.map(fileDiff).join('')
}

/**
 * Returns the changes of a whole session from its messages in their order: for each run what the server reports for its
 * prompts, or else what its edits tell.
 */
export function changesOfMessages(
  messages: readonly {
    readonly head: { readonly role: 'user' | 'assistant'; readonly changes?: readonly FileChange[] | undefined }
    readonly parts: readonly Part[]
  }[],
  directory: string | undefined,
): readonly FileChange[] {
  const changes: FileChange[] = []
  let isReported = false
  let isInRun = false
  for (const { head, parts } of messages) {
    if (head.role === 'assistant') {
      isInRun = true
      if (!isReported) changes.push(...changesOfParts(parts))
      continue
    }
    if (isInRun) isReported = false
    isInRun = false
    const reported = head.changes ?? []
    isReported ||= reported.length > 0
    changes.push(...reported)
  }
  return mergedChanges(changes, directory)
}

/** Returns what a run changed, with the paths of its source. Several changes of one file are not merged. */
function changesOfRun(reply: Reply): readonly FileChange[] {
  const reported = Object.values(reply.changes ?? {}).flat()
  if (reported.length > 0) return reported
  return [...changesOfParts(partsOf(reply)), ...reply.children.flatMap((child) => changesOfRun(child.reply))]
}

/** Returns the changes of the completed edits, then those files of the steps that no edit names. */
function changesOfParts(parts: readonly Part[]): readonly FileChange[] {
  const kept = parts.filter(({ status }) => status !== 'abandoned')
  const edits = kept.flatMap((part) => (part.type === 'tool' ? changesOfCall(part) : []))
  const files = kept.flatMap((part) => (part.type === 'patch' ? part.files : []))
  return [...edits, ...files.map(unknownChange)]
}

/** Merges the changes of each file, with paths relative to the directory. A file that was added and deleted is left out. */
export function mergedChanges(changes: readonly FileChange[], directory: string | undefined): readonly FileChange[] {
  const byPath = new Map<string, FileChange>()
  for (const change of changes) {
    const path = relativePath(change.path, directory)
    const from = change.from === undefined ? undefined : relativePath(change.from, directory)
    const known = byPath.get(from ?? path)
    if (from !== undefined) byPath.delete(from)
    const one = { ...change, path, ...(from !== undefined && { from }) }
    const merged = known ? followedBy(known, one) : one
    if (merged) byPath.set(path, merged)
    else byPath.delete(path)
  }
  return [...byPath.values()]
}

/** Returns a change and a later one of the same file as one. Undefined if they leave no file where there was none. */
function followedBy(first: FileChange, next: FileChange): FileChange | undefined {
  if (first.kind === 'added' && next.kind === 'deleted') return undefined
  const isRestored = first.kind === 'deleted' && next.kind !== 'deleted'
  const kind = isRestored ? 'modified' : next.kind === 'modified' ? first.kind : next.kind
  const from = kind === 'renamed' ? (first.from ?? next.from) : undefined
  return {
    path: next.path,
    kind: first.kind === 'added' ? 'added' : kind,
    ...(from !== undefined && first.kind !== 'added' && { from }),
    ...((first.isBinary || next.isBinary) && { isBinary: true as const }),
    additions: sumKnown(first.additions, next.additions),
    deletions: sumKnown(first.deletions, next.deletions),
    patches: [...first.patches, ...next.patches],
  }
}

/** Returns the sum of the known counts. Undefined if none is known. */
function sumKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0)
}

/** Returns the path below the directory, or the path as it is if it is not inside. */
function relativePath(path: string, directory: string | undefined): string {
  if (directory !== undefined && (path.startsWith(`${directory}/`) || path.startsWith(`${directory}\\`)))
    return path.slice(directory.length + 1)
  return path.startsWith('./') ? path.slice(2) : path
}

/** Returns a change without anything but its file. */
function unknownChange(path: string): FileChange {
  return { path, kind: 'modified', patches: [] }
}

/** The tools that change the file that their call names, in small letters: of OpenCode and of Claude Code. */
const editors: ReadonlySet<string> = new Set(['edit', 'multiedit', 'write', 'notebookedit'])

/** Tools whose input is a patch of several files: of OpenCode and of Codex. */
const patchers: ReadonlySet<string> = new Set(['apply_patch', 'patch'])

/** The line of a patch in the format of Codex that names a file. */
const patchedFile = /^\*\*\* (Add|Update|Delete) File: (.+)$/gm

/** Returns the changes of a completed call. Empty for calls of other tools, and for a call that did not complete. */
function changesOfCall(part: ToolPart): readonly FileChange[] {
  const { status, metadata = {} } = part.state
  if (status !== 'completed') return []
  const tool = part.tool.toLowerCase()
  // An agent may give its tools any name, but only the content of an edit has a diff.
  const content = listIn(metadata.content).flatMap(changeOfContent)
  const isEdit = editors.has(tool)
  if (!isEdit && !patchers.has(tool)) return content
  const told = [...listIn(metadata.files), metadata.filediff].flatMap(changeOfFields)
  if (told.length > 0) return told
  const path = isEdit ? pathOf(part) : undefined
  if (path !== undefined) return content.length > 0 ? content : [editOfFile(path, part)]
  return content.length > 0 ? content : patchedFiles(part.state.input)
}

/** Returns the path that the call of an edit names. Undefined if it names none. */
function pathOf(part: ToolPart): string | undefined {
  const { filePath, file_path: path = filePath, notebook_path: ofNotebook = path } = part.state.input
  return typeof ofNotebook === 'string' ? ofNotebook : subjectOf(part)
}

/** Returns the change of a call that names one file: by its hunks, its diff or its input, or else unknown. */
function editOfFile(path: string, { state }: ToolPart): FileChange {
  const { input, metadata = {}, output = '' } = state
  const hunks = claudeHunks(metadata.structuredPatch)
  if (hunks !== '') return changeWith(path, 'modified', hunks)
  const diff = hunksIn(textIn(metadata.diff))
  if (diff !== '') return changeWith(path, 'modified', diff)
  const isNew = metadata.exists === false || metadata.type === 'create' || /^(Created|File created)/.test(output)
  if (isNew && typeof input.content === 'string') return changeWith(path, 'added', patchBetween('', input.content))
  return { ...unknownChange(path), kind: isNew ? 'added' : 'modified' }
}

/** Returns the hunks of Claude Code's `structuredPatch`. Empty for another value. */
function claudeHunks(value: unknown): string {
  const diff = listIn(value).map((hunk) => {
    const { oldStart, oldLines, newStart, newLines, lines } = hunk
    return `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@\n${listOfTexts(lines).join('\n')}\n`
  })
  return hunksIn(diff.join(''))
}

/**
 * Returns the change that OpenCode reports for a file: its diff, or its text before and after, with the number of lines.
 * An empty diff of a file means that it is binary. As a list of one, empty for another value.
 */
export function changeOfFields(value: unknown): readonly FileChange[] {
  const {
    file,
    relativePath: relative,
    filePath,
    movePath,
    patch,
    diff,
    before,
    after,
    ...rest
  } = fieldsOf(value) ?? {}
  const path = [file, relative, filePath].find((one) => typeof one === 'string')
  if (typeof path !== 'string') return []
  const { status, type, additions, deletions } = rest
  const kind = kindOf(status ?? type)
  const text = [patch, diff].find((one) => typeof one === 'string')
  const isCompared = text === undefined && typeof before === 'string' && typeof after === 'string'
  const hunks = isCompared ? patchBetween(before, after) : hunksIn(textIn(text))
  const counted = hunks === '' ? { additions: 0, deletions: 0 } : countLines(hunks)
  const isBinary = text === '' || (isCompared && before === '' && after === '')
  const moved =
    typeof movePath === 'string' && movePath !== '' ? { path: movePath, from: path, kind: 'renamed' as const } : {}
  return [
    {
      path,
      kind,
      ...moved,
      ...(isBinary && { isBinary: true as const }),
      additions: typeof additions === 'number' ? additions : counted.additions,
      deletions: typeof deletions === 'number' ? deletions : counted.deletions,
      patches: hunks === '' ? [] : [hunks],
    },
  ]
}

const kinds: Readonly<Record<string, FileChange['kind']>> = {
  add: 'added',
  added: 'added',
  delete: 'deleted',
  deleted: 'deleted',
}

/** Returns the kind for the word of a source. `modified` for any other value. */
function kindOf(word: unknown): FileChange['kind'] {
  return (typeof word === 'string' && Object.hasOwn(kinds, word) ? kinds[word] : undefined) ?? 'modified'
}

/** Returns the change of a `diff` of the Agent Client Protocol, which has both texts. As a list of one, or empty. */
function changeOfContent(item: Fields): readonly FileChange[] {
  const { type, path, oldText, newText } = item
  if (type !== 'diff' || typeof path !== 'string' || typeof newText !== 'string') return []
  const isNew = typeof oldText !== 'string'
  return [changeWith(path, isNew ? 'added' : 'modified', patchBetween(isNew ? '' : oldText, newText))]
}

/** Returns the files of a patch: Codex's list with a diff for each file, or the files that a patch text names. */
function patchedFiles({ patchText, changes }: Fields): readonly FileChange[] {
  if (typeof patchText === 'string')
    return [...patchText.matchAll(patchedFile)].map(([, word = '', path = '']) => ({
      ...unknownChange(path.trim()),
      kind: kindOf(word.toLowerCase()),
    }))
  return listIn(changes).flatMap(changeOfCodex)
}

/** Returns a file of a change of Codex, whose diff is the whole text of a file that was added or deleted. */
function changeOfCodex({ path, diff, kind }: Fields): readonly FileChange[] {
  if (typeof path !== 'string') return []
  const { type: word, move_path: moved } = isFields(kind) ? kind : { type: kind, move_path: undefined }
  const found = kindOf(word)
  const text = textIn(diff)
  if (found === 'added') return [changeWith(path, found, patchBetween('', text))]
  if (found === 'deleted') return [changeWith(path, found, patchBetween(text, ''))]
  const change = text === '' ? unknownChange(path) : changeWith(path, found, hunksIn(text))
  return [typeof moved === 'string' ? { ...change, path: moved, from: path, kind: 'renamed' } : change]
}

/** Returns a change with these hunks, whose lines are counted. */
function changeWith(path: string, kind: FileChange['kind'], hunks: string): FileChange {
  return { path, kind, ...countLines(hunks), patches: hunks === '' ? [] : [hunks] }
}

/** Returns the objects of a list. Empty for another value. */
function listIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : []
}

/** Returns the texts of a list. Empty for another value. */
function listOfTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** Returns the sections of a file in a unified diff, one for each patch, or a comment if nothing is known of its lines. */
function fileDiff({ path, from = path, kind, isBinary, additions, patches }: FileChange): string {
  if (patches.length === 0 && additions === undefined && kind !== 'renamed')
    return `# ${quotedPath(path)}: the lines are not known\n`
  const next = quotedPath(`b/${path}`)
  const sections = patches.length === 0 ? [''] : patches
  return sections
    .map((hunks, index) => {
      const isAdded = kind === 'added' && index === 0
      const isDeleted = kind === 'deleted' && index === sections.length - 1
      const isRenamed = kind === 'renamed' && index === 0
      const old = quotedPath(`a/${isRenamed ? from : path}`)
      const head = [
        `diff --git ${old} ${next}`,
        ...(isAdded ? ['new file mode 100644'] : []),
        ...(isDeleted ? ['deleted file mode 100644'] : []),
        ...(isRenamed ? [`rename from ${quotedPath(from)}`, `rename to ${quotedPath(path)}`] : []),
      ]
      const sides = [`--- ${isAdded ? '/dev/null' : old}`, `+++ ${isDeleted ? '/dev/null' : next}`]
      const binary = isBinary ? [`Binary files ${old} and ${next} differ`] : []
      return `${[...head, ...(hunks === '' ? binary : sides)].join('\n')}\n${hunks}`
    })
    .join('')
}

/** Returns a path as Git writes it: in quotes if it has a control character, a quote or a backslash. */
function quotedPath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: names of files may have any.
  if (!/[\u0000-\u001f\u007f"\\]/.test(path)) return path
  const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\t': '\\t', '\r': '\\r', '"': '\\"', '\\': '\\\\' }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: names of files may have any.
  const escaped = path.replaceAll(/[\u0000-\u001f\u007f"\\]/g, (character) => {
    return escapes[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`
  })
  return `"${escaped}"`
}
