import { type Change, diff, emptyReply, type Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { SessionScopedEvent } from '../src/event.ts'
import {
  busy,
  closed,
  delegated,
  delta,
  ended,
  idle,
  message,
  permission,
  question,
  reasoning,
  root,
  run,
  running,
  settle,
  stepFinish,
  stepStart,
  task,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
const retry = { type: 'retry', at: 1, sessionID: root, message: 'no' } as const
const todos = { type: 'todos', at: 1, sessionID: root, todos: [{ content: 'a', status: 'b' }] } as const
const ofChild = { sessionID: 'child' }

/** The live changes of the events after `before`, and the diff of the two states. */
function both(before: readonly SessionScopedEvent[], ...events: SessionScopedEvent[]) {
  const first = run(before)
  const second = run(events, first)
  return { live: second.changes, told: diff(first.reply, second.reply) }
}

describe('diff', () => {
  test('of one state with itself, or with an equal one, is empty', () => {
    const { reply } = run([...delegated, text('m1', 'Hello'), permission('p1')])
    expect(diff(reply, reply)).toEqual([])
    expect(diff(reply, JSON.parse(JSON.stringify(reply)) as Reply)).toEqual([])
  })

  const cases: readonly [string, readonly SessionScopedEvent[], SessionScopedEvent][] = [
    ['a message', running, message('m2')],
    ['a message that ends', running, ended('m1')],
    ['a text', running, text('m1', 'Hello')],
    ['a text that is whole', running, text('m1', 'Hello', sealed)],
    ['a delta', [...running, text('m1', 'Hel')], delta('m1', 'lo')],
    ['a seal', [...running, text('m1', 'Hello')], text('m1', 'Hello', sealed)],
    ['a shorter seal', [...running, text('m1', 'Hello ')], text('m1', 'Hello', sealed)],
    ['a tool call', running, tool('m1', { status: 'pending' })],
    ['a call that runs', [...running, tool('m1', { status: 'pending' })], tool('m1')],
    ['a call that goes on', [...running, tool('m1')], tool('m1', { title: 'x' })],
    ['a call that ends', [...running, tool('m1')], tool('m1', { status: 'completed' })],
    ['a step', running, stepFinish('m1', 5)],
    ['text taken back', [...running, text('m1', 'Half')], stepStart('m1')],
    [
      'text that was taken back and sealed after all',
      [...running, text('m1', 'Half'), stepStart('m1')],
      text('m1', 'Half and half', { status: 'sealed' }),
    ],
    ['a message removed', [...running, text('m1', 'x'), tool('m1')], removed('m1')],
    ['a retry', running, retry],
    ['an end of the retry', [...running, retry], busy()],
    ['todos', running, todos],
    ['a question', running, question('q1')],
    ['an answer', [...running, question('q1')], closed('q1', { type: 'answered', answers: [['Red']] })],
    ['a rejection', [...running, question('q1')], closed('q1', { type: 'rejected' })],
    ['a permission given', [...running, permission('p1')], closed('p1', { type: 'permission', reply: 'always' })],
    ['an ask that is gone', [...running, permission('p1')], closed('p1', { type: 'gone' })],
    ['a lost connection', running, { type: 'connection', at: 1, sessionID: root, connection: 'lost' }],
    ['a stall', running, { type: 'stalled', at: 1, sessionID: root, stalled: true }],
    ['an end', [...running, ended('m1')], idle()],
    ['an end in mid-text', [...running, text('m1', 'Half'), permission('p1')], settle('lost')],
    ['a sub-agent', running, task('m1', 'child')],
    ["a sub-agent's text", delegated, text('c1', 'Look', ofChild)],
    ["a sub-agent's ask", delegated, permission('p1', 'child')],
    ["a sub-agent's end", [...delegated, ended('c1', ofChild)], idle('child')],
  ]

  test.each(cases)('reports %s as live changes do', (_, before, event) => {
    const { live, told } = both(before, event)
    expect(live.length).toBeGreaterThan(0)
    expect(told.map(named).toSorted()).toEqual(live.map(named).toSorted())
  })

  test('reports what a late observer missed: whole texts, the end last', () => {
    const { reply } = run([
      ...running,
      reasoning('m1', 'Hm', sealed),
      text('m1', 'Hel'),
      delta('m1', 'lo'),
      ended('m1'),
      idle(),
    ])
    const changes = diff(emptyReply(root), reply)
    expect(changes[0]?.type).toBe('replyStarted')
    expect(changes.at(-1)).toEqual({ type: 'replySettled', outcome: 'completed' })
    expect(
      changes.filter((change) => change.type === 'partAdded').map(({ part }) => 'text' in part && part.text),
    ).toEqual(['Hm', 'Hello'])
  })

  test('omits text that a retry replaced before the diff', () => {
    const { reply } = run([...running, text('m1', 'Half'), stepStart('m1')])
    expect(
      diff(emptyReply(root), reply).flatMap((change) => (change.type === 'partAdded' ? [change.part.type] : [])),
    ).toEqual(['step-start'])
  })

  test('reports text that grew by several deltas with one', () => {
    const { told } = both([...running, text('m1', 'Hel')], delta('m1', 'lo'), delta('m1', ', you'))
    expect(told).toMatchObject([{ type: 'partChanged', delta: 'lo, you', part: { text: 'Hello, you' } }])
  })

  test('reports only an amendment of a settled reply', () => {
    const done = [...running, text('m1', 'Half'), ended('m1'), idle()]
    expect(typesOf(both(done, text('m1', 'Whole', sealed)).told)).toEqual(['replyAmended'])
  })

  test('reports removed parts from the back, each with its former index', () => {
    const { told } = both([...running, text('m1', 'a'), tool('m1'), user('u2')], removed('m1'))
    const gone = told.flatMap((change) => (change.type === 'partRemoved' ? [`${change.index} ${change.reason}`] : []))
    expect(gone).toEqual(['1 reverted', '0 reverted'])
  })
})

function removed(messageID: string): SessionScopedEvent {
  return { type: 'message-removed', at: 1, sessionID: root, messageID }
}

/** A change's type and subject. */
function named(change: Change): string {
  const inner = change.type === 'childChanged' ? ` ${named(change.change)}` : ''
  const part = 'part' in change ? ` ${change.part.id}` : ''
  const delta = 'delta' in change ? ` ${change.delta}` : ''
  const changed = 'changed' in change ? ` ${change.status} ${change.changed}` : ''
  const reason = 'reason' in change ? ` ${change.reason}` : ''
  return change.type + part + delta + changed + reason + inner
}
