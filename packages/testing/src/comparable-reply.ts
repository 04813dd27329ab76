/**
 * Keys to drop: stamps of our own clock, fields that only REST reports, an observer's reason for giving up, repetitions
 * of the wire or of a tool part, and marks of gaps in the observer's own stream.
 */
const passing = new Set([
  'raw',
  'call',
  'startedAt',
  'settledAt',
  'askedAt',
  'closedAt',
  'endedAt',
  'contextLimit',
  'lostReason',
  'connection',
  'stalled',
  'holes',
])

/**
 * Returns a copy of a reply, or of any value in it, without undefined fields and those that differ between two ways of
 * following the same run: times, the wire's own objects, the context window (read over REST), an ask's directory (only
 * on `/global/event`), an ask's call (which repeats its tool part), and the reason for giving up. Two replies from the
 * same events have equal results.
 */
export const comparableReply = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(comparableReply)
  if (typeof value !== 'object' || value === null) return value
  const lostReason = 'lostReason' in value ? value.lostReason : undefined
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, item]) => !passing.has(key) && item !== undefined && !(key === 'directory' && 'requestID' in value),
      )
      // The wording of the reason for giving up.
      .filter(([key, item]) => !(key === 'error' && lostReason !== undefined && item?.name === lostReason))
      .map(([key, item]) => [key, comparableReply(item)]),
  )
}
