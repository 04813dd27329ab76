import { createDecoder, type ReplyError, type ReplyEvent } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { eventSchemas, partSchemas } from '../src/source/opencode1/decode/schema.ts'
import { decoded, decodedPart, type WireType, wireEvents, wireParts } from './wire.ts'

const types = Object.keys(wireEvents) as WireType[]
const knownTypes = new Set([...Object.keys(eventSchemas), 'message.part.delta', 'server.connected', 'server.heartbeat'])
const becomes: Record<WireType, ReplyEvent['type']> = {
  'session.created': 'session',
  'session.updated': 'session',
  'session.deleted': 'session-removed',
  'session.status': 'status',
  'session.idle': 'status',
  'session.error': 'error',
  'session.compacted': 'compacted',
  'message.updated': 'message',
  'message.removed': 'message-removed',
  'message.part.updated': 'part',
  'message.part.delta': 'delta',
  'message.part.removed': 'part-removed',
  'todo.updated': 'todos',
  'question.asked': 'asked',
  'question.replied': 'ask-closed',
  'question.rejected': 'ask-closed',
  'permission.asked': 'asked',
  'permission.updated': 'asked',
  'permission.replied': 'ask-closed',
  'server.connected': 'connected',
  'server.heartbeat': 'heartbeat',
  'server.instance.disposed': 'disposed',
}

describe('an event', () => {
  test('of every type that is known has its example here', () => {
    expect(new Set(types)).toEqual(knownTypes)
  })

  test.each(types)('%s is read, wrapped or not, with a version or not', (type) => {
    const frame = { type, properties: wireEvents[type] }
    const { event, errors } = decoded(frame)
    expect(errors).toEqual([])
    expect(event).toMatchObject({ type: becomes[type], at: 1000, raw: frame })
    const wrapped = decoded({ directory: 'global', payload: frame })
    expect(wrapped.event).toEqual(event)
    const { raw, ...rest } = decoded({ ...frame, type: `${type}.1` }).event ?? expect.fail()
    if (!type.startsWith('server.') && type !== 'message.part.delta') expect({ ...rest, raw: frame }).toEqual(event)
  })

  test.each(['session.idle', 'message.updated', 'message.part.updated', 'permission.replied'] as const)(
    '%s has the directory that its frame came from',
    (type) => {
      const payload = { type, properties: wireEvents[type] }
      expect(decoded({ directory: '/project', payload }).event).toMatchObject({ directory: '/project' })
    },
  )

  test('of a session has the directory of the session, whichever its frame came from', () => {
    const info = { ...wireEvents['session.updated'].info, directory: '/project' }
    const payload = { type: 'session.updated', properties: { info } }
    expect(decoded({ directory: '/other', payload }).event).toMatchObject({ directory: '/project' })
  })

  test('an event of no session gets none', () => {
    const payload = { type: 'server.instance.disposed', properties: {} }
    expect(decoded({ directory: '/project', payload }).event).toMatchObject({ type: 'disposed', directory: undefined })
  })

  test.each(['plugin.added', 'session.next.text.delta', 'file.edited.3', 'toString', '__proto__'])(
    'of an unknown type (%s) is ignored without an error',
    (type) => {
      expect(decoded({ type, properties: { sessionID: 5 } })).toEqual({ event: undefined, errors: [] })
    },
  )

  test('that is the second copy of a durable one is ignored', () => {
    const frame = { type: 'sync', name: 'message.updated.1', data: wireEvents['message.updated'] }
    expect(decoded({ directory: '/p', payload: frame })).toEqual({ event: undefined, errors: [] })
  })

  test('that arrives twice is recognized by its id', () => {
    const decoder = createDecoder()
    const frame = { id: 'evt_1', type: 'session.idle', properties: { sessionID: 'ses_1' } }
    expect(decoder.decodeValue(frame, 1)).toMatchObject({ type: 'status' })
    expect(decoder.decodeValue(frame, 2)).toBeUndefined()
    expect(decoder.decodeValue({ directory: '/p', payload: frame }, 3)).toBeUndefined()
    expect(decoder.decodeValue({ ...frame, id: 'evt_2' }, 4)).toMatchObject({ type: 'status' })
  })

  test('that arrives twice is recognized among the last 500, whatever the order of ids', () => {
    const decoder = createDecoder()
    const frame = (n: number) => ({
      id: `evt_${(n * 7919) % 100_003}`,
      type: 'session.idle',
      properties: { sessionID: 's' },
    })
    for (let n = 0; n < 3000; n++) {
      expect(decoder.decodeValue(frame(n), n)).toBeDefined()
      if (n >= 500) expect(decoder.decodeValue(frame(n - 500), n)).toBeUndefined()
    }
  })

  test('without an id is never a duplicate', () => {
    const decoder = createDecoder()
    const frame = { type: 'message.part.delta', properties: { ...wireEvents['message.part.delta'], delta: 'ha' } }
    expect([1, 2].map((at) => decoder.decodeValue(frame, at))).toMatchObject([{ delta: 'ha' }, { delta: 'ha' }])
  })

  test('without a session is ignored', () => {
    expect(decoded({ type: 'session.error', properties: { error: { name: 'X' } } })).toEqual({
      event: undefined,
      errors: [],
    })
  })

  test('takes its session from what it is about', () => {
    expect(decoded({ type: 'message.updated', properties: wireEvents['message.updated'] }).event).toMatchObject({
      sessionID: 'ses_1',
    })
    expect(decodedPart(wireParts.text)).toMatchObject({ sessionID: 'ses_1' })
  })
})

