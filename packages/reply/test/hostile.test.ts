import { type ReplyError, type ReplyEvent, record, replay } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../src/drive/engine.ts'
import { redacted } from '../src/recording/redact.ts'
import { same } from '../src/reduce/same.ts'
import { busy, message, session, text, user } from './make.ts'

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const frame = (type: string, properties: string) => `data: {"type":"${type}","properties":${properties}}\n\n`
const info = (id: string, role: string) =>
  frame('message.updated', `{"info":{"id":"${id}","sessionID":"s","role":"${role}"}}`)

/** A call's part as the wire tells it, with an input of that depth. */
const call = (depth: number, title: string) => {
  const state = `{"status":"running","title":"${title}","input":{"x":${nested(depth)}}}`
  const part = `{"id":"p","messageID":"m","sessionID":"s","type":"tool","tool":"bash","callID":"c","state":${state}}`
  return frame('message.part.updated', `{"part":${part}}`)
}
const begun = [frame('session.created', '{"info":{"id":"s"}}'), info('u', 'user'), info('m', 'assistant')].join('')

describe('JSON that is nested deeper than the stack', () => {
  test.each([300, 3000, 100_000])('%d deep in a tool call told twice breaks nothing', async (depth) => {
    const errors: ReplyError[] = []
    const recording = `${begun}${call(depth, 'first')}${call(depth, 'second')}`
    const [reply] = await replay(recording, { onError: (error) => errors.push(error) })
    expect(reply?.messages[0]?.parts).toMatchObject([{ state: { title: 'second' } }])
    expect(errors).toEqual([])
  })

  test('is equal as far as anybody looks, and different beyond', () => {
    expect(same(JSON.parse(nested(200)), JSON.parse(nested(200)))).toBe(true)
    expect(same(JSON.parse(nested(3000)), JSON.parse(nested(3000)))).toBe(false)
  })

  test('is written into a recording without its depths', async () => {
    let written = ''
    const write = record({
      write: (piece) => {
        written += piece
      },
    })
    for (const data of `${begun}${call(100_000, 'deep')}`.split('\n\n')) if (data !== '') write(data.slice(6), 1)
    const [reply] = await replay(written)
    expect(reply?.messages[0]?.parts).toMatchObject([{ state: { title: 'deep' } }])
    expect(redacted(`[${nested(3000)},"sk-abcdefghijklmnop1234"]`)).toMatch(/"\[redacted\]"\]+,"\[redacted\]"\]$/)
  })
})

describe('an event that cannot be tracked', () => {
  const broken: ReplyEvent = {
    ...text('m1', 'secret'),
    get part(): never {
      throw new TypeError('No part.')
    },
  }
  const other = 'ses_other'
  const begin = [session(), user('u1'), busy(), message('m1'), session(other), user('u2', { sessionID: other })]

  test('is reported without its content and skipped, and the others go on', () => {
    const errors: ReplyError[] = []
    const engine = createEngine({ onError: (error) => errors.push(error), keepSettled: 10 })
    engine.apply([...begin, broken, text('m1', 'Hello'), message('m2', { sessionID: other })])
    expect(errors).toMatchObject([{ type: 'malformed' }])
    expect(errors[0]?.message).toBe('An event "part" of session ses_root could not be applied and was skipped.')
    expect(engine.openReply('ses_root')?.messages).toMatchObject([{ parts: [{ text: 'Hello' }] }])
    expect(engine.openReply(other)?.messages).toMatchObject([{ id: 'm2' }])
  })
})
