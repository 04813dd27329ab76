/** How many of the last event ids are remembered to drop doubled events. A reconnect can double at most what was in flight. */
const remembered = 512

/**
 * Whether an id was among the last ones, noting it if not. The server's ids rise, so nearly every id is greater than all
 * before it and needs no search; nothing depends on that but the time it takes (their clock wraps around now and then).
 */
export function createSeen(): (id: string) => boolean {
  const last: string[] = []
  let next = 0
  let highest = ''
  return (id) => {
    const rises = id > highest
    if (!rises && last.includes(id)) return true
    last[next] = id
    next = (next + 1) % remembered
    highest = rises ? id : last.reduce((a, b) => (a > b ? a : b))
    return false
  }
}
