import { emptyTrack, type Reply, replay, track } from '@reply/core'
import { createRecordingReader, recordingLimits } from '@reply/core/internal'
import { listRecordings, readRecording } from '@reply/testing'
import { expect } from 'vitest'
import { openRecording } from '../src/inspect/read-frames.ts'

/** All recordings of both generations of OpenCode, also those over `/global/event`. */
export const recordings = ([1, 2] as const).flatMap((generation) =>
  listRecordings({ generation }).flatMap(({ version, scenario, hasGlobal }) =>
    (hasGlobal ? [false, true] : [false]).map((global) => ({
      name: `${version}/${scenario}${global ? ' global' : ''}`,
      read: () => readRecording({ version, scenario, global }).bytes,
    })),
  ),
)

/**
 * Compares the replies at each moment with those of a replay that goes from the first frame to this one, looking at the moments
 * in this order. The end must have the replies of `replay`.
 */
export async function expectMoments(
  bytes: Uint8Array | string,
  order: (moments: number) => readonly number[] = forwards,
): Promise<void> {
  const opened = openRecording(bytes)
  const expected = repliesByFrame(bytes)
  expect(opened.length).toBe(expected.length)
  for (const moment of order(expected.length)) {
    const there = jsonOf(opened.repliesAt(moment).map(({ reply }) => reply))
    if (there !== expected[moment])
      expect(JSON.parse(there), `moment ${moment}`).toEqual(JSON.parse(expected[moment] ?? '[]'))
  }
  expect(opened.moments).toBe(opened.length + 1)
  const ended = opened.repliesAt(opened.length).map(({ reply }) => reply)
  expect(jsonOf(ended)).toBe(jsonOf(await replay(bytes)))
}

/** Each moment, the first one first. */
export function forwards(moments: number): readonly number[] {
  return Array.from({ length: moments }, (_, at) => at)
}

/** Plays all frames one after the other, and returns the replies after each one as JSON. */
function repliesByFrame(bytes: Uint8Array | string): readonly string[] {
  const after: string[] = []
  const replies = new Map<string, Reply>()
  let state = emptyTrack(recordingLimits)
  const reader = createRecordingReader(undefined, ({ events }) => {
    for (const event of events) {
      const tracked = track(state, event)
      state = tracked.state
      for (const { reply, run, changes } of tracked.steps) {
        const key = `${reply.sessionID} ${run}`
        if (replies.has(key) || changes[0]?.type === 'replyStarted') replies.set(key, reply)
      }
    }
    after.push(jsonOf([...replies.values()]))
  })
  reader.push(bytes)
  reader.end()
  return after
}

function jsonOf(replies: readonly Reply[]): string {
  return JSON.stringify(replies)
}
