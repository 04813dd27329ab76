import type { ReplyEvent } from '@reply/core'

/**
 * Returns the numbers of the frames that contain the text, in any case: in their data, or at the end of a text that grew by
 * their delta, because a word often comes in several deltas. Empty for an empty text.
 */
export function searchFrames(
  text: string,
  data: readonly string[],
  events: readonly (readonly ReplyEvent[])[],
): readonly number[] {
  const wanted = text.toLowerCase()
  if (wanted === '') return []
  /** As JSON writes it, for quotes and line ends. */
  const written = JSON.stringify(wanted).slice(1, -1)
  const tails = new Map<string, string>()
  const found: number[] = []
  data.forEach((frame, index) => {
    const isGrown = (events[index] ?? []).filter((event) => growsInto(wanted, event, tails)).length > 0
    if (isGrown || includes(frame, written)) found.push(index)
  })
  return found
}

/** Whether the delta completes the text. Notes the end of the text that grew. */
function growsInto(wanted: string, event: ReplyEvent, tails: Map<string, string>): boolean {
  if (event.type !== 'delta') return false
  const key = `${event.partID} ${event.field}`
  const grown = (tails.get(key) ?? '') + event.delta.toLowerCase()
  tails.set(key, grown.slice(Math.max(0, grown.length - wanted.length + 1)))
  return grown.includes(wanted)
}

function includes(frame: string, written: string): boolean {
  return frame.includes(written) || frame.toLowerCase().includes(written)
}
