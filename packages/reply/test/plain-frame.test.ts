import { createDecoder } from '@reply/core'
import { expect, test } from 'vitest'
import { typeOfPlainFrame } from '../src/source/opencode1/decode/frame.ts'

const wrapped = (payload: unknown) => JSON.stringify({ directory: '/project', project: '1a', payload })

test('short frames of plain strings need no parsing', () => {
  const payload = { id: 'evt_1', type: 'plugin.added', properties: { id: 'core/config-reference' } }
  const diff = { type: 'session.diff', properties: { sessionID: 'ses_1', diff: [] } }
  const empty = { type: 'catalog.updated', properties: {} }
  for (const frame of [payload, diff, empty]) {
    expect(typeOfPlainFrame(JSON.stringify(frame))).toBe(frame.type)
    expect(typeOfPlainFrame(wrapped(frame))).toBe(frame.type)
  }
})

test('a plain frame is JSON, and has the type that parsing finds', () => {
  const heads = [
    '{"id":"1","type":"x","properties":{',
    '{"type":"x","properties":{',
    '{"type":"x","type":"y","properties":{',
    '{"directory":"/","project":"p","payload":{"type":"x","properties":{',
  ]
  const tokens = ['', '"a":"b"', '"b":[]', ',', '"', '\\', '[', '}', '"a":{"type":"z"}', '😀', '\n']
  const ends = ['}}', '}}}', '}', '},"type":"y"}']
  const middles = tokens.flatMap((one) => tokens.flatMap((two) => tokens.map((three) => one + two + three)))
  const plain = new Set<string>()
  for (const head of heads) {
    for (const data of middles.flatMap((middle) => ends.map((end) => head + middle + end))) {
      const type = typeOfPlainFrame(data)
      if (type === undefined) continue
      plain.add(data)
      const value = JSON.parse(data)
      expect((value.payload ?? value).type).toBe(type)
    }
  }
  // Nothing, one property or two, in three of the heads.
  expect(plain.size).toBe(21)
})

test.each([
  '{"type":"plugin.added","properties":{"id":"a",}}',
  '{"type":"plugin.added","properties":{"id":"a""b":"c"}}',
  '{"type":"plugin.added","properties":{"id":"a"}',
  '{"type":"plugin.added","properties":{"id":"a"}}}',
  '{"type":"plugin.added","properties":{"id":"\\"}}',
  '{"type":"plugin.added","properties":{"id":"a\nb"}}',
  '{"type":"plugin.added",}',
  'plugin.added',
])('the broken frame %s of a type that concerns no reply is reported', (data) => {
  const errors: string[] = []
  const decoder = createDecoder({ onError: ({ message }) => errors.push(message) })
  expect(decoder.decode(data, 0)).toBeUndefined()
  expect(errors).toEqual([expect.stringContaining('not JSON')])
})

test('plain frames of types that concern a reply are read', () => {
  const decoder = createDecoder()
  const read = (type: string) => decoder.decode(JSON.stringify({ type, properties: { sessionID: 'ses_1' } }), 0)?.type
  expect(['session.idle', 'server.heartbeat', 'server.connected', 'session.idle.1', 'plugin.added'].map(read)).toEqual([
    'status',
    'heartbeat',
    'connected',
    'status',
    undefined,
  ])
})

test('a malformed delta in a plain frame is reported', () => {
  const errors: string[] = []
  const decoder = createDecoder({ onError: ({ message }) => errors.push(message) })
  for (const id of ['a', 'b']) {
    decoder.decode(JSON.stringify({ id, type: 'message.part.delta', properties: { sessionID: 'ses_1' } }), 0)
  }
  expect(errors).toEqual(Array(2).fill(expect.stringContaining('properties.messageID is not a string')))
})
