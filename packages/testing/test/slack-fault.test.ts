import { expect, test } from 'vitest'
import type { SlackFault } from '../src/slack/index.ts'
import { until, workspace } from './workspace.ts'

const post = { channel: 'C1', text: 'x' }

test.each<[SlackFault, number | undefined, object]>([
  [{ type: 'rate-limited', retryAfterS: 9 }, 0, { status: 429, retryAfter: '9' }],
  [{ type: 'error', error: 'fatal_error' }, 0, { status: 200, error: 'fatal_error' }],
  [{ type: 'error', error: 'fatal_error', isTaken: true }, 1, { status: 200, error: 'fatal_error' }],
])('%j gets its answer and has its effect', async (fault, count, answer) => {
  const { call, slack } = await workspace({ faults: [fault] })
  expect(await call('chat.postMessage', post)).toMatchObject(answer)
  expect(slack.screen('C1')).toHaveLength(count ?? 0)
  expect(slack.calls).toMatchObject([{ method: 'chat.postMessage', fault: fault.type }])
})

test.each<[SlackFault, number]>([
  [{ type: 'status', code: 503 }, 0],
  [{ type: 'status', code: 504, isTaken: true }, 1],
  [{ type: 'html' }, 0],
  [{ type: 'refuse' }, 0],
  [{ type: 'accept-then-drop' }, 1],
])('%j gets no readable answer', async (fault, count) => {
  const { call, slack } = await workspace({ faults: [fault] })
  await expect(call('chat.postMessage', post)).rejects.toThrow()
  expect(slack.screen('C1')).toHaveLength(count)
})

test.each<[SlackFault, number]>([
  [{ type: 'stall' }, 0],
  [{ type: 'accept-then-stall' }, 1],
])('%j is never answered', async (fault, count) => {
  const { call, slack } = await workspace({ faults: [fault] })
  const waiting = call('chat.postMessage', post).catch(() => 'broken off')
  await until(() => slack.calls.length === 1 && slack.screen('C1').length === count)
  await slack.close()
  expect(await waiting).toBe('broken off')
})

test('a delayed call is executed later, by the clock', async () => {
  const { call, slack, clock } = await workspace({ faults: [{ type: 'delay', delayMs: 5000 }] })
  const posted = call('chat.postMessage', post)
  await until(() => slack.calls.length === 1)
  expect(slack.screen('C1')).toEqual([])
  await clock.advance(5000)
  expect((await posted).ok).toBe(true)
})

test('a fault applies to the calls that it matches, from the nth on', async () => {
  const faults: readonly SlackFault[] = [
    { type: 'error', error: 'odd', method: /^chat/, channel: 'C2', nth: 2, times: 1 },
  ]
  const { call, slack } = await workspace({ faults })
  const results: unknown[] = []
  for (const channel of ['C1', 'C2', 'C2', 'C3'])
    results.push((await call('chat.postMessage', { ...post, channel })).error)
  expect(results).toEqual([undefined, undefined, 'odd', undefined])
  slack.inject({ type: 'error', error: 'later' })
  expect((await call('auth.test')).error).toBe('later')
})
