import { currentActivity, type Reply, textOf, totalUsage } from '@reply/core'
import { describe, expect, test } from 'vitest'
import {
  busy,
  changesOf,
  delegated,
  delta,
  ended,
  idle,
  message,
  root,
  run,
  running,
  session,
  settle,
  snapshot,
  stepFinish,
  task,
  text,
  tool,
  typesOf,
  user,
} from './make.ts'

const child = 'child'
const sealed = { status: 'sealed' } as const
const ofChild = { sessionID: child } as const
const childOf = (reply: Reply, at = 0): Reply => reply.children[at]?.reply ?? expect.fail()

describe('a sub-agent', () => {
  test('is a child of the reply, with a reply of its own', () => {
    const { reply, replies } = run([...delegated, text('c1', 'Look', ofChild)])
    expect(replies).toHaveLength(1)
    expect(reply.children).toMatchObject([{ callID: 'call', background: false, reply: { sessionID: child } }])
    expect(textOf(childOf(reply))).toBe('Look')
    expect(textOf(reply)).toBe('')
  })

  test('is the same whether the call or the session arrives first', () => {
    const call = task('m1', child, { input: { description: 'Explore', subagent_type: 'general' } })
    const own = session(child, { parentID: root })
    const rest = [user('cu', ofChild), busy(child), message('c1', ofChild)]
    const [callFirst, sessionFirst] = [
      [...running, call, own, ...rest],
      [...running, own, ...rest, call],
    ]
    expect(run(callFirst).reply).toEqual(run(sessionFirst).reply)
    expect(run(callFirst).reply.children).toMatchObject([{ agent: 'general', title: 'Explore', callID: 'call' }])
  })

  test('is known by the names of OpenCode 2, too', () => {
    const call = tool('m1', { tool: 'subagent', metadata: { sessionID: child }, input: { agent: 'explore' } })
    const { reply } = run([...running, call, user('cu', ofChild), message('c1', ofChild)])
    expect(reply.children).toMatchObject([{ agent: 'explore', callID: 'call', reply: { sessionID: child } }])
  })

  test('works in the background if its call returns before it', () => {
    const metadata = { sessionID: child, status: 'running' }
    const call = tool('m1', { tool: 'subagent', status: 'completed', metadata })
    expect(run([...running, call, user('cu', ofChild)]).reply.children).toMatchObject([{ background: true }])
  })

  test('is not what another tool says of some session', () => {
    const call = tool('m1', { tool: 'mcp_sessions', metadata: { sessionID: child } })
    expect(run([...running, call, session(child), user('cu', ofChild)]).reply.children).toEqual([])
  })

  test('is known by its call alone', () => {
    const events = [...running, user('cu', ofChild), message('c1', ofChild), task('m1', child)]
    expect(childOf(run(events).reply).messages.map(({ id }) => id)).toEqual(['c1'])
  })

  test('has the title and the directory of its session, whenever that arrives', () => {
    const own = session(child, { parentID: root, title: 'Explore (sub-agent)', directory: '/project' })
    const rest = [user('cu', ofChild), busy(child)]
    for (const events of [
      [own, ...rest],
      [own, task('m1', child), ...rest],
      [task('m1', child), own, ...rest],
    ]) {
      expect(childOf(run([...running, ...events]).reply)).toMatchObject({
        title: 'Explore (sub-agent)',
        directory: '/project',
      })
    }
  })

  test('settles at its own idle, and the root does not', () => {
    const { reply, changes } = run([...delegated, ended('c1', ofChild), idle(child)])
    expect(childOf(reply)).toMatchObject({ phase: 'settled', outcome: 'completed' })
    expect(reply.phase).toBe('working')
    expect(typesOf(changes).filter((type) => type === 'childSettled')).toHaveLength(1)
  })

  test('ends with the root, with the outcome of the end', () => {
    const { reply } = run([...delegated, text('c1', 'Half', ofChild), settle('lost')])
    expect(childOf(reply)).toMatchObject({ phase: 'settled', outcome: 'lost' })
    expect(textOf(childOf(reply))).toBe('Half')
  })

  test('is aborted with the root', () => {
    const abort = { type: 'abort-requested', reason: 'requested', at: 1, sessionID: root } as const
    expect(childOf(run([...delegated, abort, ended('m1'), settle('rest')]).reply).outcome).toBe('aborted')
  })

  test('passes its changes to the root, each once and as its own', () => {
    const open = [...delegated, text('c1', '', ofChild)]
    const changes = changesOf(open, delta('c1', 'Look', ofChild))
    expect(changes).toMatchObject([
      { type: 'childChanged', child: { reply: { sessionID: child } }, change: { type: 'partChanged', delta: 'Look' } },
    ])
  })

  test('that runs again is another child', () => {
    const again = [user('cu2', ofChild), busy(child), message('c2', ofChild), text('c2', 'Two', ofChild)]
    const { reply } = run([...delegated, text('c1', 'One', ofChild), ended('c1', ofChild), idle(child), ...again])
    expect(reply.children.map((one) => textOf(one.reply))).toEqual(['One', 'Two'])
  })

  test('that runs again keeps late events of its first run there', () => {
    const again = [user('cu2', ofChild), busy(child), message('c2', ofChild)]
    const first = [...delegated, text('c1', 'One', ofChild), ended('c1', ofChild), idle(child), ...again]
    const { reply } = run([...first, text('c1', 'One, mended', { ...ofChild, ...sealed })])
    expect(reply.children.map((one) => textOf(one.reply))).toEqual(['One, mended', ''])
  })

  test('that runs again is not confused with the first call, which arrives again', () => {
    const first = [...delegated, ended('c1', ofChild), idle(child), user('cu2', ofChild), busy(child)]
    const { reply } = run([
      ...first,
      task('m1', child, { status: 'completed' }),
      task('m1', child, { callID: 'call2' }),
    ])
    expect(reply.children.map(({ callID }) => callID)).toEqual(['call', 'call2'])
  })

  test('of an older reply keeps its late events there', () => {
    const older = [...delegated, ended('c1', ofChild), idle(child), ended('m1'), idle()]
    const newer = [user('u2'), busy(), message('m2'), user('cu2', ofChild), busy(child), message('c2', ofChild)]
    const { replies } = run([...older, ...newer, text('c1', 'Late', { ...ofChild, ...sealed })])
    expect(replies.map((reply) => textOf(childOf(reply)))).toEqual(['Late', ''])
  })

  test('shows in what the reply is doing', () => {
    const call = task('m1', child, { input: { description: 'Explore', subagent_type: 'general' } })
    const reading = tool('c1', { tool: 'read', input: { filePath: 'a.txt' }, sessionID: child })
    expect(currentActivity(run([...delegated, call, reading]).reply)).toBe('general(Explore) · read: a.txt')
  })

  test('counts in the total usage only', () => {
    const events = [...delegated, stepFinish('m1', 5), { ...stepFinish('c1', 7), sessionID: child }]
    expect(run(events).reply.usage).toMatchObject({ input: 5, steps: 1 })
    expect(totalUsage(run(events).reply)).toMatchObject({ input: 12, cost: 1, steps: 2 })
  })
})

