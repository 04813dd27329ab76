/** How many unchanged lines a hunk shows above and below a change. */
const contextLines = 3

/**
 * How many added and removed lines are compared one by one. Beyond that, everything between the first and the last
 * difference counts as replaced, so that a comparison takes linear time.
 */
const mostEdits = 200

/** A line of a file as the end of a file without a line break has it. */
const noLineBreak = '\n\\ No newline at end of file'

/** Returns the hunks of the unified diff between two texts. Empty if they are equal. */
export function patchBetween(before: string, after: string): string {
  const old = linesOf(before)
  const next = linesOf(after)
  const shorter = Math.min(old.length, next.length)
  let start = 0
  while (start < shorter && old[start] === next[start]) start++
  let end = 0
  while (end < shorter - start && old.at(-1 - end) === next.at(-1 - end)) end++
  const middle = signedLines(old.slice(start, old.length - end), next.slice(start, next.length - end))
  const same = (lines: readonly string[]): readonly string[] => lines.map((line) => ` ${line}`)
  return hunksOf([...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))], { old: 1, next: 1 })
}

/**
 * Returns the hunks of a unified diff of one file without its header, and with few unchanged lines around each change. Empty
 * if the text has no hunk. Reads no further than a hunk that can't be read.
 */
export function hunksIn(diff: string): string {
  const hunks: string[] = []
  const lines = diff.split('\n')
  for (let at = 0; at < lines.length; at++) {
    const [head, oldStart, oldCount = '1', nextStart, nextCount = '1'] =
      /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(lines[at] ?? '') ?? []
    if (head === undefined) continue
    const signed: string[] = []
    let oldLeft = Number(oldCount)
    let nextLeft = Number(nextCount)
    while (oldLeft > 0 || nextLeft > 0 || lines[at + 1]?.startsWith('\\')) {
      // Some tools remove the space of an empty line.
      const line = lines[++at] || ' '
      const [sign] = line
      if (at >= lines.length || !(sign === ' ' || sign === '+' || sign === '-' || sign === '\\')) return hunks.join('')
      if (sign === '\\') {
        signed.push(`${signed.pop() ?? ''}\n${line}`)
        continue
      }
      if (sign !== '+') oldLeft--
      if (sign !== '-') nextLeft--
      signed.push(line)
    }
    // A file without lines has the number 0.
    hunks.push(hunksOf(signed, { old: Math.max(1, Number(oldStart)), next: Math.max(1, Number(nextStart)) }))
  }
  return hunks.join('')
}

/** Returns how many lines the hunks add and remove. */
export function countLines(hunks: string): { readonly additions: number; readonly deletions: number } {
  const count = (sign: string): number => hunks.split('\n').filter((line) => line.startsWith(sign)).length
  return { additions: count('+'), deletions: count('-') }
}

/** Returns the lines of a text. One that ends without a line break has the mark of unified diffs for that. */
function linesOf(text: string): readonly string[] {
  const lines = text.split('\n')
  const last = lines.pop() ?? ''
  return last === '' ? lines : [...lines, `${last}${noLineBreak}`]
}

/**
 * Returns the lines of both lists, each after a sign: the shortest sequence that makes one into the other (Myers, "An
 * O(ND) Difference Algorithm"), or everything removed and added if that takes more than `mostEdits`.
 */
function signedLines(old: readonly string[], next: readonly string[]): readonly string[] {
  /** For each number of edits: by diagonal, how many old lines the furthest path has passed. */
  const rounds: ReadonlyMap<number, number>[] = []
  let furthest = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(mostEdits, old.length + next.length); edits++) {
    const round = new Map<number, number>()
    rounds.push(furthest)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      let oldAt = stepFrom(furthest, diagonal, edits)
      while (oldAt < old.length && oldAt - diagonal < next.length && old[oldAt] === next[oldAt - diagonal]) oldAt++
      round.set(diagonal, oldAt)
      if (oldAt >= old.length && oldAt - diagonal >= next.length) return pathOf(rounds, old, next)
    }
    furthest = round
  }
  return [...old.map((line) => `-${line}`), ...next.map((line) => `+${line}`)]
}

/** Whether the path on the diagonal continues the one above it, with an added line. Otherwise it has a removed line more. */
function isFromAbove(furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (diagonal === -edits || diagonal === edits) return diagonal === -edits
  return (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1)
}

/** Returns how many old lines a path on the diagonal has passed after its newest added or removed line. */
function stepFrom(furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): number {
  if (isFromAbove(furthest, diagonal, edits)) return furthest.get(diagonal + 1) ?? 0
  return (furthest.get(diagonal - 1) ?? 0) + 1
}

/** Returns the lines along the path that reached the end. Follows it backwards through the rounds. */
function pathOf(
  rounds: readonly ReadonlyMap<number, number>[],
  old: readonly string[],
  next: readonly string[],
): readonly string[] {
  const lines: string[] = []
  let oldAt = old.length
  let nextAt = next.length
  for (const [edits, furthest] of [...rounds.entries()].toReversed()) {
    const diagonal = oldAt - nextAt
    const from = stepFrom(furthest, diagonal, edits)
    for (; oldAt > from; nextAt--) lines.push(` ${old[--oldAt] ?? ''}`)
    if (edits === 0) break
    if (isFromAbove(furthest, diagonal, edits)) lines.push(`+${next[--nextAt] ?? ''}`)
    else lines.push(`-${old[--oldAt] ?? ''}`)
  }
  return lines.toReversed()
}

/** Returns the hunks of signed lines that begin at these line numbers. Empty if no line changed. */
function hunksOf(lines: readonly string[], start: { readonly old: number; readonly next: number }): string {
  const changed = lines.flatMap((line, at) => (line.startsWith(' ') ? [] : [at]))
  const ranges: { from: number; to: number }[] = []
  for (const at of changed) {
    const last = ranges.at(-1)
    const from = Math.max(0, at - contextLines)
    const to = Math.min(lines.length, at + 1 + contextLines)
    if (last && from <= last.to) last.to = to
    else ranges.push({ from, to })
  }
  let { old, next } = start
  let at = 0
  return ranges
    .map(({ from, to }) => {
      old += from - at
      next += from - at
      const shown = lines.slice(from, to)
      const oldCount = shown.filter((line) => !line.startsWith('+')).length
      const nextCount = shown.filter((line) => !line.startsWith('-')).length
      // A range without lines has the number of the line above it.
      const range = (first: number, count: number): string => `${count === 0 ? first - 1 : first},${count}`
      const head = `@@ -${range(old, oldCount)} +${range(next, nextCount)} @@`
      old += oldCount
      next += nextCount
      at = to
      return `${[head, ...shown].join('\n')}\n`
    })
    .join('')
}
