import { answerOf, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { replyOfPrompt } from '../src/drive/connection/newest-run.ts'
import { lastRunStart } from '../src/track/run-boundaries.ts'
import { busy, ended, idle, message, root, run, session, snapshot, task, text, user } from './make.ts'

/** The server's clock stood at 9,000 and was set back to 400. */
describe('when the clock of the server is set back', () => {
  test('a later step stays the last: its text is the answer, its finish the reply’s', () => {
    const first = { createdAt: 9000, completedAt: 9100, finish: 'tool-calls' }
    const { reply } = run([
      session(),
      user('u1', { createdAt: 8900 }),
      busy(),
      message('m1', { createdAt: 9000 }),
      text('m1', 'Let me look.', { status: 'sealed' }),
      message('m1', first),
      message('m2', { createdAt: 400 }),
      text('m2', 'All green.', { status: 'sealed' }),
      ended('m2', { createdAt: 400, completedAt: 500 }),
      idle(),
    ])
    expect(reply).toMatchObject({ outcome: 'completed', finish: 'stop' })
    expect([answerOf(reply), textOf(reply)]).toEqual(['All green.', 'Let me look.\n\nAll green.'])
  })

  test('a run that is older than its session by that clock shows its answer, and is not treated as a copy in a fork', () => {
    const { replies } = run([
      session(root, { createdAt: 9000 }),
      user('u1', { createdAt: 400 }),
      busy(),
      message('m1', { createdAt: 410 }),
      text('m1', 'All green.', { status: 'sealed' }),
      ended('m1', { createdAt: 410, completedAt: 500 }),
      idle(),
    ])
    expect(replies.map((reply) => [reply.outcome, answerOf(reply)])).toEqual([['completed', 'All green.']])
  })

  test('a run in a session from before we listened shows its answer', () => {
    const { replies } = run([
      { type: 'listening', from: 9000, at: 1 },
      session(root, { createdAt: 8000 }),
      user('u1', { createdAt: 400 }),
      busy(),
      message('m1', { createdAt: 410 }),
      text('m1', 'All green.', { status: 'sealed' }),
      ended('m1', { createdAt: 410, completedAt: 500 }),
      idle(),
    ])
    expect(replies.map((reply) => answerOf(reply))).toEqual(['All green.'])
  })

  test('copies in a fork are still ignored', () => {
    const { replies } = run([
      session(root, { createdAt: 9000 }),
      user('u1', { createdAt: 400 }),
      ended('m1', { createdAt: 410, completedAt: 500 }),
    ])
    expect(replies).toEqual([])
  })

  test('a run that came and went in a gap is told, although it is older than what was heard before the gap', () => {
    const heard = run([
      session(root, { createdAt: 8000 }),
      user('u1', { createdAt: 8900 }),
      busy(),
      message('m1', { createdAt: 9000 }),
      ended('m1', { createdAt: 9000, completedAt: 9100 }),
      idle(),
    ])
    const messages = [
      { head: user('u1', { createdAt: 8900 }).message, parts: [] },
      { head: ended('m1', { createdAt: 9000, completedAt: 9100 }).message, parts: [] },
      { head: user('u2', { createdAt: 400 }).message, parts: [] },
      {
        head: ended('m2', { createdAt: 410, completedAt: 500 }).message,
        parts: [text('m2', 'All green.', { status: 'sealed' }).part],
      },
    ]
    const { replies } = run([snapshot({ status: 'idle', gap: true, since: 9100, messages })], heard)
    expect(replies.map((reply) => [reply.promptIDs, answerOf(reply)])).toEqual([
      [['u1'], ''],
      [['u2'], 'All green.'],
    ])
  })

  test('a sub-agent of a prompt that is looked for stays in its reply', () => {
    const part = task('m1', 'child').part
    const messages = [
      { head: user('u1', { createdAt: 8900 }).message, parts: [] },
      { head: ended('m1', { createdAt: 9000, completedAt: 9100 }).message, parts: [part] },
      { head: user('u2', { createdAt: 400 }).message, parts: [] },
      { head: ended('m2', { createdAt: 410, completedAt: 500 }).message, parts: [] },
    ]
    const below = {
      head: ended('c1', { sessionID: 'child', createdAt: 9010, completedAt: 9090 }).message,
      parts: [text('c1', 'Below.', { status: 'sealed', sessionID: 'child' }).part],
    }
    const child = snapshot({
      sessionID: 'child',
      status: 'idle',
      session: { parentID: root, createdAt: 9005 },
      messages: [below],
    })
    const reply = replyOfPrompt(snapshot({ status: 'idle', messages, children: [child] }), 'u1')
    expect(reply?.children.map((each) => textOf(each.reply))).toEqual(['Below.'])
  })

  test('a later prompt begins its own run when a session is read', () => {
    const heads = [
      user('u1', { createdAt: 8000 }),
      ended('m1', { createdAt: 9000, completedAt: 9100 }),
      user('u2', { createdAt: 400 }),
      message('m2', { createdAt: 410 }),
    ].map((event) => ({ head: event.message, parts: [] }))
    expect(lastRunStart(heads)).toBe(2)
  })
})
