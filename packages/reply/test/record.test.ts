import { type Reply, record, replay, textOf } from '@reply/core'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { recorded } from './recorded.ts'

const secret = 'ghp_Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1Q7wE'

const ids = { sessionID: 's', messageID: 'm', partID: 'p' }
const event = (type: string, properties: object, id?: string) => ({ id, type, properties })
let count = 0
const delta = (text: string, more: object = {}) =>
  event('message.part.delta', { ...ids, field: 'text', delta: text, ...more }, `evt_${count++}`)
const textPart = (text: string, end?: number) => ({
  id: 'p',
  sessionID: 's',
  messageID: 'm',
  type: 'text',
  text,
  time: { start: 1, end },
})
const partFrame = (text: string, end?: number, more: object = {}) =>
  event('message.part.updated', { part: textPart(text, end), ...more })
const idle = event('session.status', { sessionID: 's', status: { type: 'idle' } })
const info = (id: string, role: string, more: object = {}) =>
  event('message.updated', { info: { id, sessionID: 's', role, time: { created: 1 }, ...more } })
const begin = [
  event('session.created', { info: { id: 's', directory: '/home/jane/work' } }),
  info('u', 'user'),
  info('m', 'assistant'),
  partFrame(''),
]
const done = [info('m', 'assistant', { time: { created: 1, completed: 2 } }), idle]

