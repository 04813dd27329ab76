import { openCode2Version } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { expectedOf, type Plan } from './play.ts'
import { problemsOf } from './sweep.ts'

/** Plans that the nightly run once found. They are kept here as they were: seeds mean others when a recording is added. */
interface Found extends Plan {
  readonly what: string
}

const cut = { type: 'cut', how: 'end' } as const
const broken = { type: 'cut', how: 'error' } as const
const stall = { type: 'stall' } as const
const refused = { type: 'refuse', how: 'refused' } as const

const stillFull = 'that a run goes on whose context was full'

/** How the replies differ from those of the same recording without faults. */
interface Unknowable extends Found {
  readonly problem: RegExp
}

/** If one of these comes out right, its rule has been found: move it to the others. */
const unknowable: readonly Unknowable[] = [
  {
    what: "the error of a sub-agent's message that came in a gap, when the server could be read only after the run",
    recording: { version: '1.14.41', scenario: 'abort-child-permission' },
    ahead: 3,
    faults: [
      { at: 17, type: 'refuse', how: 500, count: 3 },
      { ...stall, at: 21, missed: 6 },
      { ...cut, at: 22, missed: 10 },
      { ...broken, at: 45, missed: 10 },
    ],
    problem: /expected .*"error":"MessageAbortedError"/,
  },
  {
    what: 'a prompt that was reverted while every read failed',
    recording: { version: '1.17.19', scenario: 'revert' },
    ahead: 1,
    attachAt: 6,
    faults: [
      { ...refused, at: 54, count: 6 },
      { ...stall, at: 103, missed: 7 },
      { ...cut, at: 104, missed: 6 },
      { ...broken, at: 119, missed: 7 },
    ],
    problem: /expected .*"messages":\[\]/,
  },
  {
    what: 'how a run ended that was reverted in a gap',
    recording: { version: '1.1.65', scenario: 'revert' },
    ahead: 5,
    faults: [
      { ...stall, at: 59, missed: 7 },
      { ...stall, at: 60, missed: 10 },
    ],
    problem: /"outcome":"lost".*"messages":\[\]/,
  },
  {
    what: 'a run that was both made and reverted in a gap',
    recording: { version: '1.1.65', scenario: 'revert' },
    ahead: 1,
    faults: [
      { ...broken, at: 26, missed: 9 },
      { ...cut, at: 63, missed: 7 },
      { ...stall, at: 70, missed: 9 },
    ],
    problem: /^2 of 3 replies were told$/,
  },
]

const unheardRetry = 'the outcome of a retry that succeeded unheard'
const unheardEnd = 'that a run ended unheard, and that the next prompt begins another'
const unheardLoss = 'that a run was lost with its server, and that the next prompt begins another'
const unnamedParts = "a sub-agent's parts of a second run that were missed before its call named it"
const earlyRun = 'a run that another client began while the watch connected'
const unheardStart = 'how a run began that was over on the server before its stream told of it'

