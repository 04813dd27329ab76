import { describe, expect, test } from 'vitest'
import { endLine, frameLine, readLine } from '../src/inspect/frame-line.ts'
import { openRecording, readFrames } from '../src/inspect/read-frames.ts'
import { createRecording } from '../src/inspect/recording.ts'
import { applyDifference } from '../src/state/difference.ts'
import { toPageRun } from '../src/state/to-page-run.ts'
import { expectMoments, recordings } from './inspect-recordings.ts'

const at = (time: number, frame: object): string =>
  `: at ${1_790_000_000_000 + time}\ndata: ${JSON.stringify(frame)}\n\n`
const event = (type: string, properties: object, id?: string) => ({ ...(id && { id }), type, properties })
const info = (id: string, role: string, time: object = { created: 1 }) =>
  event('message.updated', { info: { id, sessionID: 's', role, time } })
const part = (id: string, messageID: string, text: string) =>
  event('message.part.updated', { part: { id, sessionID: 's', messageID, type: 'text', text, time: { start: 1 } } })
const delta = (text: string, partID = 'p') =>
  event('message.part.delta', { sessionID: 's', messageID: 'm', partID, field: 'text', delta: text })
const session = event('session.created', { info: { id: 's' } })
const idle = event('session.idle', { sessionID: 's' })
const recordingOf = (...frames: readonly object[]): string =>
  frames.map((frame, index) => at(index * 10, frame)).join('')

const begin = [session, info('u', 'user'), part('u.t', 'u', 'Say hello'), info('m', 'assistant'), part('p', 'm', '')]

describe('at each moment, the inspector has the replies of a replay up to there', () => {
  test.each(recordings.filter((_, index) => index % 12 === 0).map((one) => [one.name, one] as const))(
    '%s',
    async (_, { read }) => await expectMoments(read()),
  )

  const long = recordingOf(...begin, ...Array.from({ length: 1800 }, (_, n) => delta(`${n} `)), idle)

  test.each([
    ['forwards', (count: number) => Array.from({ length: count }, (_, n) => n)],
    ['backwards', (count: number) => Array.from({ length: count }, (_, n) => count - 1 - n)],
    ['in leaps', (count: number) => Array.from({ length: count }, (_, n) => (n * 701) % count)],
  ])('of a long recording, %s', async (_, order) => await expectMoments(long, (count) => order(count).slice(0, 400)))

  test('however it is cut', () => {
    const whole = openRecording(long)
    const cut = createRecording()
    const reader = readFrames((frame) => cut.add(frame))
    for (let from = 0; from < long.length; from += 777) reader.push(long.slice(from, from + 777))
    expect(cut.moments).toBe(cut.length)
    cut.end(reader.end())
    expect(cut.moments).toBe(whole.moments)
    expect(cut.replyAt(cut.length)).toEqual(whole.replyAt(whole.length))
  })

  test('of JSON lines', async () => {
    await expectMoments([...begin, delta('Hi'), idle].map((frame) => JSON.stringify(frame)).join('\n'))
  })
})

