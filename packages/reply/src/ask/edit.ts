import { type Fields, isFields, textIn } from '../fields.ts'
import { escapeDeceptive } from '../text/escape-deceptive.ts'
import type { CallPath } from './call-path.ts'
import type { AskDetail, ToolDetails } from './details.ts'

/** One replacement, or a patch, which already is a diff. A replacement without `before` writes the whole file. */
type InputEdit = {
  readonly title?: string | undefined
  /** Whether the title has something that no diff of the server shows. */
  readonly needsTitle?: boolean | undefined
} & (
  | { readonly before?: string | undefined; readonly after: string; readonly patch?: undefined }
  | { readonly patch: string }
)

/**
 * Shows an edit as a diff: the server's diff if it has everything that the input has. Otherwise one made from the
 * input, followed by the server's if that adds anything. No details if the input has no edit. OpenCode truncates its
 * diff to a few lines around each change, and removes the common indentation. The title names the file, so a diff of
 * that file doesn't.
 */
export function editDetails(input: Fields, metadata: Fields, callPath: CallPath | undefined): ToolDetails {
  const { edits, fields: covered } = editsIn(input, callPath?.written ?? '')
  const serverDiff = textIn(metadata.diff)
  const shown = callPath === undefined ? serverDiff : withoutFileHeader(serverDiff, callPath.isSame)
  if (edits.length === 0) return { details: [], covered }
  if (serverDiff !== '' && edits.every((edit) => showsWholeEdit(serverDiff, edit))) {
    return {
      details: [diffDetail('', shown)],
      covered,
      coveredMetadata: [serverDiff, ...coveredDiffs(metadata, serverDiff)],
    }
  }
  const fromInput = edits.flatMap(diffOf).join('\n')
  const isRepeated = serverDiff === '' || isCoveredBy(serverDiff, fromInput)
  return {
    details: [diffDetail('', fromInput), ...(isRepeated ? [] : [diffDetail("The server's diff", shown)])],
    covered,
    coveredMetadata: [serverDiff, ...coveredDiffs(metadata, `${fromInput}\n${serverDiff}`)],
  }
}

interface InputEdits {
  readonly edits: readonly InputEdit[]
  /** The input fields that these edits cover. All other fields are listed by name. */
  readonly fields: readonly string[]
}

/**
 * The edits that an input asks for: its patch, else its list of edits, else its replacement, else its whole content.
 * Several edits get titles, which name a file other than `path`, the file of the call. Empty if it has none of these
 * fields.
 */
function editsIn(input: Fields, path: string): InputEdits {
  const { patchText, edits, oldString, newString, content } = input
  if (typeof patchText === 'string' && patchText !== '') return { edits: [{ patch: patchText }], fields: ['patchText'] }
  if (Array.isArray(edits)) {
    const several = edits.flatMap((edit: unknown, at) =>
      isFields(edit) ? editsIn(edit, path).edits.map((inner) => ({ ...inner, ...editTitle(edit, path, at) })) : [],
    )
    return { edits: several, fields: edits.every((edit) => isFullyShown(edit, path)) ? ['edits'] : [] }
  }
  const replaced = { before: textIn(oldString), after: textIn(newString) }
  const fields = ['oldString', 'newString'].filter((name) => typeof input[name] === 'string')
  if (fields.length > 0) return { edits: [replaced], fields }
  return typeof content === 'string' ? { edits: [{ after: content }], fields: ['content'] } : { edits: [], fields: [] }
}

/**
 * Title of one of several edits: its number, its file if that isn't `path`, and whether every occurrence is replaced.
 * `needsTitle` is true for the latter two, which its text lacks.
 */
function editTitle(
  { filePath, replaceAll }: Fields,
  path: string,
  index: number,
): Pick<InputEdit, 'title' | 'needsTitle'> {
  const other = typeof filePath === 'string' && filePath !== path ? ` of ${filePath.replaceAll('\n', '\\n')}` : ''
  const more = `${other}${replaceAll === true ? ', every occurrence' : ''}`
  return { title: `edit ${index + 1}${more}`, needsTitle: more !== '' }
}

/**
 * Whether the diff and its title cover everything in one of several edits. False for another field, and for a field of
 * another type.
 */
function isFullyShown(edit: unknown, path: string): boolean {
  if (!isFields(edit)) return false
  return Object.entries(edit).every(([name, value]) => {
    if (name === 'replaceAll') return typeof value === 'boolean'
    if (name === 'filePath') return typeof value === 'string' && (value === path || !value.includes('\n'))
    return (name === 'oldString' || name === 'newString') && typeof value === 'string'
  })
}

/** Whether the server's diff shows the whole edit. False for a patch, and for a title with further facts. */
function showsWholeEdit(serverDiff: string, edit: InputEdit): boolean {
  if (edit.patch !== undefined || edit.needsTitle) return false
  const { before, after } = edit
  if (before === undefined) return coversText(serverDiff, '+', after, true)
  return coversText(serverDiff, '-', before, false) && coversText(serverDiff, '+', after, false)
}

/**
 * The lines of a diff with every line of both texts: the common beginning and end once, the rest as removed and added
 * lines. A patch stays as it is. The title is the first line.
 */
