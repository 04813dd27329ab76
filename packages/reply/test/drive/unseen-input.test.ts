import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { readUnseenInputs, unseenMs } from '../../src/drive/asks/unseen-input.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { type PermissionAsk, type Reply, ReplyError } from '../../src/index.ts'
import type { SessionRef } from '../../src/session-ref.ts'
import { toReadMessages } from '../../src/source/opencode1/decode/rest-responses.ts'
import { closed, delegated, permission, root, running, tool } from '../make.ts'

const asked = permission('p1', root, { callID: 'call', messageID: 'm1' })
const input = { command: '[[ -v a ]]; ls' }

/** The message as REST returns it. */
const stored = (state: object) => ({
  info: { id: 'm1', sessionID: root, role: 'assistant', time: { created: 1 } },
  parts: [{ id: 'm1.call', sessionID: root, messageID: 'm1', type: 'tool', tool: 'bash', callID: 'call', state }],
})

function stage(read: () => unknown, isLive = () => true) {
  const clock = createHandClock()
  const reads: string[] = []
  const errors: ReplyError[] = []
  const onError = (error: ReplyError) => errors.push(error)
  const engine = createEngine(onError, 10)
  const message = async ({ sessionID }: SessionRef, messageID: string) => {
    reads.push(`${clock.now() - startedAt} ${sessionID} ${messageID}`)
    return toReadMessages([read()], onError)[0]
  }
  const stop = readUnseenInputs({ engine, clock, onError }, { message }, isLive)
  const startedAt = clock.now()
  engine.apply([...running, asked])
  const rest = () => new Promise<void>((resolve) => setImmediate(resolve))
  const advance = (ms: number) => clock.advance(ms, rest)
  return { engine, reads, errors, advance, stop, ask: () => permissionIn(engine.newestReply(root)) }
}

function permissionIn(reply: Reply | undefined): PermissionAsk {
  const ask = reply?.asks[0]
  return ask?.type === 'permission' ? ask : expect.fail('It is a permission.')
}

test("a permission's call is read after a second if the stream does not send it", async () => {
  const { reads, advance, ask, engine } = stage(() => stored({ status: 'running', input }))
  await advance(unseenMs - 1)
  expect(reads).toEqual([])
  await advance(1)
  expect(reads).toEqual([`1000 ${root} m1`])
  expect(ask()).toMatchObject({ status: 'pending', call: { tool: 'bash', input } })
  expect(engine.newestReply(root)?.messages[0]?.parts).toMatchObject([{ callID: 'call', state: { input } }])
  await advance(100_000)
  expect(reads).toHaveLength(1)
})

test('it is read again, with growing delays, until the server has it', async () => {
  let state: object = { status: 'pending', input: {} }
  const { reads, advance, ask } = stage(() => stored(state))
  await advance(40_000)
  expect(reads.map((read) => read.split(' ')[0])).toEqual(['1000', '3000', '7000', '15000', '31000'])
  expect(ask().call).toBeUndefined()
  state = { status: 'running', input }
  await advance(30_000)
  expect(ask().call).toEqual({ tool: 'bash', input })
})

test.each([
  ['the only one that has not ended', ['completed', 'running', 'error'], { command: 'running' }],
  ['none if two have not ended', ['running', 'completed', 'running'], undefined],
  ['none if all have ended', ['completed', 'error'], undefined],
])('of several calls with the same id it is %s', async (_, states, known) => {
  const one = stored({})
  const parts = states.map((status, at) => {
    const state = { status, input: { command: status }, output: '', error: '', title: '', metadata: {} }
    return { ...one.parts[0], id: `m1.${at}`, state: { ...state, time: { start: 1, end: 2 } } }
  })
  const { advance, ask } = stage(() => ({ ...one, parts }))
  await advance(unseenMs)
  expect(ask().call?.input).toEqual(known)
})

test('nothing is read once the stream sent it, the ask is closed, or it names no call', async () => {
  const told = stage(() => expect.fail('Nothing has to be read.'))
  told.engine.apply([tool('m1', { input })])
  await told.advance(60_000)
  const over = stage(() => expect.fail('Nothing has to be read.'))
  over.engine.apply([closed('p1', { type: 'permission', reply: 'once' }), permission('p2')])
  await over.advance(60_000)
  const stopped = stage(() => expect.fail('Nothing has to be read.'))
  stopped.stop()
  await stopped.advance(60_000)
  expect([told.reads, over.reads, stopped.reads]).toEqual([[], [], []])
})

test('without a stream nothing is read, and reading continues with it', async () => {
  let isLive = false
  const { reads, advance } = stage(
    () => stored({ status: 'running', input }),
    () => isLive,
  )
  await advance(2000)
  expect(reads).toEqual([])
  isLive = true
  await advance(1000)
  expect(reads).toEqual([`3000 ${root} m1`])
})

test('a message that is not stored yet is not reported; any other failure is reported once', async () => {
  const refuse = (type: 'gone' | 'refused') => () => {
    throw new ReplyError(type, 'No.')
  }
  const early = stage(refuse('gone'))
  const broken = stage(refuse('refused'))
  await early.advance(60_000)
  await broken.advance(60_000)
  expect(early.errors).toEqual([])
  expect(broken.errors).toMatchObject([{ type: 'refused', message: expect.stringContaining('permission p1') }])
})

test("a sub-agent's is read, too, once", async () => {
  const part = { ...stored({ status: 'running', input }).parts[0], id: 'c1.call', sessionID: 'child', messageID: 'c1' }
  const info = { id: 'c1', sessionID: 'child', role: 'assistant', time: { created: 1 } }
  const { reads, advance, engine } = stage(() => ({ info, parts: [part] }))
  engine.apply([closed('p1', { type: 'permission', reply: 'once' }), ...delegated])
  engine.apply([permission('p2', 'child', { callID: 'call', messageID: 'c1' })])
  await advance(unseenMs)
  expect(reads).toEqual(['1000 child c1'])
  const known = engine.newestReply(root)?.asks.find(({ requestID }) => requestID === 'p2')
  expect(known).toMatchObject({ status: 'pending', call: { input } })
  await advance(100_000)
  expect(reads).toHaveLength(1)
})
