/** The lines of a text. A line feed at its end makes no further line; an empty text has none. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return []
  const lines = text.split('\n')
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/**
 * Whether a unified diff has every line of a text among those that it adds (or removes) and those that stay. A text that
 * is not whole may begin and end in the middle of a line.
 */
export function tellsText(diff: string, sign: '+' | '-', text: string, { isWhole }: { isWhole: boolean }): boolean {
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

/** Lines of a diff that are not lines of a file: they name files and hunks. All others begin with a sign. */
const diffLine = /^(?:[ +\-\\].*|@@ .*|Index: .*|={3,}|(?:diff|index|old|new|deleted|similarity|rename) .*|)$/

/**
 * Whether each line that a diff adds or removes is a line of the other text as well, indentation aside. A text that has
 * lines of no diff is not told.
 */
export function isToldBy(diff: string, told: string): boolean {
  if (!diff.split('\n').every((line) => diffLine.test(line))) return false
  const known = new Set(told.split('\n').map(bare))
  return bodyOf(diff).every((line) => (line[0] !== '+' && line[0] !== '-') || known.has(bare(line)))
}

/** Sign and indentation off. */
function bare(line: string): string {
  return `${line[0] === '+' || line[0] === '-' ? line[0] : ' '}${line.slice(1).trim()}`
}

/** Without the lines that name the file: those before the first hunk, and before the first hunk of each further file. */
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
