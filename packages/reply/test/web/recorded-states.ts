import { listRecordings, type RecordingName, readRecording } from '@reply/testing'
import { type Observation, observerOf, type Reply, replay } from '../../src/index.ts'

/** A recorded stream of one server. */
export interface RecordedStream extends RecordingName {
  readonly global: boolean
}

/** All recorded streams of both generations. */
export function recordedStreams(): readonly RecordedStream[] {
  return [...listRecordings(), ...listRecordings({ generation: 2 })].flatMap(({ version, scenario, hasGlobal }) =>
    (hasGlobal ? [false, true] : [false]).map((global) => ({ version, scenario, global })),
  )
}

/** Every state of each reply of a recording, as live readers see them. The last one is settled. */
export async function statesOf(recorded: RecordedStream): Promise<readonly (readonly Reply[])[]> {
  const all: Reply[][] = []
  await replay(readRecording(recorded).bytes, {
    observe: (reply) => {
      const states = [reply]
      all.push(states)
      const note = ({ reply: newest }: Observation): void => {
        if (states.at(-1) !== newest) states.push(newest)
      }
      return [observerOf(note)]
    },
  })
  return all
}
