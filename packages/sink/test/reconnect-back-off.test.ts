import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createInboundMonitor, type InboundStatus } from '../src/inbound/reconnect-back-off.ts'

function watch() {
  const clock = createHandClock()
  const told: InboundStatus[] = []
  const errors: Error[] = []
  const monitor = createInboundMonitor({
    onInboundStatus: (state) => void told.push(state),
    onError: (error) => void errors.push(error),
    clock,
  })
  return { clock, told, errors, monitor }
}

const broken = new Error('The platform is away.')
const wrong = new Error('The token is wrong.')

test('an interruption of less than a minute is not told', async () => {
  const { clock, told, monitor } = watch()
  monitor.succeeded()
  expect(monitor.failed(broken)).toBe(1000)
  await clock.advance(59_000)
  expect(monitor.failed(broken)).toBe(2000)
  monitor.succeeded()
  expect(told).toEqual([{ status: 'receiving' }])
})

test('a minute without success is told once, with its beginning; so is its end', async () => {
  const { clock, told, monitor } = watch()
  const since = clock.now()
  monitor.failed(broken)
  for (let tries = 0; tries < 3; tries++) {
    await clock.advance(60_000)
    monitor.failed(broken)
  }
  monitor.succeeded()
  monitor.succeeded()
  expect(told).toEqual([{ status: 'disconnected', since, reason: broken.message }, { status: 'receiving' }])
})

test('a refusal is told at once, and tried again at most every five minutes, for ever', async () => {
  const { told, monitor } = watch()
  const waits = Array.from({ length: 9 }, () => monitor.refused(wrong))
  expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000])
  expect(told).toMatchObject([{ status: 'disconnected', reason: wrong.message }])
})

test('what the host throws is reported', () => {
  const { clock, errors } = watch()
  const monitor = createInboundMonitor({
    onInboundStatus: () => {
      throw broken
    },
    onError: (error) => void errors.push(error),
    clock,
  })
  monitor.succeeded()
  expect(errors).toEqual([broken])
})

test('hearing for a moment between refusals does not make the tries faster, hearing for a minute does', async () => {
  const { clock, monitor } = watch()
  const waits = []
  for (let tries = 0; tries < 3; tries++) {
    monitor.succeeded()
    waits.push(monitor.refused(wrong))
  }
  monitor.succeeded()
  await clock.advance(60_000)
  monitor.succeeded()
  expect([...waits, monitor.refused(wrong)]).toEqual([5000, 10_000, 20_000, 5000])
})

test('after another start each status is told again, and earlier failures count for nothing', async () => {
  const { clock, told, monitor } = watch()
  monitor.started()
  monitor.succeeded()
  monitor.started()
  monitor.succeeded()
  expect(told).toEqual([{ status: 'receiving' }, { status: 'receiving' }])
  monitor.failed(broken)
  await clock.advance(60_000)
  monitor.started()
  expect(monitor.failed(broken)).toBe(1000)
  expect(told).toHaveLength(2)
  monitor.refused(wrong)
  monitor.started()
  expect(monitor.refused(wrong)).toBe(5000)
})
