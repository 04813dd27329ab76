import { emptyReply, type Reply, type ReplyFailure, replay } from '@reply/core'
import { endingOf, reasonIn } from '@reply/core/show'
import { readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { permission, question, reasoning, run, running, settle, text, tool } from '../make.ts'

const settled = (more: Partial<Reply>): Reply => ({ ...emptyReply('ses_1'), phase: 'settled', ...more })
const failure = (error: Partial<ReplyFailure>) =>
  endingOf(settled({ outcome: 'failed', error: { name: 'APIError', message: '', raw: undefined, ...error } }))

test('a reply that works has no ending', () => {
  expect(endingOf(run(running).reply)).toBeUndefined()
})

describe('a completed reply', () => {
  const noTextOf = (reply: Reply) => {
    const ending = endingOf({ ...reply, phase: 'settled', outcome: 'completed' })
    return ending?.type === 'completed' ? ending.noText : expect.fail()
  }

  test('says what it has instead of text', () => {
    const { reply } = run([...running, reasoning('m1', 'Hm'), tool('m1')])
    expect(noTextOf(reply)).toEqual({ tools: 1, agents: 0, thought: true })
  })

  test('has nothing to say with text, without messages, and after a compaction', () => {
    const { reply } = run(running)
    expect(noTextOf(run([...running, text('m1', 'Yes.')]).reply)).toBeUndefined()
    expect(noTextOf({ ...reply, messages: [] })).toBeUndefined()
    const compaction = { state: 'done', startedAt: 1, endedAt: 2, auto: false } as const
    expect(noTextOf({ ...reply, compaction })).toBeUndefined()
  })

  test('is cut off if the model reached its output limit', () => {
    expect(endingOf(settled({ outcome: 'completed', finish: 'length' }))).toMatchObject({ isCutOff: true })
    expect(endingOf(settled({ outcome: 'completed', finish: 'stop' }))).toMatchObject({ isCutOff: false })
  })
})

test('a stopped reply says what was rejected, if anything was', () => {
  const asked = (ask: ReturnType<typeof permission>) =>
    settled({ outcome: 'stopped', asks: [{ ...ask.ask, status: 'rejected' }] })
  expect(endingOf(asked(permission('p1')))).toEqual({ type: 'stopped', why: 'permission' })
  expect(endingOf(asked(question('q1')))).toEqual({ type: 'stopped', why: 'question' })
  expect(endingOf(settled({ outcome: 'stopped' }))).toEqual({ type: 'stopped', why: 'no-step' })
})

describe('a failed reply', () => {
  test.each<[string, Partial<ReplyFailure>, string | undefined, string | undefined]>([
    ['its message', { message: 'No\nkey' }, 'No key', undefined],
    ['the name of an error without a message', { message: ' ' }, 'APIError', undefined],
    ['the cure by its cause', { message: 'Wrong key', statusCode: 401 }, 'Wrong key', 'credentials'],
    ['to try again if it may pass', { message: 'Busy', retryable: true }, 'Busy', 'again'],
  ])('says %s', (_, error, reason, cure) => {
    expect(failure(error)).toEqual({ type: 'failed', reason, cure })
  })

  test('has no reason without an error', () => {
    expect(endingOf(settled({ outcome: 'failed' }))).toEqual({ type: 'failed', reason: undefined, cure: undefined })
  })

  test('says what the server said', async () => {
    const [reply] = await replay(readRecording({ version: '1.18.33', scenario: 'unauthorized' }).bytes)
    expect(endingOf(reply ?? expect.fail())).toMatchObject({ reason: 'The key is wrong', cure: 'credentials' })
  })
})

test('a reply that timed out says after how long, if that is known', () => {
  const timedOut = { outcome: 'timed-out', settledAt: 61_000 } as const
  expect(endingOf(settled({ ...timedOut, startedAt: 1000 }))).toEqual({ type: 'timed-out', afterMs: 60_000 })
  expect(endingOf(settled(timedOut))).toEqual({ type: 'timed-out', afterMs: undefined })
})

test('a lost reply says why, and whether there is text', () => {
  const { reply } = run([...running, text('m1', 'Half'), settle('end')])
  expect(endingOf(reply)).toEqual({ type: 'lost', why: 'end-not-seen', hasText: true })
  expect(endingOf(settled({ outcome: 'lost', lostReason: 'closed' }))).toMatchObject({ why: 'closed', hasText: false })
})

test.each([
  ['Error: File not found: a.ts', 'File not found: a.ts'],
  ['TypeError: x is undefined', 'TypeError: x is undefined'],
  ['Not found (/nope)\n    at hw (/$bunfs/root/a.js:71:4288)\n    at native:7:39', 'Not found (/nope)'],
  ['Not found (/nope) at hw (/$bunfs/root/a.js:71:4288) at native:7:39', 'Not found (/nope)'],
  ['SchemaError(Missing key\n  at ["filePath"]).', 'SchemaError(Missing key at ["filePath"]).'],
  ['Try at 12:30:00.', 'Try at 12:30:00.'],
  ['{"error":{"message":"No quota"}}', 'No quota'],
  [' \n ', ''],
])('the reason in %j is %j', (message, reason) => {
  expect(reasonIn(message)).toBe(reason)
})
