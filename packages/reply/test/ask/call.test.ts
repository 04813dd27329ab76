import { type Ask, diff, emptyReply, type PermissionAsk, pendingAsks, type Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import type { ChangeOf } from '../../src/change.ts'
import {
  changesOf,
  closed,
  delegated,
  ended,
  message,
  permission,
  question,
  reduced,
  root,
  run,
  running,
  session,
  snapshot,
  task,
  tool,
  typesOf,
} from '../make.ts'

const input = { command: '[[ -v a ]]; ls', description: 'List' }
const call = { tool: 'bash', input }
const asked = permission('p1', root, { callID: 'call', messageID: 'm1' })
const runs = tool('m1', { input })

const after = (...events: Parameters<typeof reduced>[0]) => reduced([...running, ...events])
const callIn = (reply: Reply, at = 0) => (reply.asks[at]?.type === 'permission' ? reply.asks[at].call : undefined)

describe("a permission's call", () => {
  test('is in the ask if the tool part came first', () => {
    const { reply, changes } = after(runs, asked)
    expect(callIn(reply)).toEqual(call)
    expect(changes.find(({ type }) => type === 'permissionAsked')).toMatchObject({ ask: { call } })
    expect(typesOf(changes)).not.toContain('askChanged')
  })

  test('arrives as a change if the ask came first, as on servers up to 1.2', () => {
    const before = after(asked, tool('m1', { status: 'pending' }))
    expect(callIn(before.reply)).toBeUndefined()
    expect(typesOf(before.changes)).not.toContain('askChanged')
    const { reply, changes } = reduced([runs], before.reply)
    expect(callIn(reply)).toEqual(call)
    expect(changes.filter(({ type }) => type === 'askChanged')).toMatchObject([{ ask: { requestID: 'p1', call } }])
    expect(reply.phase).toBe('blocked')
  })

  test("is reported once: the tool's progress changes nothing", () => {
    const { changes } = after(asked, runs, runs, tool('m1', { input, metadata: { output: 'a' } }))
    expect(changes.filter(({ type }) => type === 'askChanged')).toHaveLength(1)
  })

  test('is unknown again if its input changes while the ask is pending: another call may have the same id', () => {
    const { reply, changes } = after(runs, asked, tool('m1', { input: { command: 'rm -r .' } }))
    expect(callIn(reply)).toBeUndefined()
    expect(changes.filter(({ type }) => type === 'askChanged')).toMatchObject([{ ask: { requestID: 'p1' } }])
  })

  test('stays what it was once the ask is closed', () => {
    const { reply, changes } = after(runs, asked, closed('p1', { type: 'permission', reply: 'once' }))
    expect(callIn(reply)).toEqual(call)
    expect(callIn(reduced([tool('m1', { input: {}, status: 'completed' })], reply).reply)).toEqual(call)
    expect(typesOf(changes)).not.toContain('askChanged')
  })

  test('is the one of its message: call ids may repeat in the next step', () => {
    const later = tool('m2', { input: { command: 'other' } })
    const { reply } = after(runs, ended('m1'), message('m2'), later, asked)
    expect(callIn(reply)).toEqual(call)
    expect(callIn(after(message('m2'), asked, later).reply)).toBeUndefined()
  })

  test('stays absent for an ask that names no call', () => {
    expect(callIn(after(runs, permission('p1')).reply)).toBeUndefined()
    expect(callIn(after(permission('p1'), runs).reply)).toBeUndefined()
  })

  test.each([
    [
      'the ask first',
      [permission('p1', 'child', { callID: 'call', messageID: 'c1' }), tool('c1', { input, sessionID: 'child' })],
    ],
    [
      'the part first',
      [tool('c1', { input, sessionID: 'child' }), permission('p1', 'child', { callID: 'call', messageID: 'c1' })],
    ],
  ])("of a sub-agent is in its own copy and in the root's: %s", (_, events) => {
    const { reply, changes } = run([...delegated, ...events])
    expect(reply.asks).toMatchObject([{ path: [root, 'child'], call }])
    expect(reply.children[0]?.reply.asks).toMatchObject([{ path: ['child'], call }])
    const told = changes.filter((change) => change.type === 'askChanged' || change.type === 'permissionAsked')
    expect(told.at(-1)).toMatchObject({ ask: { path: [root, 'child'], call } })
  })

  test('reaches the root from two levels below', () => {
    const deep = [
      ...delegated,
      task('c1', 'deep', { sessionID: 'child', callID: 'task2' }),
      session('deep', { parentID: 'child' }),
      message('d1', { sessionID: 'deep' }),
    ]
    const events = [
      permission('p1', 'deep', { callID: 'call', messageID: 'd1' }),
      tool('d1', { input, sessionID: 'deep' }),
    ]
    const { reply, changes } = run(events, run(deep))
    expect(reply.asks).toMatchObject([{ path: [root, 'child', 'deep'], call }])
    const told = changes.filter((change): change is ChangeOf<'askChanged'> => change.type === 'askChanged')
    expect(told.map(({ ask }) => ask.path)).toEqual([[root, 'child', 'deep']])
  })

  test('comes with a REST snapshot, for known and for new asks', () => {
    const read = snapshot({
      messages: [{ head: message('m1').message, parts: [runs.part, tool('m1', { input, callID: 'second' }).part] }],
      asks: [asked.ask, permission('p2', root, { callID: 'second', messageID: 'm1' }).ask],
    })
    const { reply, changes } = after(asked, read)
    expect([callIn(reply), callIn(reply, 1)]).toEqual([call, call])
    expect(typesOf(changes)).toEqual(expect.arrayContaining(['askChanged', 'permissionAsked']))
  })
})

describe('a request that arrives again', () => {
  test('changes nothing when it says the same', () => {
    const before = after(runs, asked).reply
    expect(reduced([{ ...asked, ask: { ...asked.ask, askedAt: 7 } }], before).reply).toBe(before)
  })

  test('replaces the ask if its content differs, and reports a change', () => {
    const other = permission('p1', root, { patterns: ['rm'], callID: 'call', messageID: 'm1' })
    const known = run([...running, runs, asked])
    const { reply, changes } = run([{ ...other, ask: { ...other.ask, askedAt: 7 } }], known)
    expect(reply.asks).toMatchObject([{ patterns: ['rm'], askedAt: 1000, call, status: 'pending' }])
    expect(typesOf(changes)).toEqual(['askChanged'])
  })

  test('does so for a question, and for a sub-agent', () => {
    const one = question('q1')
    const words = { header: '', question: 'Blue?', options: [], multiple: false, custom: true }
    const other = one.ask.type === 'question' ? { ...one.ask, questions: [words] } : one.ask
    expect(changesOf([...running, one], { ...one, ask: other })).toMatchObject([
      { type: 'askChanged', ask: { questions: [words] } },
    ])
    const told = changesOf([...delegated, permission('p1', 'child')], permission('p1', 'child', { always: [] }))
    expect(typesOf(told)).toEqual(['childChanged', 'askChanged'])
  })

  test('changes nothing once it is closed', () => {
    const known = run([...running, asked, closed('p1', { type: 'permission', reply: 'once' })])
    expect(run([permission('p1', root, { patterns: ['rm'] })], known).changes).toEqual([])
  })
})

describe('diff', () => {
  test('reports a call that became known in between', () => {
    const before = after(asked).reply
    const { reply } = reduced([runs], before)
    const changed = diff(before, reply).filter(({ type }) => type === 'askChanged')
    expect(changed).toMatchObject([{ ask: { requestID: 'p1', call } }])
    const told = diff(emptyReply(root), reply)
    expect(typesOf(told)).not.toContain('askChanged')
    expect(told.find(({ type }) => type === 'permissionAsked')).toMatchObject({ ask: { call } })
  })
})

describe('equal asks', () => {
  const second = tool('m1', { input, callID: 'second' })
  const pair = (more: Partial<PermissionAsk> = {}, part = second) =>
    after(runs, part, asked, permission('p2', root, { callID: 'second', messageID: 'm1', ...more })).reply

  test('are those that would run the same, and are asked once', () => {
    expect(pendingAsks(pair()).map(({ requestID }) => requestID)).toEqual(['p1'])
  })

  test.each([
    ['other patterns', pair({ patterns: ['ls', 'pwd'] })],
    ['another permission', pair({ permission: 'external_directory' })],
    ['another `always`', pair({ always: ['*'] })],
    ['another directory', pair({ directory: '/other' })],
    ['other metadata', pair({ metadata: { command: 'x' } })],
    ['another input', pair({}, tool('m1', { input: { command: 'ls' }, callID: 'second' }))],
    ['another tool', pair({}, tool('m1', { input, tool: 'shell', callID: 'second' }))],
    ['a call that is not known', pair({ callID: 'third' })],
  ])('are not those with %s', (_, reply) => {
    expect(pendingAsks(reply)).toHaveLength(2)
  })

  test('do not exist while no call is known: equal patterns may hide different commands', () => {
    const reply = after(asked, permission('p2', root, { callID: 'second', messageID: 'm1' })).reply
    expect(pendingAsks(reply)).toHaveLength(2)
  })

  test('among many are found in less than quadratic time', () => {
    const of = (count: number): Reply => {
      const asks = Array.from({ length: count }, (_, at) => ({
        ...asked.ask,
        requestID: `p${at}`,
        call: { tool: 'bash', input: { command: `echo ${at}` } },
      }))
      return { ...emptyReply(root), asks }
    }
    let read = 0
    const { asks, ...rest } = of(5000)
    const get = (ask: Ask, key: string): unknown => {
      read += 1
      return Reflect.get(ask, key)
    }
    const counted = asks.map((ask) => new Proxy(ask, { get }))
    expect(pendingAsks({ ...rest, asks: counted })).toHaveLength(5000)
    expect(read).toBeLessThan(5000 * 20)
  })
})
