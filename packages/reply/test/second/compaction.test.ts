import { expect, test } from 'vitest'
import { currentActivity, type Reply, replay } from '../../src/index.ts'
import type { Compaction } from '../../src/reply.ts'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'
import { observing } from '../observing.ts'
import { readTape } from './recorded.ts'
import { prompted, promptID, type StableFrame, says, stepBegins, stepEnds, streamOf } from './stable-frames.ts'

async function read(bytes: string | Uint8Array) {
  const told: (Compaction | undefined)[] = []
  const activities: (string | undefined)[] = []
  const observe = () => [
    observing(({ type, reply }: { readonly type: string; readonly reply: Reply }) => {
      if (type !== 'compactionChanged') return
      told.push(reply.compaction)
      activities.push(currentActivity(reply))
    }),
  ]
  return { replies: await replay(bytes, { observe }), told, activities }
}

test.each(['compaction-auto', 'compaction-overflow'])('%s is told when it begins and when it is done', async (name) => {
  const { told, activities, replies } = await read(readTape(name).bytes)
  expect(told.map((each) => each && [each.state, each.auto])).toEqual([
    ['running', true],
    ['done', true],
  ])
  expect(activities[0]).toBe('compacting')
  expect(told[0]?.partID).toBe(`${replies[0]?.promptIDs[0]}.compaction.0`)
  expect(told[0]?.tokensBefore).toBeGreaterThan(0)
})

const begins: StableFrame = ['session.compaction.started', { reason: 'auto', recent: '' }]
const ends: StableFrame = ['session.compaction.ended', { reason: 'auto', text: 'A summary.', recent: '' }]
const first = [...prompted, stepBegins('a'), ...says('a', 'One.'), stepEnds('a', 'tool-calls')]
const last: readonly StableFrame[] = [
  stepBegins('b'),
  ...says('b', 'Two.'),
  stepEnds('b'),
  ['session.execution.succeeded'],
]

test('a second compaction of a run is another one', async () => {
  const { told } = await read(streamOf([...first, begins, ends, begins, ends, ...last]))
  expect(told.map((each) => [each?.partID, each?.state])).toEqual([
    [`${promptID}.compaction.0`, 'running'],
    [`${promptID}.compaction.0`, 'done'],
    [`${promptID}.compaction.1`, 'running'],
    [`${promptID}.compaction.1`, 'done'],
  ])
})

test('a compaction whose end was missed is over when the next step begins', async () => {
  const { told } = await read(streamOf([...first, begins, ...last]))
  expect(told.map((each) => each?.state)).toEqual(['running', 'done'])
})

test('a compaction that failed replaced nothing', async () => {
  const failed: StableFrame = ['session.compaction.failed', { reason: 'auto', error: { type: 'compaction.failed' } }]
  const { replies } = await read(streamOf([...first, begins, failed, ...last]))
  expect(replies.map(({ outcome, compaction }) => [outcome, compaction])).toEqual([['completed', undefined]])
})

test("a person's compaction that failed does not remove the one of the run before it", async () => {
  const asked: StableFrame = ['session.compaction.started', { reason: 'manual', inputID: 'msg_compact', recent: '' }]
  const failed: StableFrame = ['session.compaction.failed', { reason: 'manual', error: { type: 'compaction.failed' } }]
  const byPerson: readonly StableFrame[] = [
    ['session.execution.started'],
    asked,
    failed,
    ['session.execution.succeeded'],
  ]
  const decoder = createDecoder2()
  const frames = streamOf([...first, begins, ends, ...last, ...byPerson])
    .split('\n\n')
    .filter(Boolean)
  const events = frames.flatMap((frame) => decoder.decode(frame.slice('data: '.length), 7))
  expect(events.filter((event) => event?.type === 'compacted')).toHaveLength(1)
  expect(events.filter((event) => event?.type === 'part-removed')).toEqual([])
})

test('a compaction that a person asks for begins no reply', async () => {
  const { replies, told } = await read(readTape('compaction-manual').bytes)
  expect(replies).toHaveLength(2)
  expect(told.every((each) => each?.state === 'done')).toBe(true)
})
