import { createRecordedServer, listRecordings, type RecordingName } from '@reply/testing'
import { isOpenCode2, seededRandom } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { bytesOf, type Expected, expectedOf, type Fault, judge, type Plan, type Played, play } from './play.ts'

/** A recording with thousands of consecutive deltas of one part: neighbouring cuts among them are equivalent. */
const burstStep = 97

/** What a client that comes late sees otherwise on OpenCode 2, or what a cut hides, with the reason. */
const lateOtherwise: Readonly<Record<string, string>> = {
  queue: 'Over REST, prompts that one execution served look like runs of their own.',
  'queue-tool': 'As in queue.',
  'queue-twice': 'As in queue.',
  'queue-and-steer': 'As in queue.',
  'queue-failed': 'As in queue.',
  parked: 'As in queue.',
  'parked-by-rejection':
    'A client that connects between the ends of a rejected call and of its step hears an interruption, and reads the reason later.',
  'second-prompt': 'As in queue.',
  'subagent-background': 'What background sub-agents did alone is read as part of a run.',
  'two-sessions': 'The first session is idle before the second.',
  'compaction-manual': 'A compaction is at work as a run is.',
  revert: 'An execution that has yet to deliver its prompt reads as the run before it.',
}
const cutOtherwise: Readonly<Record<string, string>> = {
  'session-deleted': 'How a run ended cannot be read once its session is gone.',
  'subagent-background-two': 'Which reply contains what two background sub-agents did depends on what was heard.',
  'subagent-moved': 'A sub-agent that was moved to the background and ended in the gap reads as part of a run.',
}

/** What several faults hide. */
const unknowable: Readonly<Record<string, string>> = {
  'revert-committed': 'A prompt that was removed cannot be read.',
}

/** Whether a recording shows the same however it is cut and attached to. */
export function isSameForAll({ version, scenario }: RecordingName): boolean {
  return !isOpenCode2(version) || !(scenario in lateOtherwise || scenario in cutOtherwise || scenario in unknowable)
}

/** Every recording of a version, cut after and attached to after each of its events, or after every nth. */
export function sweepVersion(version: string, { every }: { readonly every: number }): void {
  const generation = isOpenCode2(version) ? 2 : 1
  const recordings = listRecordings({ generation }).filter((recording) => recording.version === version)
  describe(`every recording of ${version}`, () => {
    test.each(recordings.map((recording) => [recording.scenario, recording] as const))(
      '%s is the same whenever it is cut, and whenever a client attaches',
      { timeout: 120_000 },
      async (_, recording) => expect(await sweep(recording, every)).toEqual([]),
    )
  })
}

async function sweep(recording: RecordingName, every: number): Promise<string[]> {
  const expected = await expectedOf(recording)
  const problems: string[] = []
  for (const [index, at] of placesIn(recording).entries()) {
    if (index % every !== 0) continue
    const ahead = at % 4
    if (isOpenCode2(recording.version) && recording.scenario in cutOtherwise) continue
    const cut: Plan = {
      recording,
      ahead,
      faults: [{ at, type: 'cut', how: at % 2 === 0 ? 'end' : 'error', missed: at % 3 }],
    }
    const attached =
      isOpenCode2(recording.version) && recording.scenario in lateOtherwise ? [] : [{ recording, ahead, attachAt: at }]
    for (const plan of [cut, ...attached]) {
      const found = await problemsOf(plan, expected)
      problems.push(...found.map((problem) => `at ${at}, ${plan === cut ? 'cut' : 'attached'}: ${problem}`))
    }
    if (problems.length > 3) break
  }
  return problems
}

/** After each event that the decoder doesn't skip: skipped ones change nothing. */
function placesIn(recording: RecordingName): number[] {
  const { types } = createRecordedServer({ bytes: bytesOf(recording), version: recording.version })
  const places = [
    0,
    ...types.flatMap((type, index) => (isKnownType(type) || index === types.length - 1 ? [index + 1] : [])),
  ]
  return recording.scenario === 'burst' ? places.filter((_, index) => index % burstStep === 0) : places
}

function isKnownType(type: string): boolean {
  return /^(session|message|permission|question|form|todo|server)\./.test(type) && type !== 'session.diff'
}

/** Problems of a played plan; empty if there are none. */
export async function problemsOf(plan: Plan, expected: Expected): Promise<string[]> {
  let played: Played
  try {
    played = await play(plan)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  }
  return judge(played, { plan, expected })
}

/** Random plans: the same seed gives the same ones. */
export function planBySeed(seed: number, recordings: readonly RecordingName[]): Plan {
  const random = seededRandom(seed)
  const pick = (below: number): number => Math.floor(random() * below)
  const recording = recordings[pick(recordings.length)] ?? { version: '', scenario: '' }
  const { length } = createRecordedServer({ bytes: bytesOf(recording), version: recording.version })
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
