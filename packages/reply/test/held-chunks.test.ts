import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createDecoder } from '../src/index.ts'
import { parsedFirst } from '../src/source/decode/newest.ts'
import { createDecoder2 } from '../src/source/opencode2/decode.ts'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** In MB, after a collection. */
function held(): number {
  if (typeof collect !== 'function') expect.fail()
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

const session = { sessionID: 'ses_1' }

test('what is remembered of each part of OpenCode 1 keeps no chunk of the stream', () => {
  const decoder = createDecoder()
  const frameOf = (part: number, delta: string): string => {
    const properties = { ...session, messageID: 'msg_1', partID: `prt_${1000 + part}`, field: 'text', delta }
    return JSON.stringify({ payload: { id: `evt_${delta}${1000 + part}`, type: 'message.part.delta', properties } })
  }
  expect(heldBy(frameOf, (frame) => decoder.decode(frame, 1)?.type)).toBeLessThan(10)
})

test('what is remembered of each part of OpenCode 2 keeps no chunk of the stream', () => {
  const decoder = createDecoder2()
  const frameOf = (part: number, delta: string): string => {
    const data = { ...session, assistantMessageID: `msg_${1000 + part}`, ordinal: 0, delta }
    return JSON.stringify({ id: `evt_${delta}${1000 + part}`, created: 1, type: 'session.text.delta', data })
  }
  expect(heldBy(frameOf, (frame) => [decoder.decode(frame, 1)].flat()[0]?.type)).toBeLessThan(10)
})

test.each([12, 13, 20])('a delta of %d units keeps no chunk of the stream', (length) => {
  const decoder = createDecoder()
  const kept: unknown[] = []
  const properties = { ...session, messageID: 'msg_1', partID: 'prt_1000', field: 'text' }
  const heldByOne = heldBy(
    (part, delta) => {
      const unique = `${part} ${delta}`.padEnd(length)
      return JSON.stringify({ type: 'message.part.delta', properties: { ...properties, delta: unique } })
    },
    (frame) => {
      const event = decoder.decode(frame, 1)
      if (event?.type === 'delta') kept.push(event.delta)
      return event?.type
    },
  )
  expect(heldByOne).toBeLessThan(10)
  expect(kept.length).toBeGreaterThan(500)
})

/** What the deltas of 500 parts leave in memory, in MB: some of each, in a chunk of 64 KB. */
function heldBy(frameOf: (part: number, delta: string) => string, decode: (frame: string) => unknown): number {
  const before = held()
  const count = parsedFirst + 2
  for (let part = 0; part < 500; part++) {
    const frames = Array.from({ length: count }, (_, at) => frameOf(part, `${10 + at}`))
    const chunk = Buffer.from(frames.join('\n').padEnd(65_536, '\n')).toString()
    for (const frame of chunk.split('\n', count)) expect(decode(frame)).toBe('delta')
  }
  const after = held()
  // The decoder is still in use.
  expect(decode(frameOf(0, '99'))).toBe('delta')
  return after - before
}
