import { type Observation, type Reply, replay } from '@reply/core'
import { listRecordings, type RecordingName, readRecording } from '@reply/testing'

/** The course of a reply: each state with its time, in ms since the beginning. */
export interface Timeline {
  readonly name: string
  readonly states: readonly { readonly atMs: number; readonly reply: Reply }[]
}

/** This many states of one reply are enough to stand for thousands. */
const most = 40

/** The root replies of a recording, at an even pace: recordings keep no times. */
export async function timelinesOf(recording: RecordingName, stepMs = 300): Promise<readonly Timeline[]> {
  const seen = new Map<string, Reply[]>()
  await replay(readRecording(recording).bytes, {
    observe: (reply) => {
      const states: Reply[] = []
      seen.set(`${reply.sessionID} ${seen.size}`, states)
      const note = ({ reply: next }: Observation): void => {
        if (states.at(-1) !== next) states.push(next)
      }
      return [everything(note)]
    },
  })
  return [...seen].map(([key, all]) => {
    const every = Math.max(1, Math.ceil(all.length / most))
    const states = all.filter((_, index) => index % every === 0 || index === all.length - 1)
    return {
      name: `${recording.version}/${recording.scenario} ${key}`,
      states: states.map((reply, index) => ({ atMs: index * stepMs, reply: timed(reply, index * stepMs) })),
    }
  })
}

/** When all timelines begin. */
export const beginning = Date.UTC(2026, 0, 1)

function timed(reply: Reply, atMs: number): Reply {
  const settled = reply.phase === 'settled' ? { settledAt: beginning + atMs } : {}
  return { ...reply, startedAt: beginning, ...settled }
}

export function recordingsOf(version: string): readonly RecordingName[] {
  return listRecordings().filter((recording) => recording.version === version)
}

function everything(note: (observation: Observation) => void): object {
  return new Proxy({}, { get: () => note, has: () => true })
}
