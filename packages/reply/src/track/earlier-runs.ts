import type { SnapshotEvent } from '../event.ts'
import { sessionOf } from '../reduce/child.ts'
import { type Read, runStarts } from './run-boundaries.ts'

/** A sub-agent's run that was over before its session was reused, as read over REST. */
export interface EarlierRun {
  /** The parent as it was at the end of the run; undefined if none of its calls names the run. */
  readonly parent: SnapshotEvent | undefined
  readonly child: SnapshotEvent
}

/**
 * If several calls used a sub-agent's session one after the other, it contains all their runs. Each has to go to its
 * own call: returns all but the last, in order.
 */
export function earlierRuns(parent: SnapshotEvent): readonly EarlierRun[] {
  return parent.children.flatMap((child) => {
    const calls = parent.messages.flatMap(({ parts }, at) =>
      parts.flatMap((part, place) => (sessionOf(part) === child.sessionID ? [{ at, place }] : [])),
    )
    const starts = runStarts(child.messages)
    const earlier = Math.max(calls.length, starts.length) - 1
    return Array.from({ length: Math.max(0, earlier) }, (_, index): EarlierRun => {
      const call = calls[index]
      const start = starts[index]
      const messages = start === undefined ? [] : child.messages.slice(start, starts[index + 1])
      const rest = { complete: false, children: [], asks: [] }
      return {
        parent: call && { ...parent, ...rest, messages: upTo(parent.messages, call.at, call.place) },
        child: { ...child, ...rest, messages, status: 'idle' },
      }
    })
  })
}

function upTo(messages: readonly Read[], at: number, place: number): readonly Read[] {
  return messages
    .slice(0, at + 1)
    .map((message, index) => (index < at ? message : { ...message, parts: message.parts.slice(0, place + 1) }))
}
