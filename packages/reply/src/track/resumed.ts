import type { SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { type Read, runStarts } from './runs.ts'

/** What a reading tells of a sub-agent's run that was over before its session was used again. */
export interface EarlierRun {
  /** The parent as it was when the run was over; undefined where no call of it names the run. */
  readonly parent: SnapshotEvent | undefined
  readonly child: SnapshotEvent
}

/**
 * A sub-agent's session that several calls used, one after the other, holds the runs of them all. Read at once, each has
 * to go to its own call: all but the last are given here, in order.
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

/** The session that a task's call runs in. */
export function sessionOf(part: Part): string | undefined {
  const id = part.type === 'tool' && part.tool === 'task' ? part.state.metadata?.sessionId : undefined
  return typeof id === 'string' ? id : undefined
}
