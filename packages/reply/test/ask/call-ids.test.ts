import type { PermissionAsk, Reply } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { SessionScopedEvent } from '../../src/event.ts'
import { closed, ended, message, part, permission, reduced, root, running, snapshot, tool } from '../make.ts'
import { count, parts } from '../reduce/long-message.ts'

/** Providers may repeat a call id within a message: all calls below have the id `call`. */
const [harmless, harmful] = [{ command: 'ls' }, { command: 'rm -rf ~' }]

type State = 'pending' | 'running' | 'completed' | 'error'

function call(name: string, status: State, input: Readonly<Record<string, unknown>>, messageID = 'm1') {
  const { part: one } = tool(messageID, { status, input: status === 'pending' ? {} : input })
  return part({ ...one, id: `${messageID}.${name}` })
}

const asked = permission('p1', root, { callID: 'call', messageID: 'm1' })
const unplaced = permission('p1', root, { callID: 'call' })

const after = (...events: readonly SessionScopedEvent[]) => reduced([...running, ...events]).reply
const inputOf = (reply: Reply, requestID = 'p1') => callIn(reply, requestID)?.input

function callIn({ asks }: Reply, requestID: string): PermissionAsk['call'] {
  const ask = asks.find((one) => one.requestID === requestID)
  return ask?.type === 'permission' ? ask.call : expect.fail('It is a permission.')
}

describe('if a call id repeats within a message', () => {
  test.each([
    ['completed', asked],
    ['error', asked],
    ['completed', unplaced],
    ['error', unplaced],
  ] as const)('a late update of a call that ended (%s) changes nothing', (status, ask) => {
    const reply = after(call('A', status, harmless), call('B', 'running', harmful), ask)
    expect(inputOf(reply)).toBe(harmful)
    expect(inputOf(reduced([call('A', status, { command: 'ls -l' })], reply).reply)).toBe(harmful)
  })

  test.each([
    ['in its message', asked, 'm1'],
    ['in any message', unplaced, 'm2'],
  ])('a call that ended is not what the ask would run, though its part is the only one: %s', (_, ask, messageID) => {
    const before = after(call('A', 'error', harmless), ended('m1'), message('m2'), ask)
    expect(inputOf(before)).toBeUndefined()
    const { reply } = reduced([call('B', 'pending', harmful, messageID)], before)
    expect(inputOf(reply)).toBeUndefined()
    expect(inputOf(reduced([call('B', 'running', harmful, messageID)], reply).reply)).toBe(harmful)
  })

  test.each(['pending', 'running'] as const)('two calls that have not ended leave it unknown: %s', (status) => {
    const both = [call('A', 'running', harmless), call('B', status, harmful)]
    expect(inputOf(after(...both, asked))).toBeUndefined()
    expect(inputOf(after(both[0] ?? asked, asked, ...both.slice(1)))).toBeUndefined()
    expect(inputOf(after(asked, ...both.toReversed()))).toBeUndefined()
    const again = { ...asked, ask: { ...asked.ask, askedAt: 7 } }
    expect(inputOf(after(both[0] ?? asked, asked, ...both.slice(1), again))).toBeUndefined()
  })

  test('it becomes known when all others have ended', () => {
    const reply = after(call('A', 'running', harmless), call('B', 'running', harmful), asked)
    expect(inputOf(reduced([call('A', 'completed', harmless)], reply).reply)).toBe(harmful)
  })

  test('and the server keeps both calls in one part, it stays unknown', () => {
    const one = call('A', 'running', harmless)
    const other = call('A', 'running', harmful)
    expect(inputOf(after(one, asked, other))).toBeUndefined()
    expect(inputOf(after(one, other, asked))).toBeUndefined()
    expect(inputOf(after(one, asked, other, other))).toBeUndefined()
    const renamed = part({ ...one.part, ...(one.part.type === 'tool' && { tool: 'shell' }) })
    expect(inputOf(after(one, asked, renamed))).toBeUndefined()
  })

  test('progress of the same call keeps it known', () => {
    const { part: one } = call('A', 'running', harmless)
    const next = one.type === 'tool' ? { ...one, state: { ...one.state, metadata: { output: 'a' } } } : one
    expect(inputOf(after(part(one), asked, part(next)))).toBe(harmless)
  })

  test('two asks at once leave it unknown for both, until one of them is closed', () => {
    const second = permission('p2', root, { callID: 'call', messageID: 'm1', patterns: ['rm'] })
    const before = after(call('A', 'running', harmless), asked, second)
    expect([inputOf(before), inputOf(before, 'p2')]).toEqual([undefined, undefined])
    const { reply } = reduced([closed('p1', { type: 'permission', reply: 'once' })], before)
    expect(inputOf(reply, 'p2')).toBe(harmless)
  })

  test('an ask of another message or session does not count', () => {
    const events = [call('A', 'running', harmless), asked, message('m2'), call('C', 'running', harmful, 'm2')]
    const reply = after(...events, permission('p2', root, { callID: 'call', messageID: 'm2' }))
    expect([inputOf(reply), inputOf(reply, 'p2')]).toEqual([harmless, harmful])
  })

  test('a snapshot that has both leaves it unknown', () => {
    const both = [call('A', 'running', harmless).part, call('B', 'running', harmful).part]
    const read = snapshot({ messages: [{ head: message('m1').message, parts: both }], asks: [asked.ask] })
    expect(inputOf(after(read))).toBeUndefined()
    expect(inputOf(after(both[0] ? part(both[0]) : read, asked, read))).toBeUndefined()
  })

  test('the same holds in a long message', () => {
    const long = [call('A', 'completed', harmless), ...parts(count), call('B', 'running', harmful)]
    expect(inputOf(after(...long, asked))).toBe(harmful)
    expect(inputOf(after(...long, call('C', 'running', harmless), asked))).toBeUndefined()
    expect(inputOf(after(...long, call('A', 'error', harmless), asked))).toBe(harmful)
  })

  test('what is known is the input of the only call that can have asked, in any order of events', () => {
    const name = fc.constantFrom('A', 'B', 'C')
    const status = fc.constantFrom<State>('pending', 'running', 'completed', 'error')
    const message = fc.constantFrom('m1', 'm2')
    const step = fc.oneof(
      fc.tuple(name, status, message).map((args) => ({ type: 'call', args }) as const),
      fc.constantFrom({ type: 'ask' } as const, { type: 'late ask' } as const),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.boolean(), (steps, isPlaced) => {
        const ask = isPlaced ? asked : unplaced
        let reply = after(messageTwo)
        for (const one of steps) {
          if (one.type !== 'call') reply = reduced([ask], reply).reply
          else {
            const [id, state, messageID] = one.args
            reply = reduced([call(id, state, { command: `${id} of ${messageID}` }, messageID)], reply).reply
          }
          const first = reply.asks[0]
          if (first?.type !== 'permission' || !first.call) continue
          const open = reply.messages
            .filter(({ id }) => !isPlaced || id === 'm1')
            .flatMap(({ parts: all }) => all.filter((each) => each.status === 'open'))
          // What was known stays known if no call is left: the server closes the ask next.
          expect(open.length).toBeLessThan(2)
          if (open[0]?.type === 'tool') expect(first.call.input).toBe(open[0].state.input)
        }
      }),
    )
  })
})

const messageTwo = message('m2')
