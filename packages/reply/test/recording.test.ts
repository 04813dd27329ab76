import { type Change, type Reply, type ReplyError, record, replay, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { observing } from './observing.ts'
import { recorded } from './recorded.ts'

const text = (messageID: string, words: string) => ({
  type: 'message.part.updated',
  properties: { part: { id: `${messageID}.t`, sessionID: 's', messageID, type: 'text', text: words } },
})
const head = (id: string, role: string, time: object = {}) => ({
  type: 'message.updated',
  properties: { info: { id, sessionID: 's', role, time } },
})
const idle = { type: 'session.idle', properties: { sessionID: 's' } }
const session = { type: 'session.created', properties: { info: { id: 's' } } }
const frames = [
  session,
  head('u1', 'user', { created: 100 }),
  text('u1', 'Say “hello” – 漢'),
  head('m1', 'assistant', { created: 200 }),
  text('m1', 'Hello, 漢'),
  head('m1', 'assistant', { created: 200, completed: 300 }),
  idle,
]
const sse = frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')
const lines = frames.map((frame) => JSON.stringify(frame)).join('\n')
const wrappedIn = (directory: string) => frames.map((payload) => JSON.stringify({ directory, payload })).join('\r\n')
const wrapped = wrappedIn('global')
const bytes = (all: string) => new TextEncoder().encode(all)

async function* slowly(pieces: Iterable<Uint8Array>) {
  for (const piece of pieces) yield piece
}

function inPieces(all: Uint8Array, size: number): readonly Uint8Array[] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}

/** The replies without the source's events, and the errors. */
async function replayed(recording: Parameters<typeof replay>[0]) {
  const errors: ReplyError[] = []
  const replies = await replay(recording, { onError: (error) => errors.push(error) })
  return { replies, errors }
}

describe('a recording', () => {
  test('gives the same replies in every form', async () => {
    const { replies } = await replayed(sse)
    expect(replies.map(textOf)).toEqual(['Hello, 漢'])
    expect(replies).toMatchObject([{ outcome: 'completed', prompt: { text: 'Say “hello” – 漢' }, settledAt: 300 }])
    const forms = [lines, `${lines}\n`, `\n\n${lines}\n\n`, `\uFEFF${lines}`, wrapped, bytes(sse), bytes(wrapped)]
    for (const form of forms) expect(await replayed(form)).toEqual({ replies, errors: [] })
    for (const form of [sse, lines, wrapped]) {
      for (const size of [1, 2, 3, 50]) {
        expect(await replayed(inPieces(bytes(form), size))).toEqual({ replies, errors: [] })
        expect(await replayed(slowly(inPieces(bytes(form), size)))).toEqual({ replies, errors: [] })
      }
    }
  })

  test('whose frames name a directory gives replies of that directory', async () => {
    const { replies } = await replayed(wrappedIn('/project'))
    expect(replies).toMatchObject([{ directory: '/project', outcome: 'completed' }])
  })

  test('with nothing in it gives no reply', async () => {
    for (const nothing of ['', '\n', ': comment\n\n', [], new Uint8Array()]) {
      expect(await replayed(nothing)).toEqual({ replies: [], errors: [] })
    }
  })

  test('of something else gives no reply, and an error', async () => {
    const { replies, errors } = await replayed('<!doctype html>\n<p>\n')
    expect(replies).toEqual([])
    expect(errors[0]).toMatchObject({ type: 'malformed' })
  })

  test('with a broken line continues after it', async () => {
    const broken = [...frames.slice(0, 4), 'x', ...frames.slice(4)].map((frame) => JSON.stringify(frame)).join('\n')
    const { replies, errors } = await replayed(broken.replace('"x"', '{"type":'))
    expect(replies.map(textOf)).toEqual(['Hello, 漢'])
    expect(errors).toHaveLength(1)
  })

  test('that is cut ends as lost, or as aborted after an idle', async () => {
    const cut = frames.slice(0, 5)
    expect((await replayed(cut.map((frame) => JSON.stringify(frame)).join('\n'))).replies).toMatchObject([
      { outcome: 'lost' },
    ])
    const idled = [...cut, idle].map((frame) => JSON.stringify(frame)).join('\n')
    expect((await replayed(idled)).replies).toMatchObject([{ outcome: 'aborted' }])
  })

  test("without a session's event, or its parent's, treats it as a root at the end", async () => {
    const orphan = { ...session, properties: { info: { id: 's', parentID: 'gone' } } }
    const without = [frames.slice(1), [orphan, ...frames.slice(1)]]
    for (const some of without) {
      const { replies } = await replayed(some.map((frame) => JSON.stringify(frame)).join('\n'))
      expect(replies.map((reply) => reply.outcome)).toEqual(['completed'])
    }
  })

  test('of a line of 50 MB reports it as too large and continues after it', async () => {
    const piece = bytes('x'.repeat(64 * 1024))
    function* huge() {
      yield bytes(`${lines}\n{"type":"`)
      for (let sent = 0; sent < 50 * 1024 * 1024; sent += piece.length) yield piece
      yield bytes(`"}\n${JSON.stringify(text('m1', 'Amended'))}\n`)
    }
    const { replies, errors } = await replayed(huge())
    expect(errors).toMatchObject([{ type: 'too-large' }])
    expect(replies.map(textOf)).toEqual(['Amended'])
  })
})

