import { createRecordedServer, listRecordings, type RecordingName, readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { comparable, type Picture } from './picture.ts'
import { type Fault, judge, type Plan, type Played, play } from './play.ts'

/** A recording in which thousands of deltas of one part follow on each other: a cut among them is like its neighbours. */
const burstStep = 20

/** Each so many events, beginning elsewhere for each recording. `npm run test:nightly` takes every one. */
const step = Number(process.env.REPLY_SWEEP_STEP ?? 7)

/** Every recording of a version, cut after its events and attached to after its events, one at a time. */
export function sweepVersion(version: string): void {
  const recordings = listRecordings().filter((recording) => recording.version === version)
  describe(`every recording of ${version}`, () => {
    for (const recording of recordings) {
      test(`${recording.scenario}, cut in mid-stream`, { timeout: 120_000 }, async () => {
        const problems = await sweep(recording, (at) => ({
          recording,
          ahead: at % 4,
          faults: [{ at, type: 'cut', how: at % 2 === 0 ? 'end' : 'error', missed: at % 3 }],
        }))
        expect(problems).toEqual([])
      })
      test(`${recording.scenario}, attached to in mid-stream`, { timeout: 120_000 }, async () => {
        const problems = await sweep(recording, (at) => ({ recording, ahead: at % 4, attachAt: at }))
        expect(problems).toEqual([])
      })
    }
  })
}

async function sweep(recording: RecordingName, planAt: (at: number) => Plan): Promise<string[]> {
  const expected = (await play({ recording })).replies.map(comparable)
  const { length } = createRecordedServer({ bytes: readRecording(recording).bytes })
  const problems: string[] = []
  const stride = recording.scenario === 'burst' ? burstStep * step : step
  for (let at = recording.scenario.length % step; at < length; at += stride) {
    const plan = planAt(at)
    const found = await problemsOf(plan, expected)
    problems.push(...found.map((problem) => `at ${at}: ${problem}`))
    if (problems.length > 3) break
  }
  return problems
}

/** What is wrong with how a plan was played; empty when nothing is. */
export async function problemsOf(plan: Plan, expected: readonly Picture[]): Promise<string[]> {
  let played: Played
  try {
    played = await play(plan)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  return judge(played, { plan, expected })
}

/** Plans by chance: the same seed makes the same ones. */
export function planBySeed(seed: number, recordings: readonly RecordingName[]): Plan {
  const random = randomBy(seed)
  const pick = (below: number): number => Math.floor(random() * below)
  const recording = recordings[pick(recordings.length)] ?? { version: '', scenario: '' }
  const { length } = createRecordedServer({ bytes: readRecording(recording).bytes })
  const faults = Array.from({ length: 1 + pick(4) }, (): Fault => {
    const at = pick(length)
    const kinds: readonly Fault[] = [
      { at, type: 'cut', how: random() < 0.5 ? 'end' : 'error', missed: pick(12) },
      { at, type: 'stall', missed: pick(12) },
      { at, type: 'double' },
      { at, type: 'garbage' },
      { at, type: 'refuse', how: ([500, 'html', 'refused'] as const)[pick(3)] ?? 500, count: 1 + pick(6) },
    ]
    return kinds[pick(kinds.length)] ?? { at, type: 'double' }
  })
  return { recording, ahead: pick(6), attachAt: random() < 0.2 ? pick(length) : 0, faults }
}

/** Mulberry32: 32 bits of state are plenty for a plan. */
function randomBy(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
