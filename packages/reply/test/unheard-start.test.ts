import { type ReplyEvent, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { SnapshotEvent } from '../src/event.ts'
import { ended, type Head, idle, run, session, settle, snapshot, text, user } from './make.ts'

const read = (told: { readonly message: Head }, words: string): SnapshotEvent['messages'][number] => ({
  head: told.message,
  parts: [text(told.message.id, words).part],
})

const listening = { type: 'listening', from: 60, at: 1 } as const
/** A run of two prompts: the second joined it during a tool call. */
const first = user('u1', { createdAt: 100 })
const call = ended('m1', { createdAt: 110, completedAt: 140, finish: 'tool-calls', parentID: 'u1' })
const joined = user('u2', { createdAt: 120 })
const answer = ended('m2', { createdAt: 150, completedAt: 160, finish: 'stop', parentID: 'u2' })
const said = text('m2', 'Done.', { status: 'sealed' })

/** The stream tells only of the last step, and the session was never read. */
const heard: readonly ReplyEvent[] = [listening, session(undefined, { createdAt: 50 }), answer, said, idle()]

const whole = snapshot({
  status: 'idle',
  messages: [read(first, 'Go'), read(call, 'Look.'), read(joined, 'And this'), read(answer, 'Done.')],
})

describe('a run whose prompt came before we listened', () => {
  test('waits at its idle for what is to be read', () => {
    expect(run(heard).replies).toMatchObject([{ phase: 'working' }])
  })

  test('has all its prompts and steps once it is read, and then ends as at an idle', () => {
    const { replies } = run([whole, settle('grace')], run(heard))
    expect(replies).toMatchObject([
      { phase: 'settled', outcome: 'completed', promptIDs: ['u1', 'u2'], messages: [{ id: 'm1' }, { id: 'm2' }] },
    ])
    expect(textOf(replies[0] ?? expect.fail())).toContain('Look.')
  })

  test('has its steps although the stream sends its last prompt again', () => {
    const { replies } = run([joined, whole, settle('grace')], run(heard))
    expect(replies).toMatchObject([{ messages: [{ id: 'm1' }, { id: 'm2' }] }])
  })

  test('has no steps of the run before it', () => {
    const before = [
      read(user('u0', { createdAt: 70 }), 'Hi'),
      read(ended('m0', { createdAt: 80, completedAt: 90, finish: 'stop', parentID: 'u0' }), 'Hi.'),
    ]
    const { replies } = run([{ ...whole, messages: [...before, ...whole.messages] }, settle('grace')], run(heard))
    expect(replies).toMatchObject([{ promptIDs: ['u1', 'u2'], messages: [{ id: 'm1' }, { id: 'm2' }] }])
  })

  test('ends at its idle in a recording, which has no more to read', () => {
    const { replies } = run(heard.filter(({ type }) => type !== 'listening'))
    expect(replies).toMatchObject([{ phase: 'settled', outcome: 'completed' }])
  })
})

describe('a session at work with nothing new', () => {
  const over = [read(first, 'Go'), read(ended('m1', { createdAt: 110, completedAt: 140, parentID: 'u1' }), 'Done.')]
  const atRest = snapshot({ status: 'idle', messages: over })

  test('opens no reply if it was read before: nothing may come of it', () => {
    const { replies } = run([listening, session(), atRest, snapshot({ status: 'busy', messages: over }), idle()])
    expect(replies).toEqual([])
  })

  test('opens a reply with its next prompt', () => {
    const next = read(user('u2', { createdAt: 200 }), 'More')
    const { replies } = run([listening, session(), atRest, snapshot({ status: 'busy', messages: [...over, next] })])
    expect(replies).toMatchObject([{ promptIDs: ['u2'], messages: [] }])
  })
})
