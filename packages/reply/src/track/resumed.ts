import type { SnapshotEvent } from '../event.ts'
import type { Part } from '../part.ts'
import { type Read, runStarts } from './runs.ts'

/** What a reading tells of a sub-agent's run that was over before its session was used again. */
export interface EarlierRun {
  /** The parent as it was when the run was over. */
  readonly parent: SnapshotEvent
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
    if (calls.length < 2 || starts.length !== calls.length) return []
    return calls.slice(0, -1).map(({ at, place }, index) => ({
      parent: { ...parent, messages: upTo(parent.messages, at, place), complete: false, children: [], asks: [] },
      child: {
        ...child,
        messages: child.messages.slice(starts[index], starts[index + 1]),
        status: 'idle' as const,
        complete: false,
        children: [],
        asks: [],
      },
    }))
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
