import { type LostReason, type Outcome, partsOf, type Reply, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import {
  busy,
  delta,
  ended,
  failed,
  idle,
  message,
  permission,
  reduced,
  root,
  running,
  settle,
  stepStart,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
const aborting = { type: 'abort-requested', reason: 'requested', at: 1, sessionID: root } as const
const retry = { type: 'retry', at: 1, sessionID: root, message: 'overloaded' } as const
const failure = (name: string) => ({ name, message: '', raw: undefined })
const after = (...events: Parameters<typeof reduced>[0]) => reduced([...running, ...events])

describe('idle', () => {
  test('ends what is complete', () => {
    expect(after(ended('m1'), idle()).reply).toMatchObject({ phase: 'settled', outcome: 'completed', settledAt: 1000 })
  })

  test('ends nothing while a step is open', () => {
    expect(after(idle(), idle()).reply.phase).toBe('working')
  })

  test('ends nothing before anything began', () => {
    expect(reduced([user('u1'), idle()]).reply.phase).toBe('waiting')
  })

  test('ends nothing that is being aborted: its sub-agents may continue', () => {
    expect(after(aborting, ended('m1'), idle()).reply.phase).toBe('working')
  })

  test('comes before the message of an abort is closed: the second one is the end', () => {
    const aborted = ended('m1', { error: failure('MessageAbortedError') })
    const { reply, changes } = after(text('m1', 'Half'), failed('MessageAbortedError'), idle(), aborted, idle(), idle())
    expect(reply).toMatchObject({ outcome: 'aborted' })
    expect(textOf(reply)).toBe('Half')
    expect(typesOf(changes).filter((type) => type === 'replySettled')).toHaveLength(1)
  })
})

describe('a lost reply says why', () => {
  const lost = (reason?: LostReason) => ({ ...settle('lost'), reason })
  const timedOut = { ...aborting, reason: 'timed-out' } as const
  const table: readonly [LostReason | undefined, Outcome, string, Parameters<typeof reduced>[0]][] = [
    ['session-removed', 'lost', 'its session was deleted', [{ type: 'session-removed', at: 1, sessionID: root }]],
    ['closed', 'lost', 'its owner closed the connection', [lost('closed')]],
    ['unreachable', 'lost', 'the server is gone', [lost('unreachable')]],
    ['not-stopped', 'lost', 'its abort was not seen to work', [aborting, lost('not-stopped')]],
    ['not-stopped', 'lost', 'its time was up and it could not be stopped', [timedOut, lost('not-stopped')]],
    ['end-not-seen', 'lost', 'the recording ends in mid-run', [text('m1', 'Half'), settle('end')]],
    ['end-not-seen', 'lost', 'the server is idle and a step is open', [text('m1', 'Half'), settle('rest')]],
    [undefined, 'aborted', 'nothing when it is not lost', [aborting, settle('grace')]],
  ]

  test.each(table)('%s, %s: %s', (lostReason, outcome, _, events) => {
    expect(after(...events).reply).toMatchObject({ lostReason, outcome })
  })

  test.each(table.filter(([, outcome]) => outcome === 'lost'))('%s, %s: %s has words', (lostReason, _, __, events) => {
    const { reply } = after(...events)
    expect(reply.error).toMatchObject({ name: lostReason, message: expect.stringMatching(/^The .*\.$/) })
  })

  test('the error that came before the end stays', () => {
    expect(after(failed('APIError'), lost('unreachable')).reply.error).toMatchObject({ name: 'APIError' })
  })
})

describe('the outcome is the first that applies', () => {
  const open = [text('m1', 'Half')]
  const stopped = [ended('m1', { finish: 'tool-calls' })]
  const table: readonly [Outcome, string, Parameters<typeof reduced>[0]][] = [
    ['timed-out', 'time is up, whatever else', [aborting, failed('APIError'), settle('time-out')]],
    ['lost', 'no end was seen, whatever else', [aborting, failed('MessageAbortedError'), settle('lost')]],
    ['lost', 'the recording ends in mid-run', [...open, settle('end')]],
    ['aborted', 'an abort error', [failed('MessageAbortedError'), ended('m1'), idle()]],
    ['aborted', 'our own abort, though the end looks complete', [aborting, ended('m1'), idle(), settle('grace')]],
    ['aborted', 'our own abort before an error', [aborting, failed('APIError'), ended('m1'), idle(), settle('grace')]],
    ['aborted', 'our own abort, though it stopped', [aborting, ...stopped, idle(), settle('grace')]],
    ['aborted', 'idle while the server meant to retry', [...stopped, retry, idle()]],
    ['completed', 'a retry that went through unheard', [retry, ended('m1'), idle()]],
    ['aborted', 'a step that ended without a reason or a word', [ended('m1', { finish: undefined }), idle()]],
    ['completed', 'a step with a reason and no word', [ended('m1'), idle()]],
    ['failed', 'another error', [failed('APIError'), ended('m1'), idle()]],
    ['failed', 'another error, though a step is open', [...open, failed('APIError'), settle('grace')]],
    ['failed', "a message's own error", [ended('m1', { error: failure('APIError') }), idle()]],
    ['aborted', 'idle on the wire and a step is open', [...open, idle(), settle('grace')]],
    ['lost', 'idle over REST and a step is open', [...open, settle('rest')]],
    ['stopped', 'the last step wanted its tools', [...stopped, idle()]],
    ['completed', 'the last step wanted no tools', [...stopped, message('m2'), ended('m2'), idle()]],
    ['completed', 'all else', [ended('m1'), settle('rest')]],
  ]

  test.each(table)('%s: %s', (outcome, _, events) => {
    expect(after(...events).reply.outcome).toBe(outcome)
  })

  test('an error that a later step left behind does not count', () => {
    expect(after(failed('APIError'), message('m2'), ended('m1'), ended('m2'), idle()).reply.outcome).toBe('completed')
  })

  test('a noReply prompt is completed', () => {
    expect(reduced([user('u1'), settle('none')]).reply).toMatchObject({ phase: 'settled', outcome: 'completed' })
    expect(reduced([user('u1'), settle('end')]).reply).toMatchObject({ phase: 'settled', outcome: 'completed' })
  })

  test('it is lost if the session is deleted', () => {
    expect(after({ type: 'session-removed', at: 1, sessionID: root }).reply.outcome).toBe('lost')
  })
})

describe('settling', () => {
  const busyRun = after(stepStart('m1'), text('m1', 'Half'), tool('m1'), permission('p1')).reply

  test('goes in order: parts close, asks are withdrawn, the phase, the end', () => {
    const { changes } = reduced([settle('time-out')], busyRun)
    expect(typesOf(changes)).toEqual(['partFinalized', 'partFinalized', 'askWithdrawn', 'phaseChanged', 'replySettled'])
  })

  test('leaves no open part, no pending ask and no retry', () => {
    const { reply } = reduced([retry, settle('lost')], busyRun)
    expect(partsOf(reply).map(({ status }) => status)).toEqual(['sealed', 'sealed', 'sealed'])
    expect(reply.asks.map(({ status }) => status)).toEqual(['withdrawn'])
    expect(reply).toMatchObject({ phase: 'settled', outcome: 'lost', retry: undefined, stalled: false })
  })

  test('marks a call that was still running, and keeps its state', () => {
    expect(toolsOf(reduced([settle('lost')], busyRun).reply)[0]?.state).toMatchObject({
      status: 'running',
      interrupted: true,
    })
  })

  test('keeps abandoned text abandoned', () => {
    const { reply } = after(text('m1', 'Half'), stepStart('m1'), ended('m1'), idle())
    expect(partsOf(reply)[0]).toMatchObject({ status: 'abandoned' })
    expect(textOf(reply)).toBe('')
  })

  test('goes through JSON and back', () => {
    const { reply } = reduced([settle('lost')], busyRun)
    expect(JSON.parse(JSON.stringify(reply))).toEqual(reply)
  })
})

describe('after settling', () => {
  const settled = after(text('m1', 'Half'), ended('m1'), idle()).reply
  const late = (...events: Parameters<typeof reduced>[0]) => reduced(events, settled)

  test('late events change the data and report only an amendment', () => {
    const { reply, changes } = late(text('m1', 'Half and half', sealed))
    expect(textOf(reply)).toBe('Half and half')
    expect(changes).toEqual([{ type: 'replyAmended' }])
  })

  test('repeated events report nothing', () => {
    expect(late(ended('m1'), text('m1', 'Half', sealed), delta('m1', ' x')).changes).toEqual([])
  })

  test.each([
    ['busy', busy()],
    ['idle', idle()],
    ['a retry', retry],
    ['another settling', settle('lost')],
    ['an abort', aborting],
    ['a permission', permission('p9')],
    ['the deletion of its session', { type: 'session-removed', at: 1, sessionID: root } as const],
    ['stalled', { type: 'stalled', at: 1, sessionID: root, stalled: true } as const],
    ['a lost connection', { type: 'connection', at: 1, sessionID: root, connection: 'lost' } as const],
  ])('%s opens nothing anew', (_, event) => {
    expect(late(event).reply).toBe(settled)
  })

  test('a late part is closed at once, and stays so', () => {
    const { reply } = late(text('m1', 'More', { id: 'late' }), tool('m1'), delta('m1', '!', { partID: 'late' }))
    expect(partsOf(reply).map(({ status }) => status)).toEqual(['sealed', 'sealed', 'sealed'])
    expect(toolsOf(reply)[0]?.state.interrupted).toBe(true)
  })

  test('the phase, the outcome and the time of the end stay', () => {
    const { reply } = late(failed('APIError'), message('m2'), text('m2', 'More', sealed))
    expect(reply).toMatchObject({ phase: 'settled', outcome: 'completed', settledAt: settled.settledAt })
  })
})

describe('the phase is the strongest that applies', () => {
  const phase = (...events: Parameters<typeof reduced>[0]): Reply['phase'] => after(...events).reply.phase
  const answer = { type: 'ask-closed', at: 1, sessionID: root, requestID: 'p1' } as const

  test('waiting until something runs', () => {
    expect(reduced([user('u1')]).reply.phase).toBe('waiting')
    expect(reduced([user('u1'), busy()]).reply.phase).toBe('working')
    expect(reduced([user('u1'), message('m1')]).reply.phase).toBe('working')
  })

  test('blocked before retrying before working', () => {
    expect(phase(retry)).toBe('retrying')
    expect(phase(retry, permission('p1'))).toBe('blocked')
    expect(phase(retry, permission('p1'), { ...answer, how: { type: 'rejected' } })).toBe('retrying')
    expect(phase(permission('p1'), { ...answer, how: { type: 'permission', reply: 'once' } })).toBe('working')
  })

  test('each change of it is reported once, with its former value', () => {
    const told = (...events: Parameters<typeof reduced>[0]) =>
      reduced([user('u1'), ...events]).changes.flatMap((change) =>
        change.type === 'phaseChanged' ? [`${change.before} ${change.phase}`] : [],
      )
    expect(told(busy(), busy(), message('m1'))).toEqual(['waiting working'])
    expect(told(retry, retry, busy())).toEqual(['waiting retrying', 'retrying working'])
    expect(told(busy(), permission('p1'), settle('lost'))).toEqual([
      'waiting working',
      'working blocked',
      'blocked settled',
    ])
  })

  test('settled before blocked', () => {
    expect(phase(permission('p1'), settle('lost'))).toBe('settled')
  })
})