describe('a part', () => {
  test('of every type that is known has its example here', () => {
    expect(new Set(Object.keys(wireParts))).toEqual(new Set(Object.keys(partSchemas)))
  })

  test.each(Object.values(wireParts))('$type is read', (part) => {
    expect(decodedPart(part)).toMatchObject({ part: { id: 'prt_1', messageID: 'msg_1', type: part.type, raw: part } })
  })

  test('of a type that is not known is kept as unknown', () => {
    const hologram = { id: 'p', messageID: 'm', sessionID: 's', type: 'hologram', depth: 3 }
    expect(decodedPart(hologram)).toMatchObject({ part: { id: 'p', type: 'unknown', status: 'sealed', raw: hologram } })
  })

  test.each([
    ['without times', undefined, 'sealed'],
    ['that began', { start: 1 }, 'open'],
    ['that ended', { start: 1, end: 2 }, 'sealed'],
  ])('with text %s', (_, time, status) => {
    expect(decodedPart({ ...wireParts.text, time })).toMatchObject({ part: { status } })
    expect(decodedPart({ ...wireParts.reasoning, time })).toMatchObject({ part: { status } })
  })

  test('marks texts that the server added and hidden ones', () => {
    const marked = { ...wireParts.text, synthetic: true, ignored: true }
    expect(decodedPart(marked)).toMatchObject({ part: { synthetic: true, ignored: true } })
    expect(decodedPart({ ...marked, synthetic: false, ignored: false })).toMatchObject({
      part: { synthetic: undefined, ignored: undefined },
    })
  })

  test.each([
    ['pending', 'open'],
    ['running', 'open'],
    ['completed', 'sealed'],
    ['error', 'sealed'],
  ])('of a tool that is %s is %s', (status, expected) => {
    expect(decodedPart({ ...wireParts.tool, state: { status } })).toMatchObject({
      part: { status: expected, state: { status, input: {} } },
    })
  })

  test('of a tool that the server calls invalid keeps the name that the model used', () => {
    const state = { status: 'completed', input: { tool: 'frobnicate', error: 'no such tool' } }
    expect(decodedPart({ ...wireParts.tool, tool: 'invalid', state })).toMatchObject({ part: { tool: 'frobnicate' } })
    expect(decodedPart({ ...wireParts.tool, tool: 'invalid' })).toMatchObject({ part: { tool: 'invalid' } })
  })
})

describe('an ask', () => {
  const ask = (type: WireType, properties: object = wireEvents[type]) => decoded({ type, properties }).event

  test.each(['question.asked', 'permission.asked', 'permission.updated'] as const)(
    '%s carries the directory that its frame came from',
    (type) => {
      const payload = { type, properties: wireEvents[type] }
      expect(decoded({ directory: '/project', payload }).event).toMatchObject({
        directory: '/project',
        ask: { directory: '/project' },
      })
      expect(decoded(payload).event).toMatchObject({ ask: { directory: undefined } })
    },
  )

  test('a question may leave out everything but its text', () => {
    expect(ask('question.asked')).toMatchObject({
      ask: {
        ...{ type: 'question', requestID: 'que_1', path: ['ses_1'], status: 'pending', askedAt: 1000 },
        questions: [{ header: '', multiple: false, custom: true, options: [{ label: 'Red', description: '' }] }],
      },
    })
  })

  test('a question may allow only its own options', () => {
    const questions = [{ question: 'Which?', custom: false, multiple: true, header: 'H' }]
    expect(ask('question.asked', { ...wireEvents['question.asked'], questions })).toMatchObject({
      ask: { questions: [{ header: 'H', multiple: true, custom: false, options: [] }] },
    })
  })

  test('an old permission is the same as a new one', () => {
    const now = ask('permission.asked', { ...wireEvents['permission.asked'], always: ['ls'] })
    const old = ask('permission.updated')
    expect(now).toMatchObject({ ask: { permission: 'bash', patterns: ['ls'], always: ['ls'], title: 'bash: ls' } })
    expect(old).toMatchObject({ ask: { permission: 'bash', patterns: ['ls'], always: ['ls'], title: 'ls' } })
  })

  test('either names the call that raised it', () => {
    const call = { messageID: 'msg_1', callID: 'call_1' }
    const now = ask('permission.asked', { ...wireEvents['permission.asked'], tool: call })
    const old = ask('permission.updated', { ...wireEvents['permission.updated'], ...call })
    for (const one of [now, old]) expect(one).toMatchObject({ ask: { ...call, metadata: {} } })
    const more = { ...wireEvents['permission.updated'], metadata: { command: 'ls' } }
    expect(ask('permission.updated', more)).toMatchObject({ ask: { metadata: { command: 'ls' } } })
    expect(ask('question.asked', { ...wireEvents['question.asked'], tool: call })).toMatchObject({ ask: call })
  })

  test('the permission to repeat a call has the call in its metadata', () => {
    const call = { tool: 'bash', input: { command: 'ls' } }
    const asked = (more: object) =>
      ask('permission.asked', { ...wireEvents['permission.asked'], metadata: call, ...more })
    expect(asked({ permission: 'doom_loop' })).toMatchObject({ ask: { call } })
    expect(asked({ permission: 'bash' })).not.toMatchObject({ ask: { call } })
  })

  test('an old answer is the same as a new one', () => {
    const now = ask('permission.replied')
    const old = ask('permission.replied', { sessionID: 'ses_1', permissionID: 'per_1', response: 'once' })
    expect(old).toEqual({ ...now, raw: expect.anything() })
    expect(now).toMatchObject({ requestID: 'per_1', how: { type: 'permission', reply: 'once' } })
  })
})

