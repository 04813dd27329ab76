import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createAsks } from '../../src/drive/asks/answer-asks.ts'
import { createEngine } from '../../src/drive/engine.ts'
import { createStopping } from '../../src/drive/stop/stopping.ts'
import { type Ask, ReplyError } from '../../src/index.ts'
import { createMessageIDs } from '../../src/source/message-id.ts'
import { capabilitiesOf } from '../../src/source/opencode1/version.ts'
import { permission, root, running, tool } from '../make.ts'

const call = tool('m1', { callID: 'a', input: { command: 'ls' } })

/** Parents over REST: ses_deep below ses_child below the root. */
const parents = new Map([
  ['ses_deep', 'ses_child'],
  ['ses_child', root],
])

function stage() {
  const engine = createEngine(() => {}, 10)
  const sent: string[] = []
  const stopping = createStopping(async ({ sessionID }) => parents.get(sessionID))
  const answer = async (ask: Pick<Ask, 'requestID'>, _: unknown, signal?: AbortSignal) => {
    await Promise.resolve()
    if (signal?.aborted) throw new ReplyError('unreachable', 'Taken back.')
    sent.push(ask.requestID)
  }
  const source = { answer, reject: async () => expect.fail('Nothing is rejected.') }
  const asks = createAsks({ engine, clock: createHandClock() }, source, stopping)
  engine.apply([...running, call, permission('p1', root, { callID: 'a', messageID: 'm1' })])
  const known = engine.newestReply(root)?.asks[0] ?? expect.fail('p1 is asked.')
  return { asks, sent, stopping, known }
}

const resolved = { type: 'already-resolved' }

test('nothing is answered from the moment a stop begins, also in the same tick', async () => {
  const { asks, sent, stopping, known } = stage()
  const before = asks.answer(known, 'once')
  stopping.begin([root])
  await expect(before).rejects.toMatchObject(resolved)
  await expect(asks.answer(known, 'once')).rejects.toMatchObject(resolved)
  expect(sent).toEqual([])
})

test('an ask of a sub-agent known only to REST is not answered either', async () => {
  const { asks, sent, stopping, known } = stage()
  stopping.begin([root])
  const unheard: Ask = { ...known, requestID: 'p2', sessionID: 'ses_deep', path: ['ses_deep'] }
  await expect(asks.answer(unheard, 'once')).rejects.toMatchObject(resolved)
  await asks.answer({ ...unheard, requestID: 'p3', sessionID: 'ses_other', path: ['ses_other'] }, 'once')
  expect(sent).toEqual(['p3'])
})

test('after a successful stop, rejected asks stay closed, and a new run can be answered', async () => {
  const { asks, sent, stopping, known } = stage()
  const stop = stopping.begin([root])
  stop.closeAsk('p0')
  stop.end(true)
  await expect(asks.answer({ ...known, requestID: 'p0' }, 'once')).rejects.toMatchObject(resolved)
  await asks.answer(known, 'once')
  expect(sent).toEqual(['p1'])
})

test('after a failed stop nothing is answered until a new prompt', async () => {
  const { asks, sent, stopping, known } = stage()
  stopping.begin([root]).end(false)
  await expect(asks.answer(known, 'once')).rejects.toMatchObject(resolved)
  await stopping.reopen(root)
  await asks.answer(known, 'once')
  expect(sent).toEqual(['p1'])
})

test('a prompt waits until the stop of its session is over', async () => {
  const { stopping } = stage()
  const stop = stopping.begin([root])
  let isOver = false
  const waiting = stopping.reopen(root).then(() => {
    isOver = true
  })
  await Promise.resolve()
  expect(isOver).toBe(false)
  stop.end(true)
  await waiting
})

test("message ids have OpenCode's form, and keep their order within a millisecond", () => {
  const next = createMessageIDs({
    clock: { now: () => Date.UTC(2026, 10, 22), after: () => () => {} },
    random: () => 0,
  })
  const ids = [next(), next(), next()]
  expect(ids.every((id) => /^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/.test(id))).toBe(true)
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(3)
})

const nextID = () => 'msg_1'

test.each([
  ['1.18.14', false, 25_000],
  ['1.18.15', true, 25_000],
  ['1.19.0', true, 25_000],
  ['2.0.0', true, 25_000],
  ['1.2.27', false, 25_000],
  ['1.1.65', false, 75_000],
  [undefined, false, 75_000],
])('OpenCode %s takes message ids: %s, and may be silent for %d ms', (version, takes, silenceMs) => {
  const health = version === undefined ? undefined : { healthy: true, version }
  expect(capabilitiesOf(health, nextID)).toMatchObject({ nextMessageID: takes ? nextID : undefined, silenceMs })
})
