/** The longest JSON that counts as a provider's error, in UTF-16 units. */
const longestJson = 100_000

/** How deep JSON in JSON is read: providers pass on each other's errors as strings. */
const deepest = 3

/**
 * Returns an error's message for people: without the stack below it, and with JSON in it replaced by the message that
 * the JSON contains. A message without either is returned as it is.
 */
export function sentenceOf(message: string): string {
  return readableMessage(message, 0)
}

/**
 * Drops the stack and replaces JSON by its message, see `sentenceOf`. Drops the JSON if the text before it contains the
 * message. Leaves JSON that is too long or too deep, or has no message. `depth` counts the levels of JSON in JSON.
 */
function readableMessage(message: string, depth: number): string {
  const text = withoutStack(message)
  const start = text.indexOf('{')
  const end = text.lastIndexOf('}') + 1
  if (start === -1 || end <= start || end - start > longestJson || depth > deepest) return text
  const inner = messageInJson(text.slice(start, end), depth)
  if (inner === undefined) return text
  const before = text.slice(0, start)
  const after = text.slice(end)
  return before.includes(inner) ? `${before.trim().replace(/:$/, '')}${after}` : `${before}${inner}${after}`
}

/** The message up to the first line of a stack, trimmed. The same message if it has none. */
function withoutStack(message: string): string {
  if (!message.includes('\n')) return message
  const lines = message.split('\n')
  const first = lines.findIndex((line) => isStackFrame(line.trim()))
  return first === -1 ? message : lines.slice(0, first).join('\n').trim()
}

/** Whether the line is one of a stack, for example `at main (src/main.ts:4:2)`. */
function isStackFrame(line: string): boolean {
  return line.startsWith('at ') && (line.endsWith(')') || /:\d+$/.test(line.slice(-12)))
}

/** The message in an error's JSON, for example in `{ error: { message } }`. Undefined if it has none, or isn't JSON. */
function messageInJson(json: string, depth: number): string | undefined {
  try {
    return firstMessageIn(JSON.parse(json), depth)
  } catch {
    return undefined
  }
}

/**
 * The first text in the fields `error`, `message`, `detail` or `data`, at any depth, made readable itself. Undefined
 * without one. Empty texts don't count.
 */
function firstMessageIn(value: unknown, depth: number): string | undefined {
  if (typeof value === 'string') return value === '' ? undefined : readableMessage(value, depth + 1)
  if (typeof value !== 'object' || value === null) return undefined
  for (const key of ['error', 'message', 'detail', 'data']) {
    const found = firstMessageIn(Reflect.get(value, key), depth)
    if (found !== undefined) return found
  }
  return undefined
}
