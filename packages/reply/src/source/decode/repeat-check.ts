/** How many event ids are kept to drop duplicates. A reconnect only duplicates events in flight. */
const remembered = 512

/**
 * Returns a function that stores an id, and returns whether it was among the last 512. The server's ids rise, so nearly
 * every id is greater than all before it and needs no search. Only speed depends on that, because the ids' clock wraps
 * around now and then.
 */
export function createRepeatCheck(): (id: string) => boolean {
  const last: string[] = []
  /** The ids' random ends. Searching numbers avoids most string comparisons. */
  const ends: number[] = []
  let next = 0
  let highest = ''
  return (id) => {
    const isHighest = id > highest
    const end = randomEndOf(id)
    if (!isHighest && ends.includes(end) && last.includes(id)) return true
    last[next] = id
    ends[next] = end
    next = (next + 1) % remembered
    if (isHighest) highest = id
    else if (next === 0) highest = last.reduce((a, b) => (a > b ? a : b))
    return false
  }
}

/** Returns a number of the id's last four characters, which are random. */
function randomEndOf(id: string): number {
  let end = 0
  for (let at = Math.max(0, id.length - 4); at < id.length; at++) end = (end << 8) ^ id.charCodeAt(at)
  return end
}
