import { expect, test } from 'vitest'
import { roundTrip } from './round-trip.ts'

test('all recordings come back through AG-UI as they were', async () => {
  const { replies, asks, ...differences } = await roundTrip(() => true)
  expect(differences).toEqual({ text: [], tools: [], children: [], outcome: [], askContents: [] })
  expect(replies).toBeGreaterThan(700)
  expect(asks).toBeGreaterThan(100)
})
