import { diffWordsWithSpace } from 'diff'

/** A line of a diff. Its number before and after the change, as far as it has one. */
export interface DiffLine {
  readonly type: 'same' | 'added' | 'removed' | 'note'
  readonly text: string
  readonly old?: number | undefined
  readonly next?: number | undefined
}

/** Lines of a file that a change is in. */
export interface Hunk {
  /** Where it is, for example `@@ -1,3 +1,4 @@`. */
  readonly head: string
  readonly lines: readonly DiffLine[]
}

/** A line before and after a change. One of them is undefined if the line was added or removed, and both are the same if it stayed. */
export interface Pair {
  readonly left: DiffLine | undefined
  readonly right: DiffLine | undefined
}

/** Reads the hunks of a unified diff without a header, as `FileChange.patches` has them. */
export function hunksOf(patch: string): readonly Hunk[] {
  const hunks: { head: string; lines: DiffLine[] }[] = []
  let old = 0
  let next = 0
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    const [, oldStart, nextStart] = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line) ?? []
    if (oldStart !== undefined && nextStart !== undefined) {
      hunks.push({ head: line, lines: [] })
      old = Number(oldStart)
      next = Number(nextStart)
      continue
    }
    const lines = hunks.at(-1)?.lines
    if (!lines) continue
    const text = line.slice(1)
    if (line.startsWith('+')) lines.push({ type: 'added', text, next: next++ })
    else if (line.startsWith('-')) lines.push({ type: 'removed', text, old: old++ })
    else if (line.startsWith('\\')) lines.push({ type: 'note', text: text.trim() })
    else lines.push({ type: 'same', text, old: old++, next: next++ })
  }
  return hunks
}

/** Returns the lines side by side: a removed line is beside the line that was added in its place. */
export function pairsOf(lines: readonly DiffLine[]): readonly Pair[] {
  const pairs: Pair[] = []
  for (let at = 0; at < lines.length; ) {
    const removed = runOf(lines, at, 'removed')
    const added = runOf(lines, at + removed.length, 'added')
    for (let row = 0; row < Math.max(removed.length, added.length); row++)
      pairs.push({ left: removed[row], right: added[row] })
    at += removed.length + added.length
    const line = lines[at]
    if (line && line.type !== 'removed') {
      if (line.type !== 'added') pairs.push({ left: line, right: line })
      else pairs.push({ left: undefined, right: line })
      at++
    }
  }
  return pairs
}

function runOf(lines: readonly DiffLine[], from: number, type: DiffLine['type']): readonly DiffLine[] {
  let end = from
  while (lines[end]?.type === type) end++
  return lines.slice(from, end)
}

/** A piece of a line, and whether it is another one on the other side. */
export interface Word {
  readonly text: string
  readonly isChanged: boolean
}

/** What changed within two lines. */
export interface WordChanges {
  readonly left: readonly Word[]
  readonly right: readonly Word[]
}

/** Longer lines, in UTF-16 units, are not compared by words: that takes more than linear time. */
const longestLine = 600
/** Lines that share less than this part of their characters are different lines, not one that changed. */
const fewestShared = 0.3

const compared = new WeakMap<DiffLine, WordChanges | undefined>()

/** Returns what changed within a pair of lines. Undefined if they have little in common, or are too long to compare. */
export function wordsOf({ left, right }: Pair): WordChanges | undefined {
  if (left?.type !== 'removed' || right?.type !== 'added') return undefined
  if (compared.has(left)) return compared.get(left)
  const words = compareWords(left.text, right.text)
  compared.set(left, words)
  return words
}

function compareWords(left: string, right: string): WordChanges | undefined {
  if (left.length > longestLine || right.length > longestLine) return undefined
  const changes = diffWordsWithSpace(left, right)
  const shared = changes.filter(({ added, removed }) => !added && !removed)
  const length = shared.reduce((sum, { value }) => sum + value.trim().length, 0)
  if (length < fewestShared * Math.max(left.trim().length, right.trim().length)) return undefined
  const side = (other: 'added' | 'removed', own: 'added' | 'removed'): readonly Word[] =>
    changes.filter((change) => !change[other]).map((change) => ({ text: change.value, isChanged: change[own] }))
  return { left: side('added', 'removed'), right: side('removed', 'added') }
}
