import { expect, test } from 'vitest'
import { answerOf, replay, textOf } from '../../src/index.ts'
import { prompted, promptID, type StableFrame, says, stepBegins, stepEnds, streamOf, tokens } from './stable-frames.ts'

const failure = { type: 'provider.invalid-output', message: 'The stream ended early.' }

/** A step whose model broke off. 2.0 goes on with another one; the preview build ends the run. */
const cut = (assistantMessageID: string): readonly StableFrame[] => [
  ['session.step.failed', { assistantMessageID, error: failure, cost: 0.1, tokens }],
  ['session.retry.scheduled', { assistantMessageID, attempt: 2, at: 2000, error: failure }],
]
/** What 2.0 tells the model then. */
const goOn: StableFrame = ['session.synthetic', { text: 'The previous response was interrupted. Continue.' }]
const begun = [...prompted, stepBegins('a'), ...says('a', 'One ')]

test('an answer that was cut keeps its text, and its continuation follows', async () => {
  const frames = [...begun, ...cut('a'), goOn, stepBegins('b'), ...says('b', 'two.'), stepEnds('b')]
  const [reply, ...more] = await replay(streamOf([...frames, ['session.execution.succeeded']]))
  expect(more).toEqual([])
  expect(reply).toMatchObject({ outcome: 'completed', error: undefined, promptIDs: [promptID], finish: 'stop' })
  expect(reply?.usage).toMatchObject({ steps: 2, cost: 0.2 })
  expect(reply && [textOf(reply), answerOf(reply)]).toEqual(['One \n\ntwo.', 'One \n\ntwo.'])
})

test('the answer excludes a remark before a tool call, and a step that was cut before that', async () => {
  const again = [...cut('a'), goOn, stepBegins('b'), ...says('b', 'I look.'), stepEnds('b', 'tool-calls')]
  const frames = [...begun, ...again, stepBegins('c'), ...says('c', 'Found.'), stepEnds('c')]
  const [reply] = await replay(streamOf([...frames, ['session.execution.succeeded']]))
  expect(reply && answerOf(reply)).toBe('Found.')
})

test('an answer that was cut and is not continued has failed', async () => {
  const frames = [...begun, ...cut('a'), ['session.execution.failed', { error: failure }] as const]
  const [reply] = await replay(streamOf(frames))
  expect(reply).toMatchObject({ outcome: 'failed', error: { name: failure.type, message: failure.message } })
  expect(reply && textOf(reply)).toBe('One ')
})
