import { describe, expect, test } from 'vitest'
import type { ReplyError } from '../src/index.ts'
import {
  toReadMessages,
  toReadModels,
  toReadPermissions,
  toReadQuestions,
  toReadSession,
  toReadStatuses,
  toReadTodos,
  toReadVersion,
} from '../src/source/opencode1/decode/rest-responses.ts'
import { recorded } from './recorded.ts'
import { wireEvents, wireParts } from './wire.ts'

const junk = [undefined, null, 0, 'text', [], {}, [null], [{}], { a: 1 }, { a: null }, '<!doctype html>']
const head = wireEvents['message.updated'].info
const ignored = () => {}
const seen = { at: 7, directory: '/project' }

/** The messages read, and the errors. */
function messages(value: unknown) {
  const errors: ReplyError[] = []
  return { read: toReadMessages(value, (error) => errors.push(error)), errors }
}

describe('a REST response', () => {
  test.each([
    ['a session', toReadSession, undefined],
    ['todos', (value: unknown) => toReadTodos(value, ignored), []],
    ['questions', (value: unknown) => toReadQuestions(value, seen, ignored), []],
    ['permissions', (value: unknown) => toReadPermissions(value, seen, ignored), []],
    ['a version', toReadVersion, undefined],
    ['models', (value: unknown) => toReadModels(value, ignored), []],
    ['messages', (value: unknown) => messages(value).read, []],
  ])('is empty if %s are something else', (_, read, nothing) => {
    for (const value of junk) expect(read(value)).toEqual(nothing)
  })

  test('with a list keeps valid items, and reports the others', () => {
    const { text, tool } = wireParts
    const { read, errors } = messages([
      { info: head, parts: [text, { ...tool, state: 5 }, { ...text, id: 'prt_2', type: 'hologram' }] },
      { info: { ...head, role: 'system' }, parts: [] },
      { info: head },
      null,
    ])
    expect(read).toMatchObject([{ head: { id: 'msg_1' }, parts: [{ type: 'text' }, { type: 'unknown' }] }])
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('Left out a malformed part read over REST: state'),
      expect.stringContaining('Left out a malformed message read over REST: role'),
      expect.stringContaining('Left out a malformed message read over REST: parts'),
      expect.stringContaining('Left out a malformed message read over REST: Invalid input'),
    ])
  })

  test('of statuses leaves out the idle ones, and takes an unknown one for busy', () => {
    const retry = { type: 'retry', attempt: 2, message: 'overloaded', next: 9 }
    const errors: string[] = []
    const statuses = { a: { type: 'busy' }, b: { type: 'idle' }, c: retry, d: { type: 'new' } }
    const read = toReadStatuses(statuses, ({ message }) => errors.push(message))
    expect([...read]).toEqual([
      ['a', { status: 'busy' }],
      ['c', { status: 'retry', retry: { attempt: 2, message: 'overloaded', nextAt: 9 } }],
      ['d', { status: 'busy' }],
    ])
    expect(errors).toEqual([expect.stringContaining('malformed status')])
  })

  test('with models gives their names, variants and context windows', () => {
    const errors: ReplyError[] = []
    const report = (error: ReplyError) => errors.push(error)
    const one = { name: 'One', limit: { context: 1000 }, variants: { high: {} } }
    const models = { one, two: {}, three: { limit: { context: 0 } } }
    expect(toReadModels({ providers: [{ id: 'p', models }, { id: 5 }] }, report)).toEqual([
      { providerID: 'p', modelID: 'one', name: 'One', contextLimit: 1000, variants: ['high'] },
      { providerID: 'p', modelID: 'two', name: 'two', contextLimit: undefined, variants: [] },
      { providerID: 'p', modelID: 'three', name: 'three', contextLimit: undefined, variants: [] },
    ])
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('malformed provider read over REST: id'),
    ])
  })

  test('of another shape than models is reported', () => {
    const errors: string[] = []
    expect(toReadModels({ all: [] }, ({ message }) => errors.push(message))).toEqual([])
    expect(errors).toEqual(['Left out a malformed list of providers read over REST: not an object'])
  })

  test("with asks equals the stream's", () => {
    const errors: ReplyError[] = []
    const report = (error: ReplyError) => errors.push(error)
    const told = { askedAt: 7, directory: '/project' }
    expect(toReadQuestions([wireEvents['question.asked']], seen, report)).toMatchObject([
      { requestID: 'que_1', ...told },
    ])
    expect(toReadPermissions([wireEvents['permission.asked'], {}], seen, report)).toMatchObject([
      { requestID: 'per_1', ...told },
    ])
    expect(errors.map(({ message }) => message)).toEqual([
      expect.stringContaining('malformed permission read over REST'),
    ])
  })

  test('is valid in every recording', () => {
    for (const { read: readTape } of recorded) {
      for (const told of readTape().sessions) {
        const { read, errors } = messages(told.messages)
        expect(errors).toEqual([])
        expect(read.map((message) => message.parts.length)).toEqual(told.messages.map(({ parts }) => parts.length))
        expect(toReadSession(told.info)?.sessionID).toBe(told.id)
        expect(toReadTodos(told.todos, (error) => expect.fail(error.message))).toHaveLength(told.todos.length)
      }
    }
  })
})
