import { createDecoder, createEventReader, emptyTrack, type ReplyError, replay, repliesOf, track } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { framesOf, recorded } from './recorded.ts'

/** Random numbers from a seed that fast-check chose, so that failures can be reproduced. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const junk = [
  null,
  0,
  -1,
  1e21,
  '',
  'x'.repeat(2000),
  '\u0000\uD800',
  [],
  {},
  true,
  [[]],
  { type: 'text' },
  'msg_1',
] as const

/** A copy of a frame with one of its values replaced, renamed or removed. */
function mutated(frame: unknown, random: (below: number) => number): unknown {
  if (typeof frame !== 'object' || frame === null || random(6) === 0) return junk[random(junk.length)]
  const keys = Object.keys(frame)
  const key = keys[random(keys.length)]
  if (key === undefined) return junk[random(junk.length)]
  const copy: Record<string, unknown> = { ...frame }
  if (random(8) === 0) delete copy[key]
  else copy[key] = /ID$|^id$/.test(key) && random(2) === 0 ? `any_${random(5000)}` : mutated(copy[key], random)
  return copy
}

describe('100,000 events, many of them broken,', () => {
  const frames = recorded.filter((_, at) => at % 7 === 0).flatMap((one) => framesOf(one.read().bytes))

  test('break nothing, are reported by name, and stay within the limits', () => {
    const limits = { maxHeld: 2_000_000, keepSettled: 50, maxQuiet: 300 }
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = randomFrom(seed)
        const errors: ReplyError[] = []
        const decoder = createDecoder({ onError: (error) => errors.push(error) })
        let state = emptyTrack(limits)
        let at = 0
        for (let count = 0; count < 100_000; count++) {
          // Frames of a recording in order, with jumps between recordings.
          at = random(50) === 0 ? random(frames.length) : (at + 1) % frames.length
          const frame = random(3) === 0 ? mutated(frames[at], random) : frames[at]
          const event = decoder.decodeValue(frame, count)
          if (event) state = track(state, event).state
          if (state.heldUnits > limits.maxHeld) expect.fail(`${state.heldUnits} units are held`)
        }
        const replies = repliesOf(state)
        const open = replies.filter(({ phase }) => phase !== 'settled').length
        expect(replies.length - open).toBeLessThanOrEqual(limits.keepSettled)
        expect(state.cells.size).toBeLessThan(
          open * 3 + limits.keepSettled * 3 + limits.maxQuiet * 2 + limits.maxHeld / 2048,
        )
        expect(errors.length).toBeGreaterThan(1000)
        const named = /not an event|Skipped a malformed event ".+": properties/
        expect(errors.filter(({ type, message }) => type !== 'malformed' || !named.test(message))).toEqual([])
      }),
      { numRuns: 1 },
    )
  })

  test('leave replies that can settle and be serialized as JSON', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        const random = randomFrom(seed)
        const start = random(frames.length)
        const some = frames
          .slice(start, start + 3000)
          .map((frame) => (random(5) === 0 ? mutated(frame, random) : frame))
        const replies = await replay(some.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join(''))
        for (const reply of replies) {
          expect(reply.phase).toBe('settled')
          expect(JSON.parse(JSON.stringify(reply))).toEqual(reply)
        }
      }),
      { numRuns: 15 },
    )
  })
})

describe('a stream of bytes', () => {
  const tape = recorded.find((one) => one.scenario === 'tools-todos')?.read() ?? expect.fail()

  test('that is cut anywhere ends each reply, and skips the incomplete frame', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(tape.bytes.length), async (end) => {
        for (const reply of await replay(tape.bytes.slice(0, end))) expect(reply.phase).toBe('settled')
      }),
      { numRuns: 60 },
    )
  })

  test('with garbage in it is read before and after', () => {
    const half = tape.bytes.indexOf(10, tape.bytes.length / 2)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), (garbage) => {
        const errors: ReplyError[] = []
        const reader = createEventReader({ onError: (error) => errors.push(error) })
        reader.push(tape.bytes.slice(0, half), 1)
        reader.push(garbage, 2)
        reader.push('\n\n', 3)
        expect(reader.push('data: {"type":"server.connected"}\n\n', 4)).toMatchObject([{ type: 'connected' }])
        for (const { type } of errors) expect(type).toBe('malformed')
      }),
      { numRuns: 100 },
    )
  })

  test('with flipped bytes still gives replies', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(tape.bytes.length - 1), fc.nat(255)), { maxLength: 50 }),
        async (flips) => {
          const bytes = tape.bytes.slice()
          for (const [at, byte] of flips) bytes[at] = byte
          for (const reply of await replay(bytes)) expect(reply.phase).toBe('settled')
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('endless growth', () => {
  const frame = (sessionID: string, type = 'session.idle') => ({
    type,
    properties: { sessionID, info: { id: sessionID } },
  })

  test.each([
    ['unknown sessions', (n: number) => frame(`s${n}`)],
    ['sessions that do nothing', (n: number) => frame(`s${n}`, 'session.created')],
    [
      'deltas of messages that never come',
      (n: number) => ({
        type: 'message.part.delta',
        properties: { sessionID: 's', messageID: `m${n}`, partID: 'p', field: 'text', delta: 'x' },
      }),
    ],
    [
      'parts of messages that never come',
      (n: number) => ({
        type: 'message.part.updated',
        properties: { part: { id: `p${n}`, sessionID: 's', messageID: `m${n}`, type: 'text', text: 'x'.repeat(1000) } },
      }),
    ],
  ])('%s: it is bounded', (_, frameOf) => {
    const decoder = createDecoder()
    let state = emptyTrack({ maxHeld: 1_000_000, maxQuiet: 1000 })
    for (let n = 0; n < 5000; n++) {
      const event = decoder.decodeValue(frameOf(n), n) ?? expect.fail()
      state = track(state, event).state
    }
    expect(state.heldUnits).toBeLessThanOrEqual(state.limits.maxHeld)
    expect(state.cells.size).toBeLessThanOrEqual(2 * state.limits.maxQuiet + 1)
  })
})
