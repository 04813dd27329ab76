/** The most specific message in an error from the server or the network; at most 300 UTF-16 units. */
export function reasonOf(error: unknown): string {
  return wordsOf(error, 0)?.slice(0, 300) ?? 'no reason given'
}

function wordsOf(error: unknown, depth: number): string | undefined {
  if (typeof error === 'string') return error === '' ? undefined : error
  if (typeof error !== 'object' || error === null || depth > 3) return undefined
  const inner = ['cause', 'data']
    .map((key) => wordsOf(fieldOf(error, key), depth + 1))
    .find((words) => words !== undefined)
  if (inner !== undefined) return inner
  const words = ['code', 'message', 'name'].map((key) => fieldOf(error, key))
  return words.find((word): word is string => typeof word === 'string' && word !== '')
}

function fieldOf(value: object, key: string): unknown {
  return Reflect.get(value, key)
}
