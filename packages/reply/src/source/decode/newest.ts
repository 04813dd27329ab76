/** Sets an entry as the newest one, also if its key exists, and removes the oldest if there are more than `maxCount`. */
export function setNewest<V>(entries: Map<string, V>, key: string, value: V, maxCount: number): void {
  entries.delete(key)
  entries.set(key, value)
  if (entries.size <= maxCount) return
  const [oldest] = entries.keys()
  if (oldest !== undefined) entries.delete(oldest)
}

/**
 * How many frames with deltas of one part are parsed before a template reads the rest. Creating the template takes as
 * long as it saves on about that many. Most parts have fewer.
 */
export const parsedFirst = 16

/**
 * Returns a function that counts the parsed frames of a part and returns whether there are enough for a template to pay
 * off. Keeps the counts of the newest `maxCount` parts.
 */
export function createRepeatCounter(maxCount: number): (key: string) => boolean {
  const counts = new Map<string, number>()
  return (key) => {
    const value = (counts.get(key) ?? 0) + 1
    setNewest(counts, key, value, maxCount)
    return value >= parsedFirst
  }
}
