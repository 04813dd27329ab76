import { type Fields, isFields, textIn } from '../fields.ts'
import { escapeDeceptive } from '../text/escape-deceptive.ts'
import type { CallPath } from './call-path.ts'
import type { AskDetail, Layout } from './details.ts'
import { coversText, isCoveredBy, linesOf, withoutNames } from './diff.ts'

/** One replacement; without `before` it writes the whole file. Or a patch, which already is a diff. */
type Edit = {
  readonly title?: string | undefined
  /** The title says something that no diff of the server's shows. */
  readonly needsTitle?: boolean | undefined
} & (
  | { readonly before?: string | undefined; readonly after: string; readonly patch?: undefined }
  | { readonly patch: string }
)

/**
 * Shows an edit as a diff: the server's diff if it says everything that the input does; otherwise one made from the input,
 * followed by the server's if that adds anything. OpenCode cuts its diff to a few lines around each change and removes
 * the common indentation. The place is named by the card's title, so a diff of that file doesn't.
 */
export function editLayout(input: Fields, metadata: Fields, place: CallPath | undefined): Layout {
  const { edits, fields: covered } = wantedOf(input, place?.given ?? '')
  const server = textIn(metadata.diff)
  const shown = place === undefined ? server : withoutNames(server, place.isSame)
  if (edits.length === 0) return { details: [], covered }
  if (server !== '' && edits.every((edit) => covers(server, edit))) {
    return { details: [diff('', shown)], covered, coveredMetadata: [server, ...coveredDiffs(metadata, server)] }
  }
  const own = edits.flatMap(diffOf).join('\n')
  const isRepeated = server === '' || isCoveredBy(server, own)
  return {
    details: [diff('', own), ...(isRepeated ? [] : [diff("The server's diff", shown)])],
    covered,
    coveredMetadata: [server, ...coveredDiffs(metadata, `${own}\n${server}`)],
  }
}

interface Wanted {
  readonly edits: readonly Edit[]
  /** The input fields that these edits cover. All other fields are listed by name. */
  readonly fields: readonly string[]
}

function wantedOf(input: Fields, path: string): Wanted {
  const { patchText, edits, oldString, newString, content } = input
  if (typeof patchText === 'string' && patchText !== '') return { edits: [{ patch: patchText }], fields: ['patchText'] }
  if (Array.isArray(edits)) {
    const several = edits.flatMap((edit: unknown, at) =>
      isFields(edit) ? wantedOf(edit, path).edits.map((one) => ({ ...one, ...titleOf(edit, path, at) })) : [],
    )
    return { edits: several, fields: edits.every((edit) => isWhole(edit, path)) ? ['edits'] : [] }
  }
  const replaced = { before: textIn(oldString), after: textIn(newString) }
  const fields = ['oldString', 'newString'].filter((name) => typeof input[name] === 'string')
  if (fields.length > 0) return { edits: [replaced], fields }
  return typeof content === 'string' ? { edits: [{ after: content }], fields: ['content'] } : { edits: [], fields: [] }
}

/** Title of one of several edits: its number, and what its text doesn't show. */
function titleOf({ filePath, replaceAll }: Fields, path: string, at: number): Pick<Edit, 'title' | 'needsTitle'> {
  const other = typeof filePath === 'string' && filePath !== path ? ` of ${filePath.replaceAll('\n', '\\n')}` : ''
  const more = `${other}${replaceAll === true ? ', every occurrence' : ''}`
  return { title: `edit ${at + 1}${more}`, needsTitle: more !== '' }
}

/** Whether the diff and its title cover everything in one of several edits. */
function isWhole(edit: unknown, path: string): boolean {
  if (!isFields(edit)) return false
  return Object.entries(edit).every(([name, value]) => {
    if (name === 'replaceAll') return typeof value === 'boolean'
    if (name === 'filePath') return typeof value === 'string' && (value === path || !value.includes('\n'))
    return (name === 'oldString' || name === 'newString') && typeof value === 'string'
  })
}

function covers(server: string, edit: Edit): boolean {
  if (edit.patch !== undefined || edit.needsTitle) return false
  const { before, after } = edit
  if (before === undefined) return coversText(server, '+', after, { isWhole: true })
  return coversText(server, '-', before, { isWhole: false }) && coversText(server, '+', after, { isWhole: false })
}

/** Every line of both texts: the common beginning and end once, the rest as removed and added lines. */
function diffOf(edit: Edit): readonly string[] {
  const { title, patch } = edit
  if (patch !== undefined) return [patch]
  const { before, after } = edit
  const head = title === undefined ? [] : [`@@ ${title} @@`]
  const [old, next] = [linesOf(before ?? ''), linesOf(after)]
  if (old.length === 0 && next.length === 0) return [...head, '@@ empty @@']
  const shorter = Math.min(old.length, next.length)
  let start = 0
  while (start < shorter && old[start] === next[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === next.at(-1 - end)) end++
  return [
    ...head,
    ...old.slice(0, start).map((line) => ` ${line}`),
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...next.slice(start, next.length - end).map((line) => `+${line}`),
    ...old.slice(old.length - end).map((line) => ` ${line}`),
  ]
}

/** Finds the metadata's diffs, and its before/after files, whose changes `shown` already has. */
function coveredDiffs(metadata: Fields, shown: string): readonly string[] {
  const found: string[] = []
  const walk = (value: unknown): void => {
    if (typeof value === 'string' && /^@@ /m.test(value) && isCoveredBy(value, shown)) found.push(value)
    if (!isFields(value) && !Array.isArray(value)) return
    if (isFields(value) && typeof value.before === 'string' && typeof value.after === 'string') {
      const changes = diffOf({ before: value.before, after: value.after }).join('\n')
      if (isCoveredBy(changes, shown)) found.push(value.before, value.after)
    }
    for (const item of Object.values(value)) walk(item)
  }
  walk(metadata)
  return found
}

function diff(label: string, text: string): AskDetail {
  return { label, format: 'diff', text: escapeDeceptive(text, { isDiff: true }) }
}