function diffOf(edit: InputEdit): readonly string[] {
  const { title, patch } = edit
  if (patch !== undefined) return [patch]
  const { before, after } = edit
  const head = title === undefined ? [] : [`@@ ${title} @@`]
  const old = linesOf(before ?? '')
  const next = linesOf(after)
  if (old.length === 0 && next.length === 0) return [...head, '@@ empty @@']
  const shorter = Math.min(old.length, next.length)
  let sameAtStart = 0
  while (sameAtStart < shorter && old[sameAtStart] === next[sameAtStart]) sameAtStart++
  let sameAtEnd = 0
  while (sameAtEnd < shorter - sameAtStart && old.at(-1 - sameAtEnd) === next.at(-1 - sameAtEnd)) sameAtEnd++
  return [
    ...head,
    ...old.slice(0, sameAtStart).map((line) => ` ${line}`),
    ...old.slice(sameAtStart, old.length - sameAtEnd).map((line) => `-${line}`),
    ...next.slice(sameAtStart, next.length - sameAtEnd).map((line) => `+${line}`),
    ...old.slice(old.length - sameAtEnd).map((line) => ` ${line}`),
  ]
}

/**
 * Finds the metadata's diffs, and its before/after files, whose changes `shown` already has, so that they aren't shown
 * again. Searches at any depth, and returns their texts.
 */
function coveredDiffs(metadata: Fields, shown: string): readonly string[] {
  const found: string[] = []
  /** Adds the covered texts in a value to `found`, at any depth. */
  const collectCovered = (value: unknown): void => {
    if (typeof value === 'string' && /^@@ /m.test(value) && isCoveredBy(value, shown)) found.push(value)
    if (!isFields(value) && !Array.isArray(value)) return
    if (isFields(value) && typeof value.before === 'string' && typeof value.after === 'string') {
      const changes = diffOf({ before: value.before, after: value.after }).join('\n')
      if (isCoveredBy(changes, shown)) found.push(value.before, value.after)
    }
    for (const item of Object.values(value)) collectCovered(item)
  }
  collectCovered(metadata)
  return found
}

/** A diff as a detail, with deceptive characters escaped. */
function diffDetail(label: string, text: string): AskDetail {
  return { label, format: 'diff', text: escapeDeceptive(text, { isDiff: true }) }
}

/** Splits a text into lines. A trailing line feed adds no line. An empty text has no lines. */
function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * Whether a unified diff shows all of an edit's text: each line is one that the diff adds (`sign` is `+`) or removes,
 * or context. A text that isn't whole, unlike a file's content, may begin and end in mid-line. True for an empty text.
 */
function coversText(diff: string, sign: '+' | '-', text: string, isWhole: boolean): boolean {
  const shownLines = hunkLinesOf(diff).flatMap((line) => (line[0] === sign || line[0] === ' ' ? [line.slice(1)] : []))
  const lines = linesOf(text)
  const shownWhole = new Set(shownLines)
  if (isWhole) return lines.every((line) => shownWhole.has(line))
  const first = lines[0]
  const last = lines.at(-1)
  if (first === undefined || last === undefined) return true
  if (lines.length === 1) return shownLines.some((line) => line.includes(first))
  return (
    lines.slice(1, -1).every((line) => shownWhole.has(line)) &&
    shownLines.some((line) => line.endsWith(first)) &&
    shownLines.some((line) => line.startsWith(last))
  )
}

/** Every line that a diff can have: lines of files, which begin with a sign, and lines that name files and hunks. */
const diffLine = /^(?:[ +\-\\].*|@@ .*|Index: .*|={3,}|(?:diff|index|old|new|deleted|similarity|rename) .*|)$/

/**
 * Whether each line that a diff adds or removes also occurs in the other text, ignoring indentation. False if the text
 * isn't a diff.
 */
function isCoveredBy(diff: string, other: string): boolean {
  if (!diff.split('\n').every((line) => diffLine.test(line))) return false
  const known = new Set(other.split('\n').map(withoutIndentation))
  return hunkLinesOf(diff).every((line) => (line[0] !== '+' && line[0] !== '-') || known.has(withoutIndentation(line)))
}

/** The line with its sign, trimmed behind the sign. Every sign but `+` and `-` becomes a space. */
function withoutIndentation(line: string): string {
  return `${line[0] === '+' || line[0] === '-' ? line[0] : ' '}${line.slice(1).trim()}`
}

/** The lines within the hunks of a diff, which leaves out the lines that name files. All lines if it has no hunk. */
function hunkLinesOf(diff: string): readonly string[] {
  const lines = diff.split('\n')
  if (!lines.some((line) => line.startsWith('@@'))) return lines
  const body: string[] = []
  let isInHunk = false
  for (const line of lines) {
    if (line.startsWith('@@')) isInHunk = true
    else if (/^[^ +\-\\]/.test(line)) isInHunk = false
    else if (isInHunk) body.push(line)
  }
  return body
}

/**
 * Drops the lines above the first hunk of a diff if they only name that file, because the title of the ask names it.
 * Otherwise returns the same diff.
 */
function withoutFileHeader(diff: string, isFile: (path: string) => boolean): string {
  const lines = diff.split('\n')
  const start = lines.findIndex((line) => line.startsWith('@@'))
  /** Whether a header line only names the file, or is a separator. */
  const namesOnlyFile = (line: string): boolean => {
    const [, path] = /^(?:Index:|---|\+\+\+) ([^\t]+)(?:\t.*)?$/.exec(line) ?? []
    return path === undefined ? /^={3,}$/.test(line) : isFile(path) || isFile(path.replace(/^[ab]\//, ''))
  }
  return start > 0 && lines.slice(0, start).every(namesOnlyFile) ? lines.slice(start).join('\n') : diff
}
