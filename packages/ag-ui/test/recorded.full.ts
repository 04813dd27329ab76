import { expect, test } from 'vitest'
import { showRecordings } from './show-recordings.ts'

test('all recordings fit the schemas, the order and the text of the peer', async () => {
  const counts = await showRecordings(() => true)
  expect(counts).toMatchObject({ otherText: [], openCalls: [] })
  expect(counts.replies).toBeGreaterThan(700)
  // Text is taken back in some of them, which takes a snapshot besides those that begin a resumed run.
  expect(counts.snapshots).toBeGreaterThan(counts.interrupted)
})
