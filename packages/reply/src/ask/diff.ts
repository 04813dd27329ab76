/** Splits a text into lines. A trailing line feed adds no line; an empty text has none. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * Whether every line of a text is among the lines that a unified diff adds (or removes) and its context lines. A text
 * that is not whole may begin and end in mid-line.
 */
export function coversText(diff: string, sign: '+' | '-', text: string, { isWhole }: { isWhole: boolean }): boolean {
  const pool = bodyOf(diff).flatMap((line) => (line[0] === sign || line[0] === ' ' ? [line.slice(1)] : []))
  const lines = linesOf(text)
  const whole = new Set(pool)
  if (isWhole) return lines.every((line) => whole.has(line))
  const [first, last] = [lines[0], lines.at(-1)]
  if (first === undefined || last === undefined) return true
  if (lines.length === 1) return pool.some((line) => line.includes(first))
  return (
    lines.slice(1, -1).every((line) => whole.has(line)) &&
    pool.some((line) => line.endsWith(first)) &&
    pool.some((line) => line.startsWith(last))
  )
}

/** Diff lines that are not lines of a file: they name files and hunks. Content lines begin with a sign. */
const diffLine = /^(?:[ +\-\\].*|@@ .*|Index: .*|={3,}|(?:diff|index|old|new|deleted|similarity|rename) .*|)$/

/**
 * Whether each line that a diff adds or removes also occurs in the other text, ignoring indentation. False for a text
 * that has lines no diff has.
 */
export function isCoveredBy(diff: string, other: string): boolean {
  if (!diff.split('\n').every((line) => diffLine.test(line))) return false
  const known = new Set(other.split('\n').map(bare))
  return bodyOf(diff).every((line) => (line[0] !== '+' && line[0] !== '-') || known.has(bare(line)))
}

/** Removes the sign and the indentation. */
function bare(line: string): string {
  return `${line[0] === '+' || line[0] === '-' ? line[0] : ' '}${line.slice(1).trim()}`
}

/** Drops the lines that name files: those before the first hunk, and before the first hunk of each further file. */
function bodyOf(diff: string): readonly string[] {
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

/** Drops the lines above the first hunk of a diff if all they do is name that file. */
export function withoutNames(diff: string, isFile: (path: string) => boolean): string {
  const lines = diff.split('\n')
  const start = lines.findIndex((line) => line.startsWith('@@'))
  const isName = (line: string): boolean => {
    const [, path] = /^(?:Index:|---|\+\+\+) ([^\t]+)(?:\t.*)?$/.exec(line) ?? []
    return path === undefined ? /^={3,}$/.test(line) : isFile(path) || isFile(path.replace(/^[ab]\//, ''))
  }
  return start > 0 && lines.slice(0, start).every(isName) ? lines.slice(start).join('\n') : diff
}
