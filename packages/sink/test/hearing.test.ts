import { createHandClock } from '@reply/testing'
import { expect, test } from 'vitest'
import { createHearing, type Hearing } from '../src/inbound/hearing.ts'

function watch() {
  const clock = createHandClock()
  const told: Hearing[] = []
  const errors: Error[] = []
  const hearing = createHearing({
    onHearing: (state) => void told.push(state),
    onError: (error) => void errors.push(error),
    clock,
  })
  return { clock, told, errors, hearing }
}

const broken = new Error('The platform is away.')
const wrong = new Error('The token is wrong.')

test('an interruption of less than a minute is not told', async () => {
  const { clock, told, hearing } = watch()
  hearing.heard()
  expect(hearing.failed(broken)).toBe(1000)
  await clock.advance(59_000)
  expect(hearing.failed(broken)).toBe(2000)
  hearing.heard()
  expect(told).toEqual([{ status: 'hearing' }])
})

test('a minute without success is told once, with its beginning; so is its end', async () => {
  const { clock, told, hearing } = watch()
  const since = clock.now()
  hearing.failed(broken)
  for (let tries = 0; tries < 3; tries++) {
    await clock.advance(60_000)
    hearing.failed(broken)
  }
  hearing.heard()
  hearing.heard()
  expect(told).toEqual([{ status: 'deaf', since, reason: broken.message }, { status: 'hearing' }])
})

test('a refusal is told at once, and tried again at most every five minutes, for ever', async () => {
  const { told, hearing } = watch()
  const waits = Array.from({ length: 9 }, () => hearing.refused(wrong))
  expect(waits).toEqual([5000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000])
  expect(told).toMatchObject([{ status: 'deaf', reason: wrong.message }])
})

test('what the host throws is reported', () => {
  const { clock, errors } = watch()
  const hearing = createHearing({
    onHearing: () => {
      throw broken
    },
    onError: (error) => void errors.push(error),
    clock,
  })
  hearing.heard()
  expect(errors).toEqual([broken])
})

test('hearing for a moment between refusals does not make the tries faster, hearing for a minute does', async () => {
  const { clock, hearing } = watch()
  const waits = []
  for (let tries = 0; tries < 3; tries++) {
    hearing.heard()
    waits.push(hearing.refused(wrong))
  }
  hearing.heard()
  await clock.advance(60_000)
  hearing.heard()
  expect([...waits, hearing.refused(wrong)]).toEqual([5000, 10_000, 20_000, 5000])
})