describe('malformed input', () => {
  test.each(types.filter((type) => Object.keys(wireEvents[type]).length > 0))(
    '%s is skipped, and the error names type and place',
    (type) => {
      for (const [key, value] of Object.entries(wireEvents[type])) {
        const properties = { ...wireEvents[type], [key]: typeof value === 'object' ? 'no object' : { no: 'string' } }
        const { event, errors } = decoded({ type, properties })
        expect(event).toBeUndefined()
        expect(errors).toMatchObject([{ type: 'malformed' }])
        expect(errors[0]?.message).toContain(`"${type}"`)
        expect(errors[0]?.message).toContain(`properties.${key}`)
      }
    },
  )

  test.each(Object.values(wireParts))('a $type part is skipped, and the error names the part', (part) => {
    for (const key of Object.keys(part)) {
      if (key === 'type') continue
      const { event, errors } = decoded({ type: 'message.part.updated', properties: { part: { ...part, [key]: 7.5 } } })
      if (key === 'cost' || key === 'attempt') continue
      expect(event).toBeUndefined()
      expect(errors[0]?.message).toMatch(new RegExp(`"message.part.updated".*properties.part.${key}`))
    }
  })

  test.each([null, 7, 'text', [], {}, { type: 7 }, { payload: null }, { payload: { no: 'type' } }])(
    '%j is not an event, and is reported',
    (frame) => {
      const { event, errors } = decoded(frame)
      expect(event).toBeUndefined()
      expect(errors).toMatchObject([{ type: 'malformed', message: expect.stringContaining('not an event') }])
    },
  )

  test("text that isn't JSON is reported with its beginning", () => {
    const errors: ReplyError[] = []
    const decoder = createDecoder({ onError: (error) => errors.push(error) })
    expect(decoder.decode('<!doctype html><title>', 1)).toBeUndefined()
    expect(errors[0]?.message).toContain('<!doctype html>')
    expect(decoder.decode('{"type":"server.heartbeat"}', 1)).toMatchObject({ type: 'heartbeat' })
  })

  test('without a listener it is skipped silently', () => {
    expect(createDecoder().decode('{', 1)).toBeUndefined()
    expect(createDecoder().decodeValue({ type: 'session.idle' }, 1)).toBeUndefined()
  })

  test('errors contain no secrets', () => {
    const secrets = ['sk-abcdefghijklmnop1234', 'hunter2hunter2', 'b3BlbmNvZGU6aHVudGVyMg==']
    const errors: ReplyError[] = []
    const decoder = createDecoder({ onError: (error) => errors.push(error) })
    for (const secret of secrets) {
      for (const key of ['apiKey', 'password', 'authorization']) {
        decoder.decode(`{"${key}":"${secret}"`, 1)
        decoder.decode(`{"${key}":"${secret}"}`, 1)
        decoder.decode(`GET https://user:${secret}@host/?${key}=${secret}`, 1)
        decoder.decodeValue({ type: 'session.idle', properties: { sessionID: [secret] } }, 1)
      }
    }
    expect(errors).toHaveLength(36)
    for (const { message, cause } of errors)
      for (const secret of secrets) expect(`${message} ${cause}`).not.toContain(secret)
  })
})
