import { expect, test } from 'vitest'
import { showRecordings } from './show-recordings.ts'

test('every eighth recording fits the schemas, the order and the text of the peer', async () => {
  const counts = await showRecordings((_, index) => index % 8 === 0)
  expect(counts).toMatchObject({ otherText: [], openCalls: [] })
  expect(counts.replies).toBeGreaterThan(60)
  expect(counts.interrupted).toBeGreaterThan(20)
})
