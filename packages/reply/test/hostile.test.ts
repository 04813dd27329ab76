import { type ReplyError, type ReplyEvent, record, replay } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { createEngine } from '../src/drive/engine.ts'
import { same } from '../src/fields.ts'
import { redactJson } from '../src/redact/redact-fields.ts'
import { busy, message, part, run, session, snapshot, text, user } from './make.ts'

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`
const frame = (type: string, properties: string) => `data: {"type":"${type}","properties":${properties}}\n\n`
const info = (id: string, role: string) =>
  frame('message.updated', `{"info":{"id":"${id}","sessionID":"s","role":"${role}"}}`)

/** A call's part on the wire, with an input of that depth. */
const call = (depth: number, title: string) => {
  const state = `{"status":"running","title":"${title}","input":{"x":${nested(depth)}}}`
  const part = `{"id":"p","messageID":"m","sessionID":"s","type":"tool","tool":"bash","callID":"c","state":${state}}`
  return frame('message.part.updated', `{"part":${part}}`)
}
const begun = [frame('session.created', '{"info":{"id":"s"}}'), info('u', 'user'), info('m', 'assistant')].join('')

describe('JSON that is nested deeper than the stack', () => {
  test.each([300, 3000, 100_000])('%d deep in a tool call that arrives twice breaks nothing', async (depth) => {
    const errors: ReplyError[] = []
    const recording = `${begun}${call(depth, 'first')}${call(depth, 'second')}`
    const [reply] = await replay(recording, { onError: (error) => errors.push(error) })
    expect(reply?.messages[0]?.parts).toMatchObject([{ state: { title: 'second' } }])
    expect(errors).toEqual([])
  })

  test('is compared down to a limited depth, and different beyond', () => {
    expect(same(JSON.parse(nested(200)), JSON.parse(nested(200)))).toBe(true)
    expect(same(JSON.parse(nested(3000)), JSON.parse(nested(3000)))).toBe(false)
  })

  test('is written into a recording without its deep values', async () => {
    let written = ''
    const write = record({
      write: (piece) => {
        written += piece
      },
    })
    for (const data of `${begun}${call(100_000, 'deep')}`.split('\n\n')) if (data !== '') write(data.slice(6), 1)
    const [reply] = await replay(written)
    expect(reply?.messages[0]?.parts).toMatchObject([{ state: { title: 'deep' } }])
    expect(redactJson(`[${nested(3000)},"sk-abcdefghijklmnop1234"]`)).toMatch(/"\[redacted\]"\]+,"\[redacted\]"\]$/)
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

  test('is reported without its content and skipped, and the others continue', () => {
    const errors: ReplyError[] = []
    const engine = createEngine((error) => errors.push(error), 10)
    engine.apply([...begin, broken, text('m1', 'Hello'), message('m2', { sessionID: other })])
    expect(errors).toMatchObject([{ type: 'malformed' }])
    expect(errors[0]?.message).toBe('An event "part" of session ses_root could not be applied and was skipped.')
    expect(engine.openReply('ses_root')?.messages).toMatchObject([{ parts: [{ text: 'Hello' }] }])
    expect(engine.openReply(other)?.messages).toMatchObject([{ id: 'm2' }])
  })
})

// Without measuring: quadratic time would take minutes.
describe('long input', () => {
  const million = (piece: string): string => piece.repeat(1_000_000 / piece.length)

  test.each([
    ...[['a-'], ['token '], ['token_'], ['eyJ-'], ['eyJ.'], ['-----BEGIN PRIVATE KEY-----'], ['//'], [' ']],
    ...[['-u '], [' -ua'], ['--user'], ['cookie: a'], [' -b a'], ['SG.'], ['SG.a'], ['1//0'], ['r8_'], ['ya29']],
    ...[['A_KEY'], ['A_KEY =\n\n'], ['&sig='], ['?key'], ['/webhooks/'], ['/webhooks/1']],
    ...[['hooks.slack.com'], ['%2F'], ['\\/']],
  ])('%j without an end is searched for secrets, and they are found behind it', (piece) => {
    const all = million(piece)
    expect(redactJson(`${all} token=hunter22`)).toBe(`${all} token=[redacted]`)
  })

  test('a name of any length that ends in a secret has its value redacted', () => {
    const name = `${'a-'.repeat(200)}token`
    expect(redactJson(`${name}: hunter22 my_secret_token="hunter22"`)).toBe(
      `${name}: [redacted] my_secret_token="[redacted]"`,
    )
  })

  test('a message of 5,000 parts is read, in the order of the server, whatever is known of it', () => {
    const ids = Array.from({ length: 5000 }, (_, at) => `p${at}`)
    const parts = ids.map((id) => ({ ...text('m1', id, { status: 'sealed' }).part, id }))
    const messages = [
      { head: user('u1').message, parts: [] },
      { head: message('m1', { parentID: 'u1' }).message, parts },
    ]
    const some = parts.filter((_, at) => at % 3 === 1).map((one) => part(one))
    const told = run([session(), user('u1'), message('m1'), ...some, part({ ...parts[0], id: 'own' } as never)])
    const { reply } = run([snapshot({ messages })], told)
    const read = reply.messages[0]?.parts.map(({ id }) => id) ?? []
    expect(read.filter((id) => id !== 'own')).toEqual(ids)
    expect(read).toContain('own')
  })

  test('a chain of 2,000 sub-agents is one tree as far as 64 of them, and a reply of its own for each below', () => {
    const chain = Array.from({ length: 2000 }, (_, at) => session(`s${at}`, at === 0 ? {} : { parentID: `s${at - 1}` }))
    const { replies } = run([...chain, ...[0, 63, 64, 1999].map((at) => busy(`s${at}`))])
    expect(replies.map(({ sessionID }) => sessionID)).toEqual(['s0', 's64', 's1999'])
    let depth = 1
    for (let at = replies[0]; at?.children[0]; at = at.children[0].reply) depth += 1
    expect(depth).toBe(64)
  })
})
