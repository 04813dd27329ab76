import { emptyTrack, partsOf, type ReplyEvent, repliesOf, textOf, track, unknownSessions } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { retainedReplies } from '../src/track/track.ts'
import {
  busy,
  delta,
  ended,
  failed,
  type Head,
  idle,
  message,
  part,
  reasoning,
  root,
  run,
  running,
  session,
  settle,
  snapshot,
  start,
  task,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const sealed = { status: 'sealed' } as const
const connected = { type: 'connected', at: 1 } as const
const turn = (n: number): readonly ReplyEvent[] => [user(`u${n}`), busy(), message(`m${n}`), ended(`m${n}`), idle()]

describe('opening', () => {
  test.each([
    ['a user message', user('u1')],
    ['busy', busy()],
    ['an assistant message', message('m1')],
    ['a retry', { type: 'retry', at: 1, sessionID: root, message: 'no' } as const],
    ['a prompt about to be posted', { type: 'opened', at: 1, sessionID: root } as const],
    ['a reading over REST of a busy session', snapshot()],
  ])('%s opens a reply', (_, event) => {
    const { replies, changes } = run([session(), event])
    expect(replies).toHaveLength(1)
    expect(changes[0]?.type).toBe('replyStarted')
  })

  test.each([
    ['the session itself', session()],
    ['idle', idle()],
    ['an error', failed('APIError')],
    ['todos', { type: 'todos', at: 1, sessionID: root, todos: [] } as const],
    ['a reading over REST of an idle session', snapshot({ status: 'idle' })],
  ])('%s opens none', (_, event) => {
    expect(run([session(), event]).replies).toEqual([])
  })

  describe('a prompt about to be posted', () => {
    const read = (...heads: Head[]) => heads.map((head) => ({ head, parts: [] }))
    const messages = read(
      user('u1', { createdAt: 1 }).message,
      ended('m1', { parentID: 'u1', createdAt: 2, completedAt: 3 }).message,
      user('u2', { createdAt: 4 }).message,
      ended('m2', { parentID: 'u2', createdAt: 5, completedAt: 6 }).message,
    )
    const before = snapshot({ status: 'idle', messages, gap: false })
    const opened = { type: 'opened', at: 1, sessionID: root, earlierIDs: messages.map(({ head }) => head.id) } as const

    test.each([
      ['a read that was late', [snapshot({ status: 'idle', messages, gap: true })]],
      ['the stream', [user('u2'), message('m2', { parentID: 'u2' }), text('m2', 'Two.'), ended('m2'), idle()]],
    ])('gets nothing of earlier runs of other clients from %s', (_, late) => {
      const known = run([session(), ...turn(1), before, opened, ...late])
      expect(known.replies.at(-1)).toMatchObject({ phase: 'waiting', promptIDs: [], messages: [] })
      const { replies } = run([user('u3', { createdAt: 7 }), busy(), message('m3', { parentID: 'u3' })], known)
      expect(replies.slice(1)).toMatchObject([{ phase: 'working', promptIDs: ['u3'], messages: [{ id: 'm3' }] }])
    })
  })

  test.each(['idle', 'busy'] as const)('a read (%s) that is older than a run adds nothing to it', (status) => {
    const heads = [
      user('u1', { createdAt: 1 }),
      ended('m1', { parentID: 'u1', createdAt: 2, completedAt: 3 }),
      user('u2', { createdAt: 4 }),
      ended('m2', { parentID: 'u2', createdAt: 5, completedAt: 6 }),
    ]
    const messages = heads.map(({ message: head }) => ({ head, parts: [] }))
    const opened = [user('u3', { createdAt: 7 }), busy(), message('m3', { parentID: 'u3', createdAt: 8 })]
    const { replies } = run([session(), ...turn(1), ...opened, snapshot({ status, messages, gap: true })])
    expect(replies.at(-1)).toMatchObject({ promptIDs: ['u3'], messages: [{ id: 'm3' }] })
  })

  test('a reply that is opened for a prompt of an earlier run takes it over from there', () => {
    const joined = [user('u1'), message('m1', { parentID: 'u1' }), user('u2'), ended('m1', { parentID: 'u1' }), idle()]
    const { replies } = run([session(), ...joined, { type: 'opened', sessionID: root, promptID: 'u2', at: 5 }])
    expect(replies.map(({ promptIDs }) => promptIDs)).toEqual([['u1'], ['u2']])
  })

  test('each run is a reply of its own', () => {
    const { replies } = run([session(), ...turn(1), ...turn(2)])
    expect(replies.map(({ promptIDs }) => promptIDs)).toEqual([['u1'], ['u2']])
    expect(replies.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
  })

  test('a prompt to a busy session joins the reply', () => {
    const { replies } = run([
      ...running,
      user('u2'),
      ended('m1'),
      message('m2', { parentID: 'u2' }),
      ended('m2'),
      idle(),
    ])
    expect(replies).toMatchObject([{ promptIDs: ['u1', 'u2'], outcome: 'completed' }])
    expect(replies[0]?.messages.map(({ id }) => id)).toEqual(['m1', 'm2'])
  })

  test('a step belongs to the run, whatever its parent', () => {
    const { replies } = run([...running, ended('m1'), message('m2', { parentID: 'unknown' }), ended('m2'), idle()])
    expect(replies).toHaveLength(1)
    expect(replies[0]?.messages).toHaveLength(2)
  })

  test('late events of an old message open nothing', () => {
    const before = run([session(), ...turn(1)])
    expect(run([user('u1'), ended('m1'), text('m1', 'Late', sealed)], before).replies).toHaveLength(1)
  })

  test('repeated events of an older run make no step', () => {
    const before = run([session(), ...turn(1), ...turn(2)])
    expect(track(before.state, ended('m1')).steps).toEqual([])
  })

  test("late events of an older run amend that run's reply", () => {
    const { replies, changes } = run([text('m1', 'Late', sealed)], run([session(), ...turn(1), ...turn(2)]))
    expect(replies.map(textOf)).toEqual(['Late', ''])
    expect(typesOf(changes)).toEqual(['replyAmended'])
  })

  test('a message or part of an older run is removed there', () => {
    const told = run([session(), ...turn(1), text('m1', 'One', sealed), ...turn(2)])
    const removed = { type: 'part-removed', at: 1, sessionID: root, messageID: 'm1', partID: 'm1.t' } as const
    expect(run([removed], told).replies.map((reply) => partsOf(reply).length)).toEqual([0, 0])
    const gone = { type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' } as const
    expect(run([gone], told).replies.map((reply) => reply.messages.length)).toEqual([0, 1])
  })

  test('a message that was removed stays so', () => {
    const gone = { type: 'message-removed', at: 1, sessionID: root, messageID: 'm1' } as const
    const { replies } = run([...running, gone, message('m1'), text('m1', 'Late'), delta('m1', '!')])
    expect(replies.map((reply) => reply.messages)).toEqual([[]])
  })

  test('copies at the beginning of a fork are not news', () => {
    const copies = [user('u0', { createdAt: 5 }), ended('m0', { createdAt: 6 }), text('m0', 'Old', sealed)]
    const fresh = [user('u1', { createdAt: 20 }), busy(), message('m1', { createdAt: 21 })]
    const { replies } = run([session(root, { createdAt: 10 }), ...copies, ...fresh])
    expect(replies).toMatchObject([{ promptIDs: ['u1'], messages: [{ id: 'm1' }] }])
  })

  test('the checklist and the title carry over to the next run', () => {
    const todos = [{ content: 'Look', status: 'pending' }]
    const told = { type: 'todos', at: 1, sessionID: root, todos } as const
    const { reply } = run([
      session(root, { title: 'A title' }),
      user('u1'),
      busy(),
      told,
      ended('m1'),
      idle(),
      ...turn(2),
    ])
    expect(reply).toMatchObject({ title: 'A title', todos, promptIDs: ['u2'] })
  })

  test('the next run has the title that the session was given in the meantime', () => {
    const { reply } = run([session(root, { title: 'Old' }), ...turn(1), session(root, { title: 'New' }), ...turn(2)])
    expect(reply).toMatchObject({ title: 'New', promptIDs: ['u2'] })
  })

  test('removing unknown messages and parts changes nothing', () => {
    const known = run(running)
    const places = { at: 1, sessionID: root, messageID: 'm9', partID: 'p9' }
    const removals = [{ type: 'message-removed', ...places } as const, { type: 'part-removed', ...places } as const]
    expect(run(removals, known).reply).toBe(known.reply)
  })

  test('a deleted session opens nothing any more', () => {
    const { replies } = run([...running, { type: 'session-removed', at: 1, sessionID: root }, busy(), user('u9')])
    expect(replies).toMatchObject([{ outcome: 'lost' }])
  })

  test('a session that REST does not know is lost, and opens another reply at its next stream event', () => {
    const unknown = { type: 'session-removed', at: 1, sessionID: root, by: 'rest' } as const
    const { replies } = run([...running, unknown, user('u9'), busy(), message('m9')])
    expect(replies).toMatchObject([{ outcome: 'lost' }, { phase: 'working', promptIDs: ['u9'] }])
  })

  test('a trailing busy after an end that REST confirmed opens nothing', () => {
    const found = run([...running, text('m1', 'Half'), settle('lost')])
    expect(run([busy()], found).replies).toHaveLength(1)
    expect(run([busy(), idle(), busy()], found).replies).toHaveLength(2)
    expect(run([user('u2')], found).replies).toHaveLength(2)
  })

  test('a prompt after a restart of the server ends the run that the restart interrupted', () => {
    const { replies } = run([connected, ...running, text('m1', 'Half'), connected, ...turn(2)])
    expect(replies.map(({ outcome }) => outcome)).toEqual(['lost', 'completed'])
  })

  test('a prompt on a new connection joins a run that had events on it', () => {
    const { replies } = run([connected, ...running, connected, text('m1', 'Half'), user('u2')])
    expect(replies).toHaveLength(1)
  })

  test('sessions do not mix', () => {
    const other = [session('other'), user('ou', { sessionID: 'other' }), message('om', { sessionID: 'other' })]
    const { replies } = run([...running, ...other, text('om', 'Other', { sessionID: 'other' }), text('m1', 'Mine')])
    expect(replies.map(textOf)).toEqual(['Mine', 'Other'])
  })
})

describe('early events are held', () => {
  test('a delta before its part', () => {
    const held = run([...running, delta('m1', 'Hel'), delta('m1', 'lo')])
    expect(partsOf(held.reply)).toEqual([])
    const { reply, state } = run([text('m1', '')], held)
    expect(textOf(reply)).toBe('Hello')
    expect(state.heldUnits).toBe(0)
  })

  test('deltas of two parts, each for its own', () => {
    const [a, b] = [{ partID: 'a' }, { partID: 'b' }]
    const held = run([
      ...running,
      delta('m1', 'Hel', a),
      delta('m1', 'Wor', b),
      delta('m1', 'lo', a),
      delta('m1', 'ld', b),
    ])
    const { reply } = run([text('m1', '', { id: 'a' }), text('m1', '', { id: 'b' })], held)
    expect(textOf(reply)).toBe('Hello\n\nWorld')
  })

  test('a part before its message', () => {
    const held = run([session(), busy(), text('m1', 'Hel'), delta('m1', 'lo')])
    expect(held.reply.messages).toEqual([])
    expect(textOf(run([message('m1')], held).reply)).toBe('Hello')
  })

  test("the user's part before its message shows nowhere but in the prompt", () => {
    const { reply } = run([session(), busy(), text('u1', 'Do it', sealed), user('u1'), message('m1')])
    expect(textOf(reply)).toBe('')
    expect(reply.prompt?.text).toBe('Do it')
  })

  test("a summary's part, before or after its message", () => {
    const { reply } = run([...running, text('s1', 'Sum'), message('s1', { summary: true }), delta('s1', 'mary')])
    expect(partsOf(reply)).toEqual([])
  })

  test('a session whose parent is unknown, never treated as a root', () => {
    const orphan = run([session('child', { parentID: 'unknown' }), user('cu', { sessionID: 'child' }), busy('child')])
    expect(orphan.replies).toEqual([])
    expect(new Set(unknownSessions(orphan.state))).toEqual(new Set(['unknown']))
    expect(run([session('unknown')], orphan).reply).toMatchObject({ sessionID: 'unknown', children: [{}] })
  })

  test('a session without an event of its own', () => {
    const held = run([user('u1'), busy(), message('m1'), text('m1', 'Hello')])
    expect(held.replies).toEqual([])
    expect(unknownSessions(held.state)).toEqual([root])
    expect(textOf(run([session()], held).reply)).toBe('Hello')
  })

  test('events of several sessions continue in their order of arrival', () => {
    const ofChild = { sessionID: 'child' }
    const early: readonly ReplyEvent[] = [
      ...[user('u1'), busy(), message('m1'), task('m1', 'child'), user('cu', ofChild), busy('child')],
      ...[
        message('c1', ofChild),
        text('c1', 'Found', ofChild),
        ended('c1', ofChild),
        idle('child'),
        ended('m1'),
        idle(),
      ],
    ]
    const held = run(early.map((event, at) => ({ ...event, at })))
    const { replies } = run([session(), session('child', { parentID: root })], held)
    expect(replies).toMatchObject([{ outcome: 'completed', children: [{ reply: { outcome: 'completed' } }] }])
  })

  test('a session that turns out to be gone is dropped', () => {
    const { state } = run([user('u1'), busy(), { type: 'session-removed', at: 1, sessionID: root }])
    expect(state).toMatchObject({ waiting: [], heldUnits: 0, cells: { size: 0 } })
  })

  test('sessions that are their own ancestors are roots', () => {
    const circle = [session('a', { parentID: 'b' }), session('b', { parentID: 'a' }), session('c', { parentID: 'c' })]
    const { replies } = run([...circle, busy('a'), busy('b'), busy('c'), busy('a')])
    expect(replies.map(({ sessionID }) => sessionID)).toEqual(['a', 'b', 'c'])
  })
})

describe('at the end, a message or part whose kind is unknown', () => {
  const early = run([...running, ended('m1'), reasoning('m9', 'Hm'), delta('m9', 'Hello'), text('x9', 'Whose?')])
  const idled = run([idle()], early)

  test.each(['grace', 'end'] as const)("is treated as the assistant's after an unexplained idle (%s)", (by) => {
    const { reply, state } = run([settle(by)], idled)
    expect(reply.phase).toBe('settled')
    expect(textOf(reply)).toBe('Hello')
    expect(partsOf(reply).map(({ type }) => type)).toContain('reasoning')
    expect(state.waiting).toEqual([root])
  })

  test.each(['lost', 'time-out', 'end'] as const)('stays hidden without one (%s)', (by) => {
    const { reply } = run([settle(by)], by === 'end' ? run([busy()], early) : early)
    expect(reply.phase).toBe('settled')
    expect(textOf(reply)).toBe('')
  })

  test('a message with only a text is not assigned to anyone', () => {
    const { reply } = run([
      ...running,
      ended('m1', { completedAt: undefined }),
      text('x9', 'Whose?'),
      idle(),
      settle('grace'),
    ])
    expect(textOf(reply)).toBe('')
  })

  test('an untyped delta takes the type of its field after an idle, and is unknown without one', () => {
    const open = run([...running, delta('m1', 'Hello', { partID: 'p' })])
    expect(partsOf(run([idle(), settle('grace')], open).reply)).toMatchObject([
      { id: 'p', type: 'text', text: 'Hello' },
    ])
    expect(partsOf(run([settle('lost')], open).reply)).toMatchObject([{ id: 'p', type: 'unknown', status: 'sealed' }])
  })
})

describe('bounds', () => {
  const limits = { maxHeld: 50_000, keepSettled: 3, maxQuiet: 20 }

  test('held events are dropped, longest waiting first, and that is reported', () => {
    const events = Array.from({ length: 100 }, (_, n) => busy(`s${n}`))
    const { state, dropped } = run(events, start(limits))
    expect(state.heldUnits).toBeLessThanOrEqual(limits.maxHeld)
    expect(dropped).toBeGreaterThan(50)
    expect(dropped + state.waiting.length).toBe(100)
    expect(state.waiting.at(-1)).toBe('s99')
    expect(state.cells.size).toBe(state.waiting.length)
  })

  test('one delta after another counts as one, by its length', () => {
    const { state } = run(Array.from({ length: 100 }, () => delta('m1', 'x'.repeat(10))))
    expect(state.heldUnits).toBeGreaterThanOrEqual(1000)
    expect(state.heldUnits).toBeLessThan(5000)
  })

  test.each([
    ['a text', text('m1', 'x'.repeat(90_000))],
    ["a tool's output", tool('m1', { output: 'x'.repeat(90_000) })],
    ["a tool's input", tool('m1', { input: { content: 'x'.repeat(90_000) } })],
    ['a delta', delta('m1', 'x'.repeat(90_000))],
    [
      'a reading over REST',
      snapshot({
        session: { parentID: 'unknown' },
        messages: [{ head: message('m1').message, parts: [text('m1', 'x'.repeat(90_000)).part] }],
      }),
    ],
    [
      'a file',
      part({ id: 'f', messageID: 'm1', raw: 0, status: 'sealed', type: 'file', mime: '', url: 'x'.repeat(90_000) }),
    ],
  ])('%s that exceeds the whole limit is dropped', (_, event) => {
    const { state, dropped } = run([event], start(limits))
    expect(state.heldUnits).toBe(0)
    expect(dropped).toBe(1)
  })

  test('settled replies are dropped, oldest first, with their sessions', () => {
    const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`)
    const events = sessions.flatMap((id) => [
      ...[session(id), user(`${id}u`, { sessionID: id }), message(`${id}m`, { sessionID: id })],
      ...[text('whose', 'x', { sessionID: id }), settle('lost', id)],
    ])
    const { state } = run(events, start(limits))
    expect(
      repliesOf(state)
        .map(({ sessionID }) => sessionID)
        .toSorted(),
    ).toEqual(['s7', 's8', 's9'])
    expect(new Set(state.waiting)).toEqual(new Set(['s7', 's8', 's9']))
    expect(state.heldUnits).toBeLessThan(3 * 3000)
  })

  test('the settled replies of one session count, too', () => {
    const { state } = run([session(root), ...[0, 1, 2, 3, 4, 5].flatMap(turn)], start(limits))
    expect(retainedReplies(state, root).map(({ promptIDs }) => promptIDs[0])).toEqual(['u3', 'u4', 'u5'])
    expect(state.settled).toHaveLength(limits.keepSettled)
  })

  test('only replies that are kept count', () => {
    const quiet = [session('other'), user('otheru', { sessionID: 'other' }), settle('none', 'other')]
    const turns = Array.from({ length: 30 }, (_, n) => turn(n)).flat()
    const { state } = run([...quiet, session(root), ...turns], start({ ...limits, keepSettled: 12 }))
    expect(retainedReplies(state, 'other')).toHaveLength(1)
    expect(state.settled).toHaveLength(1 + retainedReplies(state, root).length)
  })

  test('a session that is at work again is not dropped', () => {
    const other = (id: string) => [session(id), user(`${id}u`, { sessionID: id }), settle('none', id)]
    const again = [...running, ended('m1'), idle(), user('u2'), busy(), message('m2'), text('m2', 'Hel')]
    const { state, reply } = run([...again, ...['a', 'b', 'c', 'd'].flatMap(other)], start(limits))
    expect(repliesOf(state).map(({ sessionID }) => sessionID)).toContain(root)
    expect(textOf(run([delta('m2', 'lo')], { ...start(), state, reply }).reply)).toBe('Hello')
  })

  test('quiet sessions are dropped, busy ones are not', () => {
    const quiet = Array.from({ length: 100 }, (_, n) => session(`quiet${n}`))
    const { state, reply } = run([...running, ...quiet, text('m1', 'Here')], start(limits))
    expect(state.cells.size).toBeLessThan(45)
    expect(textOf(reply)).toBe('Here')
  })
})

describe('track is pure', () => {
  test('the same state and event give the same result', () => {
    const { state } = run([...running, text('m1', 'Hel')])
    expect(track(state, delta('m1', 'lo'))).toEqual(track(state, delta('m1', 'lo')))
  })

  test('heartbeats change nothing', () => {
    const state = emptyTrack()
    expect(track(state, { type: 'heartbeat', at: 1 }).state).toBe(state)
  })
})
