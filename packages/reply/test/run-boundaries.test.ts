import { textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { runStarts } from '../src/track/run-boundaries.ts'
import { busy, ended, idle, message, run, running, snapshot, text, tool, user } from './make.ts'

/** Where runs start: a prompt, a step that called a tool, another prompt, and its step. */
function starts(error: string | undefined, more: Parameters<typeof ended>[1] = {}, askedAt = 2010): readonly number[] {
  const state = error === undefined ? ({ status: 'completed' } as const) : ({ status: 'error', error } as const)
  return runStarts([
    { head: user('u1', { createdAt: 900 }).message, parts: [] },
    { head: ended('m1', { createdAt: 1000, finish: 'tool-calls', ...more }).message, parts: [tool('m1', state).part] },
    { head: user('u2', { createdAt: askedAt }).message, parts: [] },
    { head: message('m2', { createdAt: 2020, parentID: 'u2' }).message, parts: [] },
  ])
}

const connected = { type: 'connected', at: 0 } as const
const rejected = 'The user rejected permission to use this specific tool call'

describe('a prompt after a step that called tools', () => {
  test.each([
    ['succeeded', undefined],
    ['failed', 'No such file'],
    ['was rejected with a reason', `${rejected} with the following feedback: Not now`],
    [
      'was rejected with a reason, on 1.2',
      'PermissionCorrectedError({"feedback":" ","_tag":"PermissionCorrectedError"})',
    ],
    ['is forbidden', 'PermissionDeniedError({})'],
  ])('continues the run if the call %s', (_, error) => {
    expect(starts(error)).toEqual([0])
  })

  test.each([
    ['a permission was rejected', `${rejected}.`],
    ['a permission was rejected, on 1.1', `Error: ${rejected}.`],
    ['a permission was rejected, on 1.2', 'PermissionRejectedError({"_tag":"PermissionRejectedError"})'],
    ['a question was dismissed', 'The user dismissed this question'],
  ])('begins a run if %s', (_, error) => {
    expect(starts(error)).toEqual([0, 2])
  })

  test('begins a run if the call gave the value that was asked for', () => {
    expect(starts(undefined, { output: { colour: 'red' } })).toEqual([0, 2])
  })

  test('continues the rejected run if it is from the time of the step', () => {
    expect(starts(`${rejected}.`, {}, 1990)).toEqual([0])
  })
})

describe('a prompt that the stream sent after the last step had ended', () => {
  const answered = [...running, ended('m1', { createdAt: 1000, parentID: 'u1' }), user('u2', { createdAt: 2010 })]
  const messages = [
    { head: user('u1', { createdAt: 900 }).message, parts: [] },
    { head: ended('m1', { createdAt: 1000, parentID: 'u1' }).message, parts: [text('m1', 'One.').part] },
    { head: user('u2', { createdAt: 2010 }).message, parts: [] },
  ]
  const step = { head: message('m2', { createdAt: 2020, parentID: 'u2' }).message, parts: [text('m2', 'Two.').part] }
  const shown = (replies: ReturnType<typeof run>['replies']) =>
    replies.map((reply) => [textOf(reply), reply.promptIDs, reply.outcome])

  test.each([
    ['before its step', messages],
    ['with its step', [...messages, step]],
  ])('begins the next run if the idle was missed in a gap, read %s', (_, read) => {
    const { replies } = run([
      connected,
      ...answered,
      connected,
      snapshot({ messages: read, gap: true, complete: true, since: 2010 }),
      message('m2', { createdAt: 2020, parentID: 'u2' }),
      text('m2', 'Two.', { status: 'sealed' }),
      ended('m2', { createdAt: 2020, completedAt: 3000, parentID: 'u2' }),
      idle(),
    ])
    expect(shown(replies)).toEqual([
      ['One.', ['u1'], 'completed'],
      ['Two.', ['u2'], 'completed'],
    ])
  })

  test('begins no run if the stream sent its step before an idle', () => {
    const continued = [...answered, busy(), message('m2', { createdAt: 2020, parentID: 'u2' })]
    const { replies } = run([...continued, snapshot({ messages: [...messages, step] })])
    expect(shown(replies)).toEqual([['One.\n\nTwo.', ['u1', 'u2'], undefined]])
  })

  test('begins no run while it may never run', () => {
    const { replies } = run([...answered, snapshot({ messages, status: 'idle' })])
    expect(shown(replies)).toEqual([['One.', ['u1', 'u2'], undefined]])
  })
})
