import type { Part, Reply } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { createRows, type Row } from '../page/view/rows.ts'
import { longReply } from '../scripts/samples.ts'
import { call, permits, replyWith, settled, text } from './make.ts'

const closed = (): boolean => false
const types = (rows: readonly Row[]): readonly string[] => rows.map(({ type }) => type)
const rowsOf = (reply: Reply, isOpen: (key: string) => boolean = closed) => createRows()(reply, isOpen).rows

/** The reply with the text of its last part grown. */
function grown(reply: Reply, more: string): Reply {
  const messages = reply.messages.map((message) => ({
    ...message,
    parts: message.parts.map((part, at) =>
      part.type === 'text' && at === message.parts.length - 1 ? { ...part, text: part.text + more } : part,
    ),
  }))
  return { ...reply, messages }
}

describe('the rows of a reply', () => {
  test('have its parts in order, then what it asks, then its state', () => {
    const reply = replyWith([text('a', 'One'), call('b'), text('c', 'Two')], { asks: [permits('b')] })
    expect(types(rowsOf(reply))).toEqual(['text', 'tool', 'text', 'ask', 'end'])
  })

  test('leave out abandoned, blank and hidden parts', () => {
    const hidden: readonly Part[] = [
      text('a', 'One', { status: 'abandoned' }),
      text('b', '  \n'),
      text('c', 'Synthetic', { synthetic: true }),
      text('d', 'Ignored', { ignored: true }),
      { id: 'e', messageID: 'msg_2', raw: {}, type: 'unknown', status: 'open' },
    ]
    expect(types(rowsOf(replyWith(hidden)))).toEqual(['end'])
  })

  test('have a prompt that joined before the message that answers it', () => {
    const prompt = (said: string) => ({ text: said, files: [], parts: [] })
    const messages: Reply['messages'] = [
      { id: 'msg_2', parentID: 'msg_1', parts: [text('a', 'One')], raw: {} },
      { id: 'msg_4', parentID: 'msg_3', parts: [text('b', 'Two')], raw: {} },
    ]
    const joinedPrompts = { msg_3: prompt('Second') }
    const reply = replyWith([], { promptIDs: ['msg_1', 'msg_3'], prompt: prompt('First'), joinedPrompts, messages })
    expect(types(rowsOf(reply))).toEqual(['prompt', 'text', 'prompt', 'text', 'end'])
  })

  test('have those of a sub-agent behind its call while it is unfolded, at any depth', () => {
    const leaf = settled(replyWith([text('l', 'Leaf')]))
    const middle = replyWith([call('m')], { children: [{ callID: 'call_m', background: false, reply: leaf }] })
    const reply = replyWith([call('t'), text('z', 'After')], {
      children: [{ callID: 'call_t', background: false, reply: middle }],
    })
    expect(rowsOf(reply).map(({ type, depth }) => `${type} ${depth}`)).toEqual(['tool 0', 'text 0', 'end 0'])
    expect(rowsOf(reply, () => true).map(({ type, depth }) => `${type} ${depth}`)).toEqual([
      ...['tool 0', 'tool 1', 'text 2', 'text 0', 'end 0'],
    ])
  })

  test('have a sub-agent whose call is not known, and a closed ask whose call is not known', () => {
    const child = { background: true, reply: settled(replyWith([])) }
    const reply = replyWith([text('a', 'One')], { children: [child], asks: [permits('x', { status: 'answered' })] })
    expect(types(rowsOf(reply))).toEqual(['text', 'agent', 'ask', 'end'])
  })

  test('have names of their own', () => {
    const reply = longReply(200)
    const keys = rowsOf(reply).map(({ key }) => key)
    expect(new Set(keys).size).toBe(keys.length)
  })
})

describe('a reply that grew', () => {
  test('keeps all rows but the one of the text that grew, as the same objects', () => {
    const makeRows = createRows()
    const first = replyWith([text('a', 'One'), call('b'), text('c', 'Two')])
    const before = makeRows(first, closed).rows
    const after = makeRows(grown(first, ' and more'), closed).rows
    expect(after.map((row, at) => row === before[at])).toEqual([true, true, false, true])
  })

  test('keeps the finished chunks of a long text', () => {
    const makeRows = createRows()
    const paragraph = `${'Some words. '.repeat(200)}\n\n`
    const first = replyWith([text('a', paragraph.repeat(5))])
    const before = makeRows(first, closed).rows
    const after = makeRows(grown(first, 'More'), closed).rows
    expect(before.length).toBeGreaterThan(4)
    expect(after.slice(0, 4).every((row, at) => row === before[at])).toBe(true)
  })
})
