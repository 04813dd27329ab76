import { expect, test } from 'vitest'
import { roundTrip } from './round-trip.ts'

test('every eighth recording comes back through AG-UI as it was', async () => {
  const { replies, asks, ...differences } = await roundTrip((_, index) => index % 8 === 0)
  expect(differences).toEqual({ text: [], tools: [], children: [], outcome: [], askContents: [] })
  expect(replies).toBeGreaterThan(60)
  expect(asks).toBeGreaterThan(10)
})