describe('a page that gets the frames as lines has the same', () => {
  test.each(recordings.filter((_, index) => index % 12 === 0).map((one) => [one.name, one] as const))(
    '%s',
    (_, { read }) => {
      const whole = openRecording(read())
      const sent = createRecording()
      const reader = readFrames((frame) => readLine(frameLine(frame), sent))
      reader.push(read())
      readLine(endLine(reader.end()), sent)
      expect(sent.moments).toBe(whole.moments)
      for (let moment = 0; moment < whole.moments; moment += 7) {
        // The order of keys may be another one, as undefined fields have none in JSON.
        const replies = ({ repliesAt }: typeof sent) => repliesAt(moment).map(({ reply }) => toPageRun(reply))
        expect(replies(sent)).toStrictEqual(replies(whole))
        const { events: _, steps: _steps, ...rest } = whole.frame(moment)
        expect(sent.frame(moment)).toMatchObject(rest)
      }
    },
  )

  test('except for events that are nested too deeply', () => {
    const nested = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`
    const part = `{"id":"p","sessionID":"s","messageID":"m","type":"tool","callID":"c","tool":"x","state":{"status":"pending","input":${nested}}}`
    const sent = createRecording()
    const reader = readFrames((frame) => readLine(frameLine(frame), sent))
    reader.push(`${recordingOf(...begin)}data: {"type":"message.part.updated","properties":{"part":${part}}}\n\n`)
    readLine(endLine(reader.end()), sent)
    expect(sent.frame(5).errors.join()).toMatch(/nested too deeply/)
  })
})

describe('a frame', () => {
  const opened = openRecording(
    recordingOf(
      session,
      event('message.part.delta', { sessionID: 's', messageID: 'm', partID: 'p', field: 'text', delta: 'Hel' }, 'e1'),
      event('message.part.delta', { sessionID: 's', messageID: 'm', partID: 'p', field: 'text', delta: 'lo' }, 'e2'),
      info('u', 'user'),
      info('m', 'assistant'),
      part('p', 'm', ''),
      event('message.part.delta', { sessionID: 's', messageID: 'm', partID: 'p', field: 'text', delta: 'lo' }, 'e2'),
      event('tui.toast.show', { message: 'x' }),
      event('message.updated', { info: 7 }),
      { type: 'sync', payload: {} },
      idle,
    ).concat('data: not JSON\n\n'),
  )

  test('has its time, its type and its data', () => {
    expect(opened.frame(4)).toMatchObject({ type: 'message.updated', at: 1_790_000_000_040 })
    expect(JSON.parse(opened.frame(4).data)).toEqual(info('m', 'assistant'))
  })

  test('that is held says which frame placed it', () => {
    expect(opened.frame(1)).toMatchObject({ kind: 'held', held: { until: 5, dropped: false }, steps: [] })
    expect(opened.frame(2)).toMatchObject({ kind: 'held', held: { until: 5, dropped: false } })
    expect(opened.frame(5)).toMatchObject({ kind: 'text', released: [1, 2] })
    expect(opened.frame(5).held).toBeUndefined()
  })

  test('says why it has no events', () => {
    expect([6, 7, 8, 9, 11].map((index) => opened.frame(index).noEvents)).toEqual([
      'repeated',
      'other',
      'malformed',
      'copy',
      'malformed',
    ])
    expect(opened.frame(8).errors.join()).toMatch(/malformed event "message.updated"/)
    expect(opened.frame(11).errors.join()).toMatch(/not JSON/)
    expect(opened.frame(5).noEvents).toBeUndefined()
  })

  test('has the session, the run and the changes of each reply that it changed', () => {
    expect(opened.frame(3).steps).toMatchObject([{ sessionID: 's', run: 1, changes: [{ type: 'replyStarted' }] }])
    const types = opened.frame(5).steps.flatMap(({ changes }) => changes.map(({ type }) => type))
    expect(types).toContain('partAdded')
    expect(types).toContain('partChanged')
  })

  test('that ends what is open is the last moment', () => {
    const open = openRecording(recordingOf(...begin, delta('Hi')))
    expect(open.replyAt(open.length - 1)?.phase).toBe('working')
    expect(open.replyAt(open.length)?.outcome).toBe('lost')
    expect(open.frame(open.length)).toMatchObject({ data: '', kind: 'end' })
    expect(open.frame(open.length).noEvents).toBeUndefined()
  })
})

describe('one finds', () => {
  const opened = openRecording(recordingOf(...begin, delta('Hel'), info('m', 'assistant'), delta('lo "you"'), idle))

  test('the next and the previous change of a part', () => {
    expect(opened.nextChangeOf('p', 0)).toBe(4)
    expect(opened.nextChangeOf('p', 4)).toBe(5)
    expect(opened.nextChangeOf('p', 5)).toBe(7)
    expect(opened.previousChangeOf('p', 7)).toBe(5)
    expect(opened.previousChangeOf('p', 4)).toBeUndefined()
    expect(opened.nextChangeOf('other', 0)).toBeUndefined()
  })

  test('the next and the previous change of any reply', () => {
    expect(opened.changeFrom(5, 1)).toBe(7)
    expect(opened.changeFrom(7, -1)).toBe(5)
    expect(opened.changeFrom(0, -1)).toBeUndefined()
  })

  test('text in the data and across deltas, in any case', () => {
    expect(opened.search('HELLO')).toEqual([2, 7])
    expect(opened.search('lo "you')).toEqual([7])
    expect(opened.search('user')).toEqual([1])
    expect(opened.search('')).toEqual([])
  })

  test('what differs between two moments', () => {
    const changes = opened.compare(4, 7)
    expect(changes).toContainEqual([['messages', 0, 'parts', 0, 'text'], '=', 'Hello "you"'])
    expect(opened.compare(5, 7)).toEqual([[['messages', 0, 'parts', 0, 'text'], '+', 'lo "you"']])
    expect(opened.compare(7, 5)).toEqual([[['messages', 0, 'parts', 0, 'text'], '=', 'Hel']])
    expect(opened.compare(5, 5)).toEqual([])
    expect(opened.compare(0, 0)).toEqual([])
    const [[, , whole] = []] = opened.compare(0, 5)
    expect(applyDifference(null, opened.compare(0, 5))).toEqual(whole)
  })
})
