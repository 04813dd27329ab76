import { emptyReply } from '@reply/core'
import { expect, test } from 'vitest'
import { listText, logText, notFoundText, statusText } from '../src/commands/list-status-logs-resend.ts'
import type { Execution } from '../src/state/execution.ts'
import { statusOf } from '../src/state/execution.ts'

const startedAt = Date.UTC(2026, 1, 24, 8, 0, 1)

const execution = (change: Partial<Execution> = {}): Execution => ({
  id: 'abc123',
  prompt: {
    ...{ id: '1', channel: 'tg', chat: { id: '7' }, actor: { id: '7', name: 'Ann' }, text: 'Hi', files: [] },
    ...{ isCommand: false, messageRef: { id: '1' }, receivedAt: startedAt },
  },
  ...{ server: 'home', phase: 'posting', status: 'running', startedAt },
  ...change,
})

test('a running execution says how long, and what came last', () => {
  const now = startedAt + 42_000
  expect(statusText(execution(), now, { from: 'stdout', text: 'Reading the cart' })).toBe(
    '⏳ Running (42s) · abc123\nLast output: Reading the cart',
  )
  expect(statusText(execution(), now, undefined)).toBe('⏳ Running (42s) · abc123\nLast output: none yet')
})

test('a finished one says when', () => {
  const finished = execution({ status: 'complete', phase: 'done', finishedAt: startedAt + 12_000 })
  expect(statusText(finished, startedAt + 99_000, undefined)).toBe(
    '✅ Complete (12s) · abc123\nFinished: 2026-02-24T08:00:13Z',
  )
})

test('a failed one says why', () => {
  const failed = execution({
    status: 'error',
    phase: 'done',
    finishedAt: startedAt + 5000,
    reason: 'The provider failed',
  })
  expect(statusText(failed, startedAt, undefined)).toBe('❌ Error (5s) · abc123\nReason: The provider failed')
})

test('a stopped execution is not called an error', () => {
  const aborted = { ...emptyReply('ses_1'), phase: 'settled', outcome: 'aborted' } as const
  const stopped = execution({ ...statusOf(aborted), phase: 'done', finishedAt: startedAt + 5000 })
  expect(statusText(stopped, startedAt, undefined)).toBe('⏹️ Stopped (5s) · abc123\nReason: Aborted')
  expect(listText([stopped])).toContain('• abc123 ⏹️ Stopped 08:00:06Z')
})

test('the list has a line each, and an unknown id is named', () => {
  const complete = execution({ status: 'complete', finishedAt: startedAt })
  expect(listText([complete])).toBe('Recent executions (this chat):\n• abc123 ✅ Complete 08:00:01Z')
  expect(notFoundText('abc123')).toBe('Unknown execution ID: abc123')
})

test('logs name where each line is from', () => {
  const lines = [{ from: 'stdout', text: 'It works' } as const, { from: 'stderr', text: 'exit 1' } as const]
  expect(logText('abc123', lines)).toBe('[stdout] It works\n[stderr] exit 1')
})
