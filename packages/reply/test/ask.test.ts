import { pendingAsks } from '@reply/core'
import { describe, expect, test } from 'vitest'
import {
  busy,
  changesOf,
  closed,
  delegated,
  ended,
  idle,
  message,
  permission,
  question,
  reduced,
  root,
  run,
  running,
  session,
  settle,
  snapshot,
  task,
  tool,
  typesOf,
  user,
} from './make.ts'

const after = (...events: Parameters<typeof reduced>[0]) => reduced([...running, ...events])

describe('an ask', () => {
  test('blocks the reply until it is answered', () => {
    const { reply } = after(question('q1'))
    expect(reply).toMatchObject({ phase: 'blocked', asks: [{ requestID: 'q1', status: 'pending', path: [root] }] })
    const answered = reduced([closed('q1', { type: 'answered', answers: [['Red']] })], reply)
    expect(answered.reply).toMatchObject({ phase: 'working', asks: [{ status: 'answered', closedAt: 3000 }] })
    expect(answered.changes[0]).toMatchObject({ type: 'questionReplied', answers: [['Red']], askedAt: 1000 })
  })

  test.each([
    ['once', 'answered'],
    ['always', 'answered'],
    ['reject', 'rejected'],
  ] as const)('for a permission is closed by %s', (reply, status) => {
    const { reply: after_, changes } = after(permission('p1'), closed('p1', { type: 'permission', reply }))
    expect(after_.asks).toMatchObject([{ status, reply }])
    expect(changes.find((change) => change.type === 'permissionReplied')).toMatchObject({ answer: reply })
  })

  test('that is rejected reports its rejection', () => {
    const { changes } = after(question('q1'), closed('q1', { type: 'rejected' }))
    expect(typesOf(changes)).toContain('questionRejected')
  })

  test('is identified by its request: two of one call are two', () => {
    const { reply } = after(permission('p1'), closed('p1', { type: 'permission', reply: 'once' }), permission('p2'))
    expect(reply.asks.map(({ requestID, status }) => [requestID, status])).toEqual([
      ['p1', 'answered'],
      ['p2', 'pending'],
    ])
    expect(pendingAsks(reply).map(({ requestID }) => requestID)).toEqual(['p2'])
  })

  test('that arrives twice counts once, even after it was answered', () => {
    const answered = closed('p1', { type: 'permission', reply: 'once' })
    expect(after(permission('p1'), permission('p1')).reply.asks).toHaveLength(1)
    expect(after(permission('p1'), answered, permission('p1')).reply.asks).toMatchObject([{ status: 'answered' }])
  })

  test('that arrives again after its reply settled opens nothing', () => {
    const done = run([...running, permission('p1'), settle('lost')])
    expect(run([permission('p1')], done).replies).toHaveLength(1)
    expect(run([user('u2'), permission('p1')], done).reply.asks).toEqual([])
  })

  test('is closed once: a second answer changes nothing', () => {
    const before = after(permission('p1'), closed('p1', { type: 'permission', reply: 'once' })).reply
    expect(reduced([closed('p1', { type: 'permission', reply: 'reject' })], before).reply).toBe(before)
  })

  test('whose asking was missed reports its end, without askedAt', () => {
    const answered = after(closed('q7', { type: 'answered', answers: [['Red']] }))
    expect(answered.changes.at(-1)).toMatchObject({ type: 'questionReplied', answers: [['Red']] })
    expect(answered.reply.asks).toMatchObject([{ requestID: 'q7', status: 'answered', questions: [], path: [root] }])
    expect(answered.reply.asks[0]?.askedAt).toBeUndefined()
    const rejected = after(closed('q8', { type: 'rejected' }), closed('p9', { type: 'permission', reply: 'always' }))
    expect(typesOf(rejected.changes).slice(-2)).toEqual(['questionRejected', 'permissionReplied'])
    expect(reduced([closed('q8', { type: 'rejected' })], rejected.reply).changes).toEqual([])
  })

  test('whose asking was missed reports nothing if it is gone, of a settled reply, or of an earlier run', () => {
    const open = after().reply
    expect(reduced([closed('p7', { type: 'gone' })], open).reply).toBe(open)
    const over = after(ended('m1'), idle()).reply
    expect(reduced([closed('p7', { type: 'rejected' })], over).reply).toBe(over)
    const next = run([...running, permission('p1'), ended('m1'), settle('rest'), user('u2'), message('m2')])
    expect(run([closed('p1', { type: 'permission', reply: 'reject' })], next).reply.asks).toEqual([])
  })

  test('may come before its tool part', () => {
    const { reply } = after(permission('p1'), tool('m1', { status: 'pending' }))
    expect(reply).toMatchObject({ phase: 'blocked', messages: [{ parts: [{ type: 'tool' }] }] })
  })

  test('that a REST snapshot lacks is withdrawn', () => {
    const { reply, changes } = after(
      permission('p1'),
      question('q1'),
      snapshot({ complete: true, asks: [question('q1').ask] }),
    )
    expect(reply.asks.map(({ status }) => status)).toEqual(['withdrawn', 'pending'])
    expect(typesOf(changes)).toContain('askWithdrawn')
  })

  test('that arrives during a REST read stays, and one withdrawn too early comes back', () => {
    const partial = after(permission('p1'), snapshot({ complete: false, asks: [] }))
    expect(partial.reply.asks).toMatchObject([{ status: 'pending' }])
    const back = after(
      permission('p1'),
      snapshot({ complete: true, asks: [] }),
      snapshot({ asks: [permission('p1').ask] }),
    )
    expect(back.reply.asks).toMatchObject([{ status: 'pending' }])
  })

  test('opens a reply if nothing else did', () => {
    const { reply } = run([session(), permission('p1')])
    expect(reply).toMatchObject({ phase: 'blocked', promptIDs: [], asks: [{ requestID: 'p1' }] })
  })
})

