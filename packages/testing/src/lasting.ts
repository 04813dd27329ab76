/**
 * What our own clock stamped, what only REST tells, why an observer gave up, what repeats the wire or a tool part, and what
 * marks a gap of one's own stream.
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
  'hole',
])

/**
 * A reply as JSON without what differs between two ways of following the same run: times, the wire's own objects, the
 * context window, which is asked over REST, where an ask is kept, which only `/global/event` tells, and an ask's call, which
 * repeats its tool part. Two replies to the same events are equal under it.
 */
export const lasting = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(lasting)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, item]) => !passing.has(key) && item !== undefined && !(key === 'directory' && 'requestID' in value),
      )
      .map(([key, item]) => [key, lasting(item)]),
  )
}
