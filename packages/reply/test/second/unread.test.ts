import { expect, test } from 'vitest'
import { createDecoder2 } from '../../src/source/opencode2/decode.ts'

const plugin = { id: 'evt_1', created: 1000, type: 'plugin.added', data: { id: 'core/config-reference' } }
const stored = { aggregateID: 'ses_1', seq: 1, version: 1 }
const session = { sessionID: 'ses_1' }

function decoder() {
  const errors: string[] = []
  return { ...createDecoder2({ onError: ({ message }) => errors.push(message) }), errors }
}

test('a frame of a type that concerns no reply is not parsed', () => {
  const { decodeUnparsed } = decoder()
  expect(decodeUnparsed(JSON.stringify(plugin), 0)).toBe('nothing')
  expect(decodeUnparsed(JSON.stringify({ ...plugin, location: { directory: '/project' } }), 0)).toBe('nothing')
})

test.each([
  ['of a type that concerns a reply', { ...plugin, type: 'session.execution.started', data: session }],
  ['of a type that the preview calls otherwise', { ...plugin, type: 'session.input.promoted', data: session }],
  ['that is stored', { id: 'evt_1', created: 1000, type: 'session.usage.updated', durable: stored, data: session }],
  ['that is stored, which it says late', { ...plugin, type: 'session.usage.updated', data: session, durable: stored }],
  ['with more before its type', { id: 'evt_1', created: 1000, metadata: {}, type: 'plugin.added', data: {} }],
  ['without an id', { created: 1000, type: 'plugin.added', data: {} }],
  ['without a time', { id: 'evt_1', type: 'plugin.added', data: {} }],
  [
    'with another type within',
    { data: { id: 'evt_1', created: 1000, type: 'plugin.added' }, type: 'server.connected' },
  ],
])('a frame %s is parsed', (_, frame) => {
  expect(decoder().decodeUnparsed(JSON.stringify(frame), 0)).toBeUndefined()
})

test('a stored frame of a type that concerns no reply counts: what is missing before it is told', () => {
  const { decode } = decoder()
  const frame = (id: string, seq: number) =>
    JSON.stringify({ id, created: 1, type: 'session.usage.updated', durable: { ...stored, seq }, data: session })
  expect(decode(frame('evt_1', 1), 0)).toEqual([])
  expect(decode(frame('evt_2', 4), 0)).toEqual([{ type: 'missed', at: 0, inSession: 'ses_1' }])
})

test.each([
  JSON.stringify(plugin).slice(0, -2),
  JSON.stringify(plugin).slice(0, 40),
  JSON.stringify(plugin).replace('"type"', 'type'),
  JSON.stringify(plugin).replace('"id"', 'id'),
])('the broken frame %s is reported', (data) => {
  const { decode, errors } = decoder()
  expect(decode(data, 0)).toEqual([])
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})
