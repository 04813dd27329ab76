/** How many event ids are kept to drop duplicates. A reconnect only duplicates events in flight. */
const remembered = 512

/**
 * Returns a function that tells whether an id was among the last ones, and otherwise stores it. The server's ids rise,
 * so nearly every id is greater than all before it and needs no search. Only speed depends on that, because the ids'
 * clock wraps around now and then.
 */
export function createSeen(): (id: string) => boolean {
  const last: string[] = []
  /** The ids' random ends. Searching numbers avoids most string comparisons. */
  const ends: number[] = []
  let next = 0
  let highest = ''
  return (id) => {
    const rises = id > highest
    const end = endOf(id)
    if (!rises && ends.includes(end) && last.includes(id)) return true
    last[next] = id
    ends[next] = end
    next = (next + 1) % remembered
    if (rises) highest = id
    else if (next === 0) highest = last.reduce((a, b) => (a > b ? a : b))
    return false
  }
}

function endOf(id: string): number {
  let end = 0
  for (let at = Math.max(0, id.length - 4); at < id.length; at++) end = (end << 8) ^ id.charCodeAt(at)
  return end
}
