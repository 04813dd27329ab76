import { textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { SnapshotEvent } from '../src/event.ts'
import { busy, ended, type Head, idle, message, run, running, session, snapshot, text, user } from './make.ts'

type Read = SnapshotEvent['messages'][number]

function read(told: { readonly message: Head }, ...parts: { readonly part: Read['parts'][number] }[]): Read {
  return { head: told.message, parts: parts.map(({ part }) => part) }
}

/** Turn n: the prompt `u<n>` and its answer `v<n>`, with the times 10n and 10n + 1. */
function turn(n: number): readonly Read[] {
  return [
    read(user(`u${n}`, { createdAt: 10 * n }), text(`u${n}`, `Ask ${n}`)),
    read(
      ended(`v${n}`, { createdAt: 10 * n + 1, completedAt: 10 * n + 2, parentID: `u${n}` }),
      text(`v${n}`, `Say ${n}`),
    ),
  ]
}

const partial = (...turns: readonly number[]) =>
  snapshot({ status: 'idle', messages: turns.flatMap(turn), partial: true })

describe('a snapshot without older messages', () => {
  test('ignores them when the stream sends them late', () => {
    const before = run([session(), partial(8, 9)])
    expect(before.replies).toEqual([])
    const late = [
      user('u3', { createdAt: 30 }),
      ended('v3', { createdAt: 31, parentID: 'u3' }),
      text('v3', 'Pruned', { status: 'sealed' }),
    ]
    const after = run(late, before)
    expect([after.replies, after.state.waiting]).toEqual([[], []])
  })

  test('keeps no part of an older message waiting for it', () => {
    const { state } = run([text('u3', 'Pruned', { status: 'sealed' })], run([session(), partial(8, 9)]))
    expect(state.waiting).toEqual([])
  })

  test('ignores them when a later snapshot has them', () => {
    const before = run([
      session(),
      partial(8, 9),
      user('u91', { createdAt: 910 }),
      busy(),
      message('v91', { createdAt: 911 }),
    ])
    const messages = [
      ...[2, 3, 8, 9].flatMap(turn),
      read(user('u91', { createdAt: 910 })),
      read(message('v91', { createdAt: 911 })),
    ]
    const { replies } = run([snapshot({ messages })], before)
    expect(replies).toMatchObject([{ promptIDs: ['u91'], messages: [{ id: 'v91' }] }])
  })

  test('opens the reply of a busy run as a complete snapshot does', () => {
    const working = [
      read(user('u91', { createdAt: 910 })),
      read(message('v91', { createdAt: 911 }), text('v91', 'Hel')),
    ]
    const whole = run([session(), snapshot({ messages: [...[1, 2, 8].flatMap(turn), ...working] })])
    const part = run([session(), snapshot({ messages: [...turn(8), ...working], partial: true })])
    expect(part.replies).toEqual(whole.replies)
    expect(part.replies.map(textOf)).toEqual(['Hel'])
  })

  test('still reports a prompt newer than everything read', () => {
    const after = run(
      [user('u91', { createdAt: 910 }), busy(), message('v91', { createdAt: 911 })],
      run([session(), partial(8, 9)]),
    )
    expect(after.replies).toMatchObject([{ promptIDs: ['u91'], phase: 'working' }])
  })

  test('removes what it reaches back to and lacks', () => {
    const known = run([...running, ended('m1'), idle(), user('u2'), busy(), message('m2')])
    const messages = [...turn(1), read(user('u2')), read(message('m2'))]
    const { replies } = run([snapshot({ messages, complete: true, partial: true })], known)
    expect(replies).toMatchObject([{ messages: [] }, { messages: [{ id: 'm2' }] }])
  })
})
