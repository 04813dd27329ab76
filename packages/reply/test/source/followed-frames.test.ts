import { openCode2Version } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import type { ReplyEvent } from '../../src/index.ts'
import { createFollowedDecoder } from '../../src/source/decode/followed-frames.ts'
import {
  createCountingDecoder,
  disguise,
  expectSameSteps,
  followOnly,
  framesOf,
  introducesChild,
  mixedStreams,
  recordedStreams,
} from './followed-frames.ts'

const newest = [
  ['1.18.33', 1],
  [openCode2Version, 2],
] as const

const withChildren = recordedStreams.filter(
  (one) => newest.some(([version]) => version === one.version) && !one.global && framesOf(one).some(introducesChild),
)

describe('without the frames of other sessions, a session has the same changes', () => {
  test.each(newest)('in each recording of %s', (version, generation) => {
    for (const one of recordedStreams)
      if (one.version === version && !one.global) expectSameSteps(framesOf(one), generation)
  })

  test.each(newest)(
    'in recordings of %s that are mixed, and one of ten other frames is parsed',
    (version, generation) => {
      // Also counts frames of its own that have no event.
      for (const frames of mixedStreams(version)) expect(expectSameSteps(frames, generation)).toBeLessThan(0.1)
    },
  )

  test.each(newest)(
    'in recordings of %s in other orders of keys, with escapes and keys twice',
    (version, generation) => {
      for (const frames of mixedStreams(version).slice(0, 3))
        for (const shift of [0, 1, 2, 3])
          expectSameSteps(
            frames.map((frame, at) => disguise(frame, (at + shift) % 4)),
            generation,
          )
    },
  )

  test('if only the call of a sub-agent names its session, after its first events', () => {
    expect(withChildren.length).toBeGreaterThan(10)
    for (const one of withChildren)
      expectSameSteps(
        framesOf(one).filter((frame) => !introducesChild(frame)),
        one.generation,
      )
  })
})

const own = 'ses_own'
const delta = (sessionID: string, text: string): string => {
  const properties = { sessionID, messageID: 'msg_1', partID: 'prt_1', field: 'text', delta: text }
  return JSON.stringify({ type: 'message.part.delta', properties })
}
const created = (id: string, parentID?: string): string =>
  JSON.stringify({ type: 'session.created', properties: { info: { id, parentID } } })

/** The sessions of the events of these frames, and how many of the frames were parsed. */
function read(...frames: readonly string[]) {
  const { decoder, parsed } = createCountingDecoder(1)
  const followed = createFollowedDecoder(decoder, followOnly(own))
  const events = frames.flatMap((frame, at): readonly ReplyEvent[] => {
    const decoded = followed.decode(frame, at) ?? []
    return 'type' in decoded ? [decoded] : decoded
  })
  return { events, parsed: parsed() }
}
const sessionsOf = (events: readonly ReplyEvent[]): readonly unknown[] =>
  events.map((event) => ('sessionID' in event ? event.sessionID : event.type))

describe('a frame', () => {
  test('of another session is not parsed', () => {
    expect(read(delta('ses_other', 'Hello'), created('ses_other'))).toEqual({ events: [], parsed: 0 })
  })

  test('of another session that mentions ours in a text is not parsed', () => {
    expect(read(delta('ses_other', `Look at "${own}", or ${own}.`))).toEqual({ events: [], parsed: 0 })
  })

  test('of another session whose text is our id is parsed, and has no event here', () => {
    expect(read(delta('ses_other', own))).toEqual({ events: [], parsed: 1 })
  })

  test('of ours that mentions others in a text is parsed', () => {
    const text = 'Look at "ses_other", "ses_'
    expect(read(delta(own, text)).events).toMatchObject([{ sessionID: own, delta: text }])
  })

  test('of a session whose id only begins as ours is not ours', () => {
    expect(read(delta(`${own}1`, 'Hello'), delta('ses_ow', 'Hello'))).toEqual({ events: [], parsed: 0 })
  })

  test('of ours with an escape in its id is parsed', () => {
    const frames = [delta(own, 'a').replace('ses_', 'ses\\u005f'), delta(own, 'a').replace('own', '\\u006Fwn')]
    expect(sessionsOf(read(...frames).events)).toEqual([own, own])
  })

  test('with a key twice belongs to the last one', () => {
    const first = delta(own, 'a').replace('"sessionID"', '"sessionID":"ses_other","sessionID"')
    const last = delta('ses_other', 'a').replace('"sessionID"', `"sessionID":"${own}","sessionID"`)
    expect(sessionsOf(read(first, last).events)).toEqual([own])
  })

  test('of no session is parsed', () => {
    const disposed = { type: 'server.instance.disposed', properties: { directory: '/ses_other' } }
    expect(sessionsOf(read(JSON.stringify(disposed)).events)).toEqual(['disposed'])
  })

  test('with colours of a terminal is not parsed for another session', () => {
    expect(read(delta('ses_other', '\u001b[31mred\u001b[0m')).parsed).toBe(0)
  })
})

describe('a sub-agent', () => {
  test('of ours is followed, and its own sub-agents', () => {
    const frames = [created('ses_a', own), delta('ses_a', 'a'), created('ses_b', 'ses_a'), delta('ses_b', 'b')]
    expect(sessionsOf(read(...frames).events)).toEqual(['ses_a', 'ses_a', 'ses_b', 'ses_b'])
  })

  test('of another session is not followed', () => {
    expect(read(created('ses_a', 'ses_other'), delta('ses_a', 'a'))).toEqual({ events: [], parsed: 0 })
  })

  test('that is introduced late loses no event, nor do those below it', () => {
    const frames = [delta('ses_b', 'b'), created('ses_b', 'ses_a'), delta('ses_a', 'a'), created('ses_a', own)]
    expect(sessionsOf(read(...frames).events)).toEqual(['ses_a', 'ses_b', 'ses_a', 'ses_b'])
  })

  test('whose early events are no longer kept is read again', () => {
    const others = Array.from({ length: 5000 }, (_, at) => delta('ses_other', `${at}`))
    const { events } = read(delta('ses_a', 'a'), ...others, created('ses_a', own))
    expect(events.map(({ type }) => type)).toEqual(['session', 'missed'])
  })
})
