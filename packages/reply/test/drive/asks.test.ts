import { expect, test } from 'vitest'
import { createAsks } from '../../src/drive/asks/answer-asks.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { createStopping } from '../../src/drive/stop/stopping.ts'
import { type PermissionAsk, pendingAsks, ReplyError } from '../../src/index.ts'
import { busy, permission, root, running, session, tool, user } from '../make.ts'

const input = { command: 'ls' }
const asked = (requestID: string, callID: string, more: Partial<PermissionAsk> = {}) =>
  permission(requestID, root, { callID, messageID: 'm1', ...more })
const calls = ['a', 'b', 'c'].map((callID) => tool('m1', { callID, input }))

interface StageOptions {
  readonly post?: (requestID: string) => void
  /** Called when an ask's ancestors are looked up, which happens while something is being stopped. */
  readonly lookUp?: () => void
}

function stage({ post = () => {}, lookUp = () => {} }: StageOptions = {}) {
  const engine = createEngine(() => {}, 10)
  const sent: string[] = []
  const send = async ({ requestID }: { readonly requestID: string }, reply: unknown) => {
    sent.push(`${requestID} ${reply}`)
    post(requestID)
  }
  const source = { answer: send, reject: (ask: { readonly requestID: string }) => send(ask, 'reject') }
  const clock = { now: () => 5000, after: () => () => {} }
  const parentOf = async () => {
    lookUp()
    return undefined
  }
  const stopping = createStopping(parentOf)
  const asks = createAsks({ engine, clock }, source, stopping)
  engine.apply(running)
  const find = (requestID: string): PermissionAsk => {
    const ask = engine.newestReply(root)?.asks.find((other) => other.requestID === requestID)
    return ask?.type === 'permission' ? ask : expect.fail(`There is no permission ${requestID}.`)
  }
  return { engine, asks, sent, find, stopping }
}

test('an answer is sent to all equal asks, and to no others', async () => {
  const { engine, asks, sent, find } = stage()
  const other = tool('m1', { callID: 'd', input: { command: 'rm -r .' } })
  engine.apply([...calls, other, asked('p1', 'a'), asked('p2', 'b'), asked('p3', 'd'), asked('p4', 'unknown')])
  await asks.answer(find('p1'), 'once')
  expect(sent).toEqual(['p1 once', 'p2 once'])
  const pending = pendingAsks(engine.newestReply(root) ?? expect.fail('It runs.'))
  expect(pending.map(({ requestID }) => requestID)).toEqual(['p3', 'p4'])
})

test('an ask that changed while the answer was being sent is not allowed', async () => {
  const { engine, asks, sent, find } = stage({
    post: () => engine.apply([asked('p2', 'b', { metadata: { risk: 'high' } })]),
  })
  engine.apply([...calls, asked('p1', 'a'), asked('p2', 'b'), asked('p3', 'c')])
  await asks.answer(find('p1'), 'always')
  expect(sent).toEqual(['p1 always', 'p3 always'])
})

test("an ask that changed since it was read can't be allowed, but can be rejected", async () => {
  const { engine, asks, sent, find } = stage()
  engine.apply([...calls, asked('p1', 'a')])
  const old = find('p1')
  engine.apply([asked('p1', 'a', { patterns: ['rm *'] })])
  await expect(asks.answer(old, 'once')).rejects.toMatchObject({
    type: 'invalid',
    message: expect.stringContaining('has changed since it was read'),
  })
  expect(sent).toEqual([])
  await asks.reject(old)
  expect(sent).toEqual(['p1 reject'])
})

test('a call that differs from the one that was read is not allowed', async () => {
  const { engine, asks, sent, find } = stage()
  engine.apply([...calls, asked('p1', 'a')])
  const old = find('p1')
  engine.apply([tool('m1', { callID: 'a', input: { command: 'rm -r .' } })])
  await expect(asks.answer(old, 'once')).rejects.toMatchObject({ type: 'invalid' })
  expect(sent).toEqual([])
})

test('an ask read before its call was known is answered unseen, and alone', async () => {
  const { engine, asks, sent, find } = stage()
  engine.apply([asked('p1', 'a'), asked('p2', 'b')])
  const unseen = find('p1')
  engine.apply(calls)
  await asks.answer(unseen, 'once')
  expect(sent).toEqual(['p1 once'])
})

test('a rejection is sent to all equal asks', async () => {
  const { engine, asks, sent, find } = stage()
  engine.apply([asked('p1', 'a'), asked('p2', 'b')])
  const unseen = find('p1')
  engine.apply(calls)
  await asks.reject(unseen, 'no')
  expect(sent).toEqual(['p1 reject', 'p2 reject'])
})

test("an ask can be answered again if an equal one's answer did not reach it", async () => {
  let isDown = true
  const post = (requestID: string): void => {
    if (requestID === 'p2' && isDown) throw new ReplyError('unreachable', 'No server answered.')
  }
  const { engine, asks, sent, find } = stage({ post })
  engine.apply([...calls, asked('p1', 'a'), asked('p2', 'b')])
  await expect(asks.answer(find('p1'), 'once')).rejects.toMatchObject({ type: 'unreachable' })
  isDown = false
  await asks.answer(find('p2'), 'once')
  expect(sent).toEqual(['p1 once', 'p2 once', 'p2 once'])
  expect(find('p2').status).toBe('answered')
})

test('an ask that returns after an equal one settled it takes another answer', async () => {
  const { engine, asks, sent, find } = stage({
    post: (requestID) => {
      if (requestID === 'p2') throw new ReplyError('gone', 'There is none.')
    },
  })
  engine.apply([...calls, asked('p1', 'a'), asked('p2', 'b')])
  await asks.answer(find('p1'), 'once')
  await expect(asks.answer(find('p2'), 'once')).rejects.toMatchObject({ type: 'already-resolved' })
  expect(sent).toEqual(['p1 once', 'p2 once', 'p2 once'])
})

test('an ask that changes while its ancestors are looked up is not allowed', async () => {
  const { engine, asks, sent, find, stopping } = stage({
    lookUp: () => {
      const other = permission('p9', 'ses_new', { callID: 'a', patterns: ['rm *'] })
      engine.apply([session('ses_new'), user('u9', { sessionID: 'ses_new' }), busy('ses_new'), other])
    },
  })
  engine.apply([...calls, asked('p1', 'a')])
  const old = { ...find('p1'), requestID: 'p9', sessionID: 'ses_new', path: ['ses_new'] }
  stopping.begin(['ses_another'])
  await expect(asks.answer(old, 'once')).rejects.toMatchObject({ type: 'invalid' })
  expect(sent).toEqual([])
})