const mended: readonly Found[] = [
  {
    what: 'that an execution without work makes no reply, seen over REST',
    recording: { version: openCode2Version, scenario: 'prompt-repeated' },
    attachAt: 13,
    faults: [
      { ...cut, at: 14, missed: 6 },
      { ...cut, at: 1, missed: 0 },
      { ...stall, at: 10, missed: 2 },
      { ...broken, at: 13, missed: 2 },
    ],
  },
  {
    what: unheardStart,
    recording: { version: '1.14.41', scenario: 'second-prompt-tool' },
    ahead: 4,
    attachAt: 42,
  },
  {
    what: unheardStart,
    recording: { version: '1.2.27', scenario: 'second-prompt' },
    ahead: 4,
    attachAt: 38,
  },
  {
    what: unnamedParts,
    recording: { version: '1.1.65', scenario: 'subagent-resumed' },
    ahead: 5,
    attachAt: 57,
    faults: [
      { ...stall, at: 23, missed: 11 },
      { at: 31, type: 'garbage' },
      { at: 94, type: 'refuse', how: 500, count: 6 },
    ],
  },
  {
    what: unnamedParts,
    recording: { version: '1.1.65', scenario: 'subagent-resumed' },
    ahead: 3,
    attachAt: 61,
    faults: [
      { ...broken, at: 90, missed: 1 },
      { at: 90, type: 'garbage' },
      { at: 34, type: 'refuse', how: 500, count: 1 },
      { ...stall, at: 16, missed: 5 },
    ],
  },
  {
    what: stillFull,
    recording: { version: '1.2.27', scenario: 'compaction-overflow' },
    ahead: 1,
    attachAt: 11,
    faults: [
      { ...refused, at: 48, count: 5 },
      { at: 50, type: 'refuse', how: 500, count: 5 },
    ],
  },
  {
    what: unheardRetry,
    recording: { version: '1.17.19', scenario: 'retry-twice' },
    ahead: 2,
    faults: [
      { at: 59, type: 'refuse', how: 'html', count: 6 },
      { ...cut, at: 64, missed: 11 },
      { at: 66, type: 'refuse', how: 500, count: 1 },
      { at: 66, type: 'garbage' },
    ],
  },
  {
    what: unheardRetry,
    recording: { version: '1.18.33', scenario: 'retry-429' },
    ahead: 2,
    faults: [
      { ...stall, at: 0, missed: 6 },
      { ...broken, at: 24, missed: 2 },
      { at: 53, type: 'refuse', how: 500, count: 4 },
      { ...cut, at: 62, missed: 11 },
    ],
  },
  {
    what: unheardRetry,
    recording: { version: '1.1.65', scenario: 'retry-429' },
    ahead: 4,
    faults: [{ ...broken, at: 14, missed: 11 }],
  },
  {
    what: earlyRun,
    recording: { version: '1.2.27', scenario: 'retry-aborted' },
    ahead: 4,
    faults: [
      { ...stall, at: 6, missed: 9 },
      { at: 11, type: 'garbage' },
      { at: 19, type: 'refuse', how: 'html', count: 5 },
    ],
  },
  {
    what: earlyRun,
    recording: { version: '1.2.27', scenario: 'abort-permission' },
    ahead: 3,
    faults: [
      { ...stall, at: 6, missed: 11 },
      { at: 20, type: 'double' },
    ],
  },
  {
    what: earlyRun,
    recording: { version: '1.1.65', scenario: 'abort-before-text' },
    ahead: 5,
    faults: [{ ...stall, at: 6, missed: 7 }],
  },
  {
    what: earlyRun,
    recording: { version: '1.2.27', scenario: 'unauthorized' },
    ahead: 5,
    faults: [
      { ...stall, at: 6, missed: 3 },
      { at: 8, type: 'garbage' },
      { at: 14, type: 'double' },
    ],
  },
  {
    what: 'a text whose last piece came twice',
    recording: { version: openCode2Version, scenario: 'killed' },
    faults: [{ at: 10, type: 'double' }],
  },
  {
    what: unheardEnd,
    recording: { version: openCode2Version, scenario: 'abort-then-prompt' },
    ahead: 2,
    faults: [{ ...cut, at: 11, missed: 3 }],
  },
  {
    what: `${unheardEnd}, read when both were over`,
    recording: { version: openCode2Version, scenario: 'two-turns' },
    ahead: 1,
    faults: [
      { ...stall, at: 3, missed: 4 },
      { ...stall, at: 14, missed: 11 },
    ],
  },
  {
    what: 'that a queued prompt joins a run whose step ended unheard',
    recording: { version: openCode2Version, scenario: 'queue-and-steer' },
    faults: [{ ...cut, at: 32, missed: 2 }],
  },
  {
    what: `${stillFull}, read before the prompt of the compaction came`,
    recording: { version: '1.17.19', scenario: 'compaction-overflow' },
    ahead: 1,
    attachAt: 77,
    faults: [{ ...stall, at: 58, missed: 5 }],
  },
  {
    what: `${stillFull}, read after a gap`,
    recording: { version: '1.17.19', scenario: 'compaction-overflow' },
    attachAt: 82,
    faults: [{ ...refused, at: 10, count: 5 }],
  },
  {
    what: `${stillFull}, read after several gaps`,
    recording: { version: '1.14.41', scenario: 'compaction-overflow' },
    ahead: 1,
    faults: [
      { ...broken, at: 25, missed: 8 },
      { at: 18, type: 'garbage' },
      { at: 54, type: 'refuse', how: 500, count: 5 },
      { at: 48, type: 'double' },
    ],
  },
  {
    // The gap contains the three `message.removed` of the newest run. The read after it only has the run before, which
    // the client never heard. As that is older than the newest run, it isn't taken for its content.
    what: 'that a run was reverted in a gap, from a read of the unknown run before it',
    recording: { version: '1.17.19', scenario: 'revert' },
    ahead: 1,
    attachAt: 70,
    faults: [
      { ...refused, at: 50, count: 2 },
      { at: 64, type: 'garbage' },
      { at: 91, type: 'double' },
      { ...broken, at: 109, missed: 11 },
    ],
  },
  {
    what: 'that the end of a run came after the next prompt was read',
    recording: { version: openCode2Version, scenario: 'abort-then-prompt' },
    ahead: 5,
    faults: [
      { ...broken, at: 2, missed: 3 },
      { ...stall, at: 5, missed: 7 },
    ],
  },
  {
    what: unheardLoss,
    recording: { version: openCode2Version, scenario: 'killed-then-prompt' },
    ahead: 2,
    faults: [{ ...stall, at: 92, missed: 7 }],
  },
  {
    what: `${unheardLoss}, read when both were over`,
    recording: { version: openCode2Version, scenario: 'stopped-then-prompt' },
    ahead: 3,
    faults: [{ ...broken, at: 63, missed: 11 }],
  },
]

const named = <P extends Found>(plans: readonly P[]): readonly (readonly [string, P])[] =>
  plans.map((plan) => [`${plan.what} (${plan.recording.version} ${plan.recording.scenario})`, plan])

describe('a client cannot know', () => {
  test.each(named(unknowable))('%s', async (_, plan) => {
    const problems = await problemsOf(plan, await expectedOf(plan.recording))
    expect(problems).toEqual([expect.stringMatching(plan.problem)])
  })
})

describe('a client still learns', () => {
  test.each(named(mended))('%s', async (_, plan) => {
    expect(await problemsOf(plan, await expectedOf(plan.recording))).toEqual([])
  })
})
