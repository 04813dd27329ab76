import { type Observation, type Reply, replay } from '@reply/core'
import type { Delivery, Sink } from '@reply/sink'
import { type HandClock, listRecordings, type RecordingName, readRecording } from '@reply/testing'

/** The course of a reply: each state with its time, in ms since the beginning. */
export interface Timeline {
  readonly name: string
  readonly states: readonly { readonly atMs: number; readonly reply: Reply }[]
}

/** This many states of one reply are enough to stand for thousands. */
const most = 40

const known = new Map<string, Promise<readonly Timeline[]>>()

/** The root replies of a recording, at an even pace: recordings keep no times. Read once; many tests show the same. */
export function timelinesOf(recording: RecordingName, stepMs = 300): Promise<readonly Timeline[]> {
  const key = `${recording.version}/${recording.scenario} ${stepMs}`
  const found = known.get(key) ?? readTimelines(recording, stepMs)
  known.set(key, found)
  return found
}

async function readTimelines(recording: RecordingName, stepMs: number): Promise<readonly Timeline[]> {
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

/** Shows a reply to its end, on a manual clock, through one or more sinks. The delivery is the first with a loss. */
export async function showTimeline(
  { states }: Timeline,
  {
    clock,
    sinks,
    rest,
  }: { readonly clock: HandClock; readonly sinks: readonly Sink[]; readonly rest: () => Promise<void> },
): Promise<{ readonly delivery: Delivery; readonly reply: Reply }> {
  let delivery: Delivery | undefined
  for (const [index, { atMs, reply }] of states.entries()) {
    await clock.advance(atMs - (states[index - 1]?.atMs ?? 0), rest)
    for (const sink of sinks) {
      if (index === 0) sink.replyStarted?.({ type: 'replyStarted', reply })
      else sink.phaseChanged?.({ type: 'phaseChanged', before: 'working', phase: reply.phase, reply })
    }
  }
  void Promise.all(sinks.map((sink) => sink.settled())).then((found) => {
    delivery = found.find(({ undelivered }) => undelivered.length > 0) ?? found[0]
  })
  for (let waited = 0; waited < 3_600_000 && !delivery; waited += 1000) await clock.advance(1000, rest)
  const reply = states.at(-1)?.reply
  if (!delivery || !reply) throw new Error('The sink did not settle in time.')
  return { delivery, reply }
}
