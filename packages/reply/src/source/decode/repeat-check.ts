/** How many event ids are kept to drop duplicates. A reconnect only duplicates events in flight. */
const remembered = 512

/**
 * Returns a function that drops duplicate events: it returns whether an event's id is among the last 512, and stores it
 * if not. The server's ids rise, so nearly
 * every id is greater than all before it and needs no search. Only speed depends on that, because the ids' clock wraps
 * around now and then.
 */
export function createRepeatCheck(): (id: string) => boolean {
  const recentIDs: string[] = []
  /** The ids' random ends. Searching numbers avoids most string comparisons. */
  const recentEnds: number[] = []
  /** Where the next id replaces the oldest. */
  let oldestIndex = 0
  let highest = ''
  return (id) => {
    const isHighest = id > highest
    const end = randomEndOf(id)
    if (!isHighest && recentEnds.includes(end) && recentIDs.includes(id)) return true
    recentIDs[oldestIndex] = id
    recentEnds[oldestIndex] = end
    oldestIndex = (oldestIndex + 1) % remembered
    if (isHighest) highest = id
    else if (oldestIndex === 0) highest = recentIDs.reduce((a, b) => (a > b ? a : b))
    return false
  }
}

/** Returns a number of the id's last four characters, which are random. */
function randomEndOf(id: string): number {
  let end = 0
  for (let at = Math.max(0, id.length - 4); at < id.length; at++) end = (end << 8) ^ id.charCodeAt(at)
  return end
}
