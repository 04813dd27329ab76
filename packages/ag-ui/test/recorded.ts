import { observerOf, type Reply, replay } from '@reply/core'
import { listRecordings, readRecording } from '@reply/testing'

/** One recorded stream. A scenario that was also recorded over `/global/event` gives two of them. */
export interface RecordedStream {
  readonly name: string
  /** Each reply, as all of its states in order. */
  readonly read: () => Promise<readonly (readonly Reply[])[]>
}

/** The recordings of both generations of OpenCode. */
export const recordedStreams: readonly RecordedStream[] = [1, 2].flatMap((generation) =>
  listRecordings({ generation: generation === 1 ? 1 : 2 }).flatMap(({ version, scenario, hasGlobal }) =>
    (hasGlobal ? [false, true] : [false]).map((global) => ({
      name: `${version}/${scenario}${global ? ' global' : ''}`,
      read: async () => await statesOf(readRecording({ version, scenario, global }).bytes),
    })),
  ),
)

/** All states of each reply, from its first event to its end. */
async function statesOf(bytes: Uint8Array): Promise<readonly (readonly Reply[])[]> {
  const states: Reply[][] = []
  await replay(bytes, {
    observe: () => {
      const own: Reply[] = []
      states.push(own)
      return [
        observerOf(({ reply }) => {
          if (own.at(-1) !== reply) own.push(reply)
        }),
      ]
    },
  })
  return states
}
