import { partsOf, textOf, toolsOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { SnapshotEvent } from '../src/event.ts'
import {
  busy,
  closed,
  delegated,
  delta,
  ended,
  type Head,
  idle,
  message,
  part,
  permission,
  reasoning,
  root,
  run,
  running,
  session,
  snapshot,
  stepFinish,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
type Read = SnapshotEvent['messages'][number]

/** A message as REST returns it, built from its events. */
function read(told: { readonly message: Head }, ...parts: { readonly part: Read['parts'][number] }[]): Read {
  return { head: told.message, parts: parts.map(({ part }) => part) }
}
const prompt = read(user('u1'), text('u1', 'Do it', sealed))

describe('a REST snapshot', () => {
  test('of a session at work opens its reply, with what the run has so far', () => {
    const messages = [prompt, read(message('m1'), text('m1', 'Hel'))]
    const { replies } = run([snapshot({ session: { title: 'A title' }, messages })])
    expect(replies).toMatchObject([
      { title: 'A title', prompt: { text: 'Do it' }, phase: 'working', promptIDs: ['u1'] },
    ])
    expect(replies.map(textOf)).toEqual(['Hel'])
  })

  test.each(['idle', 'busy'] as const)('of a settled run (%s) adds a prompt that no event reported', (status) => {
    const heard = run([session(), busy(), message('m1', { parentID: 'u1' }), ended('m1', { parentID: 'u1' }), idle()])
    expect(heard.replies).toMatchObject([{ phase: 'settled', promptIDs: [] }])
    const messages = [read(user('u1', { createdAt: 5 })), read(ended('m1', { parentID: 'u1', createdAt: 6 }))]
    const { replies } = run([snapshot({ status, messages, since: 1 })], heard)
    expect(replies).toMatchObject([{ phase: 'settled', promptIDs: ['u1'] }])
  })

  test('counts the call behind a summary, once with the one that was heard', () => {
    const tokens = { input: 100, output: 20, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    const summary = ended('s1', { parentID: 'u2', createdAt: 4, summary: true, finish: 'stop', tokens, cost: 0 })
    const compacting = part({ ...sealed, id: 'c', messageID: 'u2', raw: {}, type: 'compaction', auto: true })
    const first = ended('m1', { parentID: 'u1', createdAt: 2 })
    const second = message('m2', { parentID: 'u3', createdAt: 6 })
    const messages = [
      read(user('u1', { createdAt: 1 }), text('u1', 'Do it', sealed)),
      read(first, stepFinish('m1', 5)),
      read(user('u2', { createdAt: 3 }), compacting),
      read(summary),
      read(user('u3', { createdAt: 5 }), text('u3', 'Go on', { ...sealed, synthetic: true })),
      read(second),
    ]
    const late = run([snapshot({ messages })])
    const heard = run([snapshot({ messages })], run([session(), busy(), first, stepFinish('m1', 5), summary]))
    for (const { replies } of [late, heard])
      expect(replies).toMatchObject([{ usage: { input: 105, steps: 2 }, compaction: { state: 'done' } }])
    expect(late.replies[0]?.usage.contextTokens).toBeUndefined()
  })

  test('does not include older runs in this one', () => {
    const older = [prompt, read(ended('m1'), text('m1', 'Old', sealed))]
    const newer = [read(user('u2'), text('u2', 'More', sealed)), read(message('m2'), text('m2', 'New'))]
    const { replies } = run([snapshot({ messages: [...older, ...newer] })])
    expect(replies).toMatchObject([{ promptIDs: ['u2'], messages: [{ id: 'm2' }] }])
    expect(run([text('m1', 'Late', sealed)], run([snapshot({ messages: [...older, ...newer] })])).replies).toHaveLength(
      1,
    )
  })

  test.each([
    ['a step that wants its tools', [read(ended('m1', { finish: 'tool-calls' }), tool('m1'))]],
    ['a prompt in mid-run', [read(ended('m1', { finish: 'tool-calls' })), read(user('u2')), read(message('m2'))]],
    [
      'what the server put in',
      [
        read(ended('m1', { finish: 'tool-calls' })),
        read(ended('m2', { summary: true })),
        read(user('s1'), text('s1', 'Go on', { ...sealed, synthetic: true })),
      ],
    ],
  ])('continues the run past %s', (_, messages) => {
    const { reply } = run([snapshot({ messages: [prompt, ...messages, read(message('m9'))] })])
    expect(reply.promptIDs[0]).toBe('u1')
    expect(reply.messages.map(({ id }) => id)).toContain('m1')
  })

  test('of an idle session opens nothing', () => {
    expect(run([session(), snapshot({ status: 'idle', messages: [prompt, read(ended('m1'))] })]).replies).toEqual([])
  })

  test('does not shorten a received text, and seals what is sealed', () => {
    const live = [...running, text('m1', ''), delta('m1', 'Hello')]
    const empty = snapshot({ messages: [prompt, read(message('m1'), text('m1', ''))] })
    const whole = snapshot({ messages: [prompt, read(message('m1'), text('m1', 'Hey', sealed))] })
    expect(textOf(run([...live, empty]).reply)).toBe('Hello')
    expect(textOf(run([...live, whole]).reply)).toBe('Hey')
  })

  test('does not reopen a call that has ended', () => {
    const live = [...running, tool('m1', { status: 'completed', output: 'x' })]
    const { reply } = run([...live, snapshot({ messages: [prompt, read(message('m1'), tool('m1'))] })])
    expect(toolsOf(reply)).toMatchObject([{ state: { status: 'completed', output: 'x' } }])
  })

  test('after a gap marks an open text, until it is sealed', () => {
    const live = [...running, text('m1', ''), delta('m1', 'Hel')]
    const { reply } = run([
      ...live,
      snapshot({ gap: true, complete: true, messages: [prompt, read(message('m1'), text('m1', ''))] }),
    ])
    expect(partsOf(reply)).toMatchObject([{ text: 'Hel', holes: [3] }])
    const grown = run([
      ...live,
      snapshot({ gap: true, complete: true, messages: [prompt, read(message('m1'), text('m1', ''))] }),
      delta('m1', 'o'),
    ])
    expect(partsOf(grown.reply)).toMatchObject([{ text: 'Helo', holes: [3] }])
    const thought = (said: string) => [prompt, read(message('m1'), reasoning('m1', said))]
    expect(partsOf(run([snapshot({ gap: true, messages: thought('') })]).reply)).toMatchObject([{ holes: [0] }])
    // A source that returns the text so far.
    const [whole] = partsOf(run([snapshot({ gap: true, messages: thought('Hm') })]).reply)
    expect(whole).toMatchObject({ text: 'Hm' })
    expect(whole?.holes).toBeUndefined()
    const [healed] = partsOf(run([text('m1', 'Hello', sealed)], grown).reply)
    expect(healed).toMatchObject({ text: 'Hello' })
    expect(healed?.holes).toBeUndefined()
  })

  test('that is complete removes what it lacks', () => {
    const live = [...running, text('m1', 'Hello', sealed), tool('m1')]
    const messages = [prompt, read(message('m1'), tool('m1'))]
    expect(partsOf(run([...live, snapshot({ messages, complete: true })]).reply).map(({ type }) => type)).toEqual([
      'tool',
    ])
    expect(partsOf(run([...live, snapshot({ messages })]).reply)).toHaveLength(2)
    expect(run([...live, snapshot({ messages: [prompt], complete: true })]).reply.messages).toEqual([])
  })

  test('reports what is new, and nothing that was known', () => {
    const live = run([...running, text('m1', 'Hel'), permission('p1')])
    const asks = [permission('p1').ask]
    const known = snapshot({ asks, messages: [prompt, read(message('m1'), text('m1', 'Hel'))] })
    expect(run([known], live).changes).toEqual([])
    const more = snapshot({ asks, messages: [prompt, read(message('m1'), text('m1', 'Hello'), tool('m1'))] })
    expect(typesOf(run([more], live).changes)).toEqual(['partChanged', 'partAdded', 'toolProgressed'])
  })

  test("brings asks, including sub-agents', and drops those no longer pending", () => {
    const child = snapshot({ sessionID: 'child', session: { parentID: root }, asks: [permission('p2', 'child').ask] })
    const { reply } = run([
      ...delegated,
      permission('p1'),
      snapshot({ complete: true, messages: [prompt, read(message('m1'))], children: [child] }),
    ])
    expect(reply.asks).toMatchObject([
      { requestID: 'p1', status: 'withdrawn' },
      { requestID: 'p2', status: 'pending', path: [root, 'child'] },
    ])
  })

  test('releases the events that were held for it', () => {
    const held = run([text('m1', 'Hel'), delta('m1', 'lo')])
    expect(held.replies).toEqual([])
    const told = snapshot({ messages: [prompt, read(message('m1'))] })
    expect(textOf(run([told], held).reply)).toBe('Hello')
    const early = run([session(), busy(), text('m1', 'Hel'), delta('m1', 'lo')])
    expect(textOf(run([told], early).reply)).toBe('Hello')
    expect(run([told], early).state.waiting).toEqual([])
  })

  test('leaves a settled reply settled', () => {
    const done = run([...running, text('m1', 'Half'), ended('m1'), idle()])
    const messages = [prompt, read(ended('m1'), text('m1', 'Half and half', sealed))]
    const { replies, changes } = run([snapshot({ status: 'idle', messages })], done)
    expect(replies).toMatchObject([{ outcome: 'completed' }])
    expect(typesOf(changes)).toEqual(['replyAmended'])
  })
})

describe('a stream that is behind REST', () => {
  test('takes nothing back', () => {
    const ahead = run([
      snapshot({
        messages: [prompt, read(ended('m1'), text('m1', 'Hello', sealed), tool('m1', { status: 'completed' }))],
      }),
    ])
    const behind = [user('u1'), message('m1'), text('m1', ''), delta('m1', 'Hel'), tool('m1', { status: 'pending' })]
    const { reply, changes } = run(behind, ahead)
    expect(changes).toEqual([])
    expect(reply).toBe(ahead.reply)
  })

  test('opens no ask again', () => {
    const answered = [permission('p1'), closed('p1', { type: 'permission', reply: 'once' })]
    const ahead = run([...running, ...answered])
    expect(run(answered, ahead).reply).toBe(ahead.reply)
  })
})