const recorder = () => {
  let all = ''
  const note = record({
    write: (piece) => {
      all += piece
    },
  })
  const push = (...frames: readonly object[]): void => {
    for (const frame of frames) note(JSON.stringify(frame), 1)
  }
  const deltas = (): unknown[] =>
    [...all.matchAll(/"delta":("(?:[^"\\]|\\.)*")/g)].map((found) => JSON.parse(found[1] ?? ''))
  return { push, end: note.end, deltas, written: () => all }
}

const recordOf = (...frames: readonly object[]): string => {
  const { push, end, written } = recorder()
  push(...frames)
  end()
  return written()
}

/** The text cut before its last line, or at the given places. */
const pieces = (text: string, places: readonly number[]): readonly string[] => {
  const sorted = [0, ...places.map((place) => place % text.length).toSorted((a, b) => a - b), text.length]
  return sorted.slice(1).map((to, at) => text.slice(sorted[at], to))
}

describe('deltas', () => {
  test('never write a secret in any split, and end as the whole text does', async () => {
    const words = fc.constantFrom('', 'Here: ', 'a ghost and ', '`', '/home/jane/x and https://me:pass@host/ ')
    const check = async (
      before: string,
      after: string,
      places: readonly number[],
      isSealed: boolean,
    ): Promise<void> => {
      const text = `${before}${secret}${after === '' ? '' : ` ${after}`}`
      const seal = isSealed ? [partFrame(text, 2)] : []
      const written = recordOf(...begin, ...pieces(text, places).map((piece) => delta(piece)), ...seal, ...done)
      expect(written).not.toContain(secret.slice(4))
      expect(written).not.toContain('jane')
      const replies = await replay(written)
      const whole = await replay(recordOf(...begin, partFrame(text, 2), ...done))
      expect(replies.map(textOf)).toEqual(whole.map(textOf))
    }
    const places = fc.array(fc.nat(200), { maxLength: 8 })
    await fc.assert(fc.asyncProperty(words, words, places, fc.boolean(), check), { numRuns: 60 })
  })

  test('without a secret stay unchanged', () => {
    const { push, deltas } = recorder()
    push(...begin, delta('Hello'), delta(' wor'), delta('ld.'))
    expect(deltas()).toEqual(['Hello', ' wor', 'ld.'])
  })

  test('are held back only while a secret may be growing, and other frames do not wait for them', () => {
    const { push, deltas, written } = recorder()
    push(...begin, delta('see gh'))
    expect(deltas()).toEqual(['see '])
    push(event('todo.updated', { sessionID: 's', todos: [] }))
    expect(written()).toContain('todo.updated')
    push(delta('osts'))
    expect(deltas()).toEqual(['see ', 'ghosts'])
  })

  test('held-back text is written before the run ends, and by end()', async () => {
    for (const last of [[idle], [event('session.idle', { sessionID: 's' })], []]) {
      const [reply] = await replay(recordOf(...begin, delta('see gh'), ...last))
      expect(reply && textOf(reply)).toBe('see gh')
    }
  })

  test('of several parts at once, or wrapped, are separate texts', () => {
    const { push, written, end } = recorder()
    const wrapped = (frame: object) => ({ directory: '/home/jane/work', payload: frame })
    for (const at of [0, 9, 18, 27, 36]) {
      push(wrapped(delta(secret.slice(at, at + 9))), delta('ghp_', { partID: 'other' }))
      push(delta(secret.slice(at, at + 9), { partID: 'third', field: 'reasoning' }))
    }
    end()
    expect(written()).not.toMatch(/9UiOp2|jane/)
    expect(written().match(/\[redacted\]/g)).toHaveLength(2)
  })

  test('of an unknown dialect are redacted too', () => {
    const next = (piece: string) => event('session.next.text.delta', { sessionID: 's', textID: 't', delta: piece })
    expect(recordOf(next(secret.slice(0, 20)), next(secret.slice(20)))).not.toMatch(/9UiOp2/)
  })
})

describe('snapshots', () => {
  test('of a growing text lack a possible beginning of a secret, and so do their deltas', async () => {
    let frames: readonly object[] = []
    for (let at = 1; at <= secret.length; at++)
      frames = [...frames, partFrame(`see ${secret.slice(0, at)}`, undefined, { delta: secret[at - 1] })]
    const written = recordOf(...begin, ...frames, partFrame(`see ${secret}`, 2), ...done)
    expect(written).not.toMatch(/ghp_/)
    expect((await replay(written)).map(textOf)).toEqual(['see [redacted]'])
  })

  test('are continued by deltas', () => {
    const written = recordOf(
      ...begin,
      partFrame(`see ${secret.slice(0, 12)}`),
      delta(secret.slice(12)),
      delta(' there'),
      idle,
    )
    expect(written).not.toMatch(/ghp_|AsDfGh/)
    expect(written).toContain('"delta":"[redacted]"')
  })

  test("of a running call's output lack it too, and the end has all", () => {
    const call = (status: string, output: string) => {
      const state = {
        status,
        input: { command: 'env' },
        ...(status === 'running' ? { metadata: { output } } : { output }),
      }
      const part = { id: 'p', sessionID: 's', messageID: 'm', type: 'tool', tool: 'bash', callID: 'c', state }
      return event('message.part.updated', { part })
    }
    const running = recordOf(call('running', `A=1\n${secret.slice(0, 12)}`))
    expect(running).toContain(String.raw`{"output":"A=1\n"}`)
    expect(recordOf(call('completed', 'A=1\ngh'))).toContain(String.raw`"output":"A=1\ngh"`)
  })
})

/** The content of replies, without times and repetitions of the wire. */
const said = (replies: readonly Reply[]) =>
  JSON.stringify(replies, (key, value) => (/^(?:raw|\w+At)$/.test(key) ? undefined : value))

describe.each(['1.1.65', '1.18.33'])('a recording of a stream of %s', (version) => {
  const scenarios = ['plain', 'long-text', 'reasoning', 'chunked-output', 'subagent-nested', 'abort-text']
  const some = recorded.filter((one) => one.version === version && scenarios.includes(one.scenario))

  test.each(some.map((one) => [one.name, one] as const))('gives the same replies as the stream: %s', async (_, one) => {
    const { bytes } = one.read()
    const lines = new TextDecoder().decode(bytes).split('\n')
    const frames = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trim()] : []))
    let written = ''
    const note = record({
      write: (piece) => {
        written += piece
      },
    })
    for (const frame of frames) note(frame, 1)
    note.end()
    expect(said(await replay(written))).toBe(said(await replay(bytes)))
  })
})