describe('a sub-agent in a sub-agent', () => {
  const deep = [
    ...delegated,
    task('c1', 'grandchild', ofChild),
    session('grandchild', { parentID: child }),
    user('gu', { sessionID: 'grandchild' }),
    message('g1', { sessionID: 'grandchild' }),
  ]

  test('is a child of the child', () => {
    const { reply } = run([...deep, text('g1', 'Deep', { sessionID: 'grandchild' })])
    expect(textOf(childOf(childOf(reply)))).toBe('Deep')
    expect(reply.children).toHaveLength(1)
  })

  test('passes its changes to the root once, as its own', () => {
    const changes = changesOf(deep, text('g1', 'Deep', { sessionID: 'grandchild' }))
    expect(changes).toMatchObject([
      { type: 'childChanged', child: { reply: { sessionID: 'grandchild' } }, change: { type: 'partAdded' } },
    ])
  })

  test('that settles reports its own end', () => {
    const grandchild = { sessionID: 'grandchild' }
    const changes = changesOf([...deep, ended('g1', grandchild)], idle('grandchild'))
    expect(changes.filter((change) => change.type === 'childChanged').map(({ change }) => change.type)).toEqual([
      'phaseChanged',
      'childSettled',
    ])
  })

  test("is found whatever the order of the tree's events", () => {
    const [own, parent] = [session('grandchild', { parentID: child }), session(child, { parentID: root })]
    const rest = [user('gu', { sessionID: 'grandchild' }), message('g1', { sessionID: 'grandchild' })]
    const { reply, state } = run([...running, ...rest, own, parent])
    expect(childOf(childOf(reply)).messages.map(({ id }) => id)).toEqual(['g1'])
    expect(state.heldUnits).toBe(0)
  })
})

