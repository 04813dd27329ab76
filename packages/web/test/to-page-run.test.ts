import type { Part, Reply } from '@reply/core'
import { expect, test } from 'vitest'
import { differenceOf } from '../src/state/difference.ts'
import { toPageRun } from '../src/state/to-page-run.ts'
import { call, permits, replyWith, text } from './make.ts'

const failure = { name: 'APIError', message: 'Overloaded', raw: { secret: 'raw' } }

test('the `raw` of messages, parts and failures stays here, that of an input goes along', () => {
  const input = { raw: 'an input', list: [{ raw: 1 }] }
  const metadata = { raw: true }
  const retry: Part = {
    type: 'retry',
    id: 'r',
    messageID: 'msg_2',
    status: 'sealed',
    raw: 1,
    attempt: 1,
    error: failure,
  }
  const child = replyWith([text('c', 'child')], { sessionID: 'ses_2', error: failure })
  const reply = replyWith([call('t', { input, metadata }), retry], {
    error: failure,
    asks: [permits('t', { call: { tool: 'x', input }, metadata })],
    children: [{ background: false, reply: child }],
  })
  const json = JSON.stringify(toPageRun(reply))
  expect(json).not.toMatch(/secret|said/)
  expect(json.match(/"raw"/g)).toHaveLength(6)
  const page = toPageRun(reply).reply
  expect(page.messages[0]?.parts[0]).toHaveProperty('state.input', input)
  expect(page.asks[0]).toHaveProperty('call.input', input)
})

test('a run is JSON: without undefined, and with what JSON makes of other values', () => {
  const input = { a: undefined, b: [undefined, Number.NaN], c: -0, d: () => 1, e: JSON.parse('{"__proto__":{"x":1}}') }
  const { reply } = toPageRun(replyWith([call('t', { input })], { title: undefined, asks: [permits('t')] }))
  const [part] = reply.messages[0]?.parts ?? []
  expect(reply).toStrictEqual(JSON.parse(JSON.stringify(reply)))
  expect(JSON.stringify(part?.type === 'tool' && part.state.input)).toBe(JSON.stringify(input))
  expect(reply).not.toHaveProperty('title')
  expect(reply.asks[0]).not.toHaveProperty('directory')
})

test('an input of 100,000 levels ends at some level', () => {
  let input: Record<string, unknown> = {}
  for (let level = 0; level < 100_000; level += 1) input = { input }
  const run = toPageRun(replyWith([call('t', { input })]))
  expect(JSON.stringify(run).length).toBeLessThan(10_000)
  expect(differenceOf({}, run).length).toBeGreaterThan(0)
})

test('the same reply with the same answers is the same run', () => {
  const reply = replyWith([])
  const answers = { per_1: { by: 'Ann' } }
  expect(toPageRun(reply)).toBe(toPageRun(reply))
  expect(toPageRun(reply, answers)).toBe(toPageRun(reply, answers))
  expect(toPageRun(reply, answers)).not.toBe(toPageRun(reply))
  expect(toPageRun(reply, answers).reply).toBe(toPageRun(reply).reply)
})

test('a delta in a reply of 10,000 parts and as many sub-agents looks into that part alone', () => {
  let reads = 0
  const counted = <T extends object>(value: T): T =>
    new Proxy(value, {
      ownKeys: (target) => {
        reads += 1
        return Reflect.ownKeys(target)
      },
    })
  const parts = Array.from({ length: 10_000 }, (_, at) => counted(call(`t${at}`)))
  const children = parts.map((_, at) =>
    counted({ background: false, reply: replyWith([], { sessionID: `ses_${at}` }) }),
  )
  const growing = (said: string): Reply => replyWith([...parts, text('end', said)], { children })
  const before = toPageRun(growing('a'))
  reads = 0
  const after = toPageRun(growing('ab'))
  expect(reads).toBe(0)
  expect(differenceOf(before, after)).toEqual([[['reply', 'messages', 0, 'parts', 10_000, 'text'], '+', 'b']])
  expect(after.reply.messages[0]?.parts[5]).toBe(before.reply.messages[0]?.parts[5])
})