describe("a sub-agent's ask", () => {
  const deep = [
    ...delegated,
    task('c1', 'grandchild', { sessionID: 'child' }),
    session('grandchild', { parentID: 'child' }),
    user('gu', { sessionID: 'grandchild' }),
    message('g1', { sessionID: 'grandchild' }),
  ]

  test('keeps the directory of its own session', () => {
    const places = [session(root, { directory: '/a' }), session('child', { parentID: root, directory: '/b' })]
    const { reply } = run([...delegated, ...places, permission('p1', 'child'), question('q1')])
    expect(pendingAsks(reply)).toMatchObject([{ directory: '/b' }, { directory: '/a' }])
  })

  test('keeps the directory of its frame, whatever its session says', () => {
    const { ask, ...event } = permission('p1', 'child')
    const asked = { ...event, ask: { ...ask, directory: '/c' } }
    const { reply } = run([...delegated, session('child', { parentID: root, directory: '/b' }), asked])
    expect(pendingAsks(reply)).toMatchObject([{ directory: '/c' }])
  })

  test('is an ask of the root, with the path to it', () => {
    const { reply } = run([...delegated, permission('p1', 'child')])
    expect(reply).toMatchObject({ phase: 'blocked', asks: [{ sessionID: 'child', path: [root, 'child'] }] })
    expect(reply.children[0]?.reply).toMatchObject({ phase: 'blocked', asks: [{ path: ['child'] }] })
  })

  test('reaches the root from any depth, once', () => {
    const { reply } = run([...deep, permission('p1', 'grandchild')])
    expect(reply.asks).toMatchObject([{ sessionID: 'grandchild', path: [root, 'child', 'grandchild'] }])
    const told = changesOf(deep, permission('p1', 'grandchild')).filter((change) => change.type === 'permissionAsked')
    expect(told).toMatchObject([{ ask: { path: [root, 'child', 'grandchild'] } }])
  })

  test('reaches the root from three levels down', () => {
    const ofDeepest = { sessionID: 'deepest' }
    const deepest = [task('g1', 'deepest', { sessionID: 'grandchild' }), session('deepest', { parentID: 'grandchild' })]
    const { reply } = run([...deep, ...deepest, user('du', ofDeepest), question('q1', 'deepest')])
    expect(reply).toMatchObject({
      phase: 'blocked',
      asks: [{ requestID: 'q1', sessionID: 'deepest', path: [root, 'child', 'grandchild', 'deepest'] }],
    })
  })

  test('is answered at every level', () => {
    const answered = closed('p1', { type: 'permission', reply: 'once' }, 'grandchild')
    const { reply } = run([...deep, permission('p1', 'grandchild'), answered])
    expect(reply).toMatchObject({ phase: 'working', asks: [{ status: 'answered' }] })
    expect(reply.children[0]?.reply.asks).toMatchObject([{ status: 'answered' }])
    expect(reply.children[0]?.reply.children[0]?.reply.asks).toMatchObject([{ status: 'answered' }])
  })

  test('is withdrawn with the root, at every level', () => {
    const { reply } = run([...deep, permission('p1', 'grandchild'), settle('time-out')])
    expect(reply.asks).toMatchObject([{ status: 'withdrawn' }])
    expect(reply.children[0]?.reply.children[0]?.reply.asks).toMatchObject([{ status: 'withdrawn' }])
  })

  test('outlives the reply when it works in the background', () => {
    const background = [...running, task('m1', 'child', { status: 'completed', input: { background: true } })]
    const child = [session('child', { parentID: root }), user('cu', { sessionID: 'child' }), busy('child')]
    const events = [...background, ...child, permission('p1', 'child'), ended('m1'), idle()]
    const first = run(events)
    expect(first.reply).toMatchObject({ phase: 'settled', asks: [{ status: 'pending' }] })
    const next = run([user('u2'), busy()], first)
    expect(next.reply).toMatchObject({ promptIDs: ['u2'], phase: 'blocked', asks: [{ requestID: 'p1' }] })
    expect(next.reply.children).toMatchObject([{ background: true, reply: { phase: 'blocked' } }])
  })
})
