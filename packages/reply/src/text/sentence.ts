/** JSON that is longer is not a provider's error. In UTF-16 units. */
const longestJson = 100_000

/** JSON in JSON in JSON: providers pass on each other's errors as strings. */
const deepest = 3

/**
 * The sentence in the words of an error: without the stack below it, and with what JSON in it says in place of the JSON.
 * Keeps words in which neither is found.
 */
export function sentenceOf(words: string): string {
  return plain(words, 0)
}

function plain(words: string, depth: number): string {
  const text = withoutStack(words)
  const start = text.indexOf('{')
  const end = text.lastIndexOf('}') + 1
  if (start === -1 || end <= start || end - start > longestJson || depth > deepest) return text
  const said = wordsIn(text.slice(start, end), depth)
  if (said === undefined) return text
  const before = text.slice(0, start)
  const after = text.slice(end)
  return before.includes(said) ? `${before.trim().replace(/:$/, '')}${after}` : `${before}${said}${after}`
}

/** Up to the first line that names a place in a program: `at main (src/main.ts:4:2)`. */
function withoutStack(words: string): string {
  if (!words.includes('\n')) return words
  const lines = words.split('\n')
  const first = lines.findIndex((line) => isFrame(line.trim()))
  return first === -1 ? words : lines.slice(0, first).join('\n').trim()
}

function isFrame(line: string): boolean {
  return line.startsWith('at ') && (line.endsWith(')') || /:\d+$/.test(line.slice(-12)))
}

/** The message of an error as JSON: `{ error: { message } }` and the like. Undefined if it is something else. */
function wordsIn(json: string, depth: number): string | undefined {
  try {
    return messageOf(JSON.parse(json), depth)
  } catch {
    return undefined
  }
}

function messageOf(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : plain(value, depth + 1)
  if (typeof value !== 'object' || value === null) return undefined
  for (const key of ['error', 'message', 'detail', 'data']) {
    const found = messageOf(Reflect.get(value, key), depth)
    if (found !== undefined) return found
  }
  return undefined
}