describe('times', () => {
  test("are those in the recording's comments", async () => {
    const noted = frames.map((frame, index) => `: at ${1000 + index}\ndata: ${JSON.stringify(frame)}\n\n`).join('')
    expect((await replayed(noted)).replies).toMatchObject([{ startedAt: 1001, settledAt: 1006 }])
  })

  test("are the server's own without comments", async () => {
    expect((await replayed(sse)).replies).toMatchObject([{ startedAt: 100, settledAt: 300 }])
  })

  test("are those of the tools' as well", async () => {
    const state = { status: 'completed', time: { start: 210, end: 250 } }
    const part = { id: 'p', sessionID: 's', messageID: 'm1', type: 'tool', tool: 'bash', callID: 'c', state }
    const tool = { type: 'message.part.updated', properties: { part } }
    const cut = [...frames.slice(0, 4), tool].map((frame) => JSON.stringify(frame)).join('\n')
    expect((await replayed(cut)).replies).toMatchObject([{ outcome: 'lost', settledAt: 250 }])
  })

  test('are passed to the pace, which is awaited', async () => {
    const noted = frames.map((frame, index) => `: at ${1000 + index}\ndata: ${JSON.stringify(frame)}\n\n`).join('')
    const order: (number | string)[] = []
    const pace = async (at: number) => {
      await Promise.resolve()
      order.push(at)
    }
    await replay(noted, { pace, observe: () => [{ partAdded: () => order.push('part') }] })
    expect(order).toEqual([1000, 1001, 1002, 1003, 1004, 'part', 1005, 1006])
  })
})

describe('observers', () => {
  test('are requested once per reply, and receive all of it', async () => {
    const asked: Reply[] = []
    const heard: Change['type'][] = []
    const observe = (reply: Reply) => {
      asked.push(reply)
      return [observing((change) => heard.push(change.type))]
    }
    await replay(sse, { observe })
    expect(asked).toHaveLength(1)
    expect(heard[0]).toBe('replyStarted')
    expect(heard.at(-1)).toBe('replySettled')
  })

  test('that fail are reported', async () => {
    const errors: ReplyError[] = []
    const broken = () => {
      throw new Error('broken')
    }
    await replay(sse, { observe: () => [{ replySettled: broken }], onError: (error) => errors.push(error) })
    expect(errors).toMatchObject([{ type: 'observer' }])
  })
})

describe('invalid observers', () => {
  const throwing = (): never => {
    throw new Error('broken')
  }
  test.each([
    ['are left out', () => [null as never, undefined as never]],
    ['are not a list', () => 7 as never],
    ['cannot be had', throwing],
  ])('%s: that is reported, and the replay continues', async (_, observe) => {
    const errors: ReplyError[] = []
    const replies = await replay(sse, { observe, onError: (error) => errors.push(error) })
    expect(replies).toMatchObject([{ outcome: 'completed' }])
    expect(new Set(errors.map(({ type }) => type))).toEqual(new Set(['observer']))
  })
})

describe('record', () => {
  const written = (data: readonly string[], redact?: (data: string) => string) => {
    let all = ''
    const write = (piece: string) => {
      all += piece
    }
    const note = record({ write, redact })
    for (const [index, one] of data.entries()) note(one, 1000 + index)
    return all
  }

  test('writes what replay reads, with its times', async () => {
    const { replies } = await replayed(written(frames.map((frame) => JSON.stringify(frame))))
    expect(replies.map(textOf)).toEqual(['Hello, 漢'])
    expect(replies).toMatchObject([{ startedAt: 1001, settledAt: 1006 }])
  })

  test('writes a real stream so that it gives the same replies except for times', async () => {
    const { bytes: real } = recorded.find((one) => one.scenario === 'subagent-nested')?.read() ?? expect.fail()
    const data = new TextDecoder()
      .decode(real)
      .split('\n')
      .filter((line) => line.startsWith('data:'))
    const { replies } = await replayed(
      written(
        data.map((line) => line.slice(5).trim()),
        (one) => one,
      ),
    )
    const timeless = (all: readonly Reply[]) =>
      JSON.stringify(all).replace(/"(startedAt|settledAt|askedAt|closedAt)":\d+/g, '')
    expect(timeless(replies)).toBe(timeless(await replay(real)))
  })

  test('keeps no secret and no home, unless redaction is turned off', () => {
    const secret = JSON.stringify({ apiKey: 'hunter2', text: 'sk-abcdefghijklmnop1234 in /home/jane/x' })
    expect(written([secret])).not.toMatch(/hunter2|sk-abc|jane/)
    expect(written([secret], (data) => data)).toMatch(/hunter2.*sk-abc.*jane/)
  })
})