describe('a sub-agent in the background', () => {
  const call = task('m1', child, { status: 'completed', input: { background: true } })
  const own = [session(child, { parentID: root }), user('cu', ofChild), busy(child), message('c1', ofChild)]
  const alone = [...running, call, ...own, text('c1', 'Still', ofChild), ended('m1'), idle()]

  test('outlives the reply that started it', () => {
    const { reply } = run(alone)
    expect(reply).toMatchObject({ phase: 'settled', outcome: 'completed' })
    expect(reply.children).toMatchObject([{ background: true, reply: { phase: 'working' } }])
  })

  test.each([
    ['a status', busy(child)],
    ['a text', delta('c1', ' here', ofChild)],
    ['a part', tool('c1', ofChild)],
    ['a message', message('c2', ofChild)],
  ])('that goes on with %s opens a reply without a prompt, and brings its content along', (_, event) => {
    const { replies, changes } = run([event], run(alone))
    expect(replies).toHaveLength(2)
    expect(replies[1]).toMatchObject({ promptIDs: [], phase: 'working', children: [{ background: true }] })
    expect(textOf(childOf(replies[1] ?? expect.fail()))).toMatch(/^Still/)
    expect(typesOf(changes)).not.toContain('replyAmended')
  })

  test('ends the reply that it opened', () => {
    const { replies } = run([busy(child), ended('c1', ofChild), idle(child)], run(alone))
    expect(replies[1]).toMatchObject({ phase: 'settled', outcome: 'completed' })
    expect(childOf(replies[1] ?? expect.fail())).toMatchObject({ outcome: 'completed' })
  })

  test('keeps the reply that it opened from ending at a late idle of the root', () => {
    expect(run([busy(child), idle()], run(alone)).reply).toMatchObject({ phase: 'working', promptIDs: [] })
  })

  describe('is alone in the reply that it opened: the next run of the session gets another one', () => {
    const opened = { type: 'opened', at: 1000, sessionID: root, text: 'Two.' } as const
    const heads = [user('u1'), ended('m1'), user('u2')].map((told) => ({ head: told.message, parts: [] }))
    const asked = { head: user('u2').message, parts: [text('u2', 'Two.', sealed).part] }
    const messages = heads.slice(0, 2)
    const second = [message('m2'), text('m2', 'Done.', sealed), ended('m2'), idle()]

    test.each([
      ['our prompt', [opened, user('u2'), busy()]],
      ['our prompt, with its status first', [opened, busy(), user('u2')]],
      ["another client's prompt", [user('u2'), busy()]],
      ["another client's prompt, with its status first", [busy(), user('u2')]],
      ['after the late idle of the run before', [idle(), busy(), user('u2')]],
      ['after a read that shows the session idle', [snapshot({ status: 'idle', messages }), busy(), user('u2')]],
      ['after a read that shows it busy', [snapshot({ messages }), busy(), user('u2')]],
      ['a read with the prompt first', [snapshot({ messages: [...messages, asked] }), busy(), user('u2')]],
      ['the same, not busy yet', [snapshot({ status: 'idle', messages: [...messages, asked] }), busy(), user('u2')]],
    ])('%s', (_, begins) => {
      const { replies } = run([busy(child), ...begins, ...second], run(alone))
      expect(replies.map((reply) => [textOf(reply), reply.outcome, reply.promptIDs])).toEqual([
        ['', 'completed', ['u1']],
        ['', 'completed', []],
        ['Done.', 'completed', ['u2']],
      ])
      for (const reply of replies) expect(childOf(reply).phase).toBe('working')
    })
  })

  test('that only ends opens nothing', () => {
    const { replies } = run([idle(child)], run([...alone.slice(0, -2), ended('c1', ofChild), ended('m1'), idle()]))
    expect(replies).toHaveLength(1)
    expect(childOf(replies[0] ?? expect.fail()).phase).toBe('settled')
  })
})
