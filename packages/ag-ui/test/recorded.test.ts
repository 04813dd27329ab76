import { expect, test } from 'vitest'
import { showRecordings } from './show-recordings.ts'

test('every twelfth recording fits the schemas, the order and the text of the peer', async () => {
  const counts = await showRecordings((_, index) => index % 12 === 0)
  expect(counts).toMatchObject({ otherText: [], openCalls: [] })
  expect(counts.replies).toBeGreaterThan(40)
  expect(counts.interrupted).toBeGreaterThan(10)
})
