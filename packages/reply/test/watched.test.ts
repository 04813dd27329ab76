import { lasting, listRecordings, readRecording, recordedVersions } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { replay } from '../src/index.ts'

/** While a recording was made, a live `watch` on the same server came to replies of its own. */
const watched = listRecordings()
  .map(({ version, scenario }) => readRecording({ version, scenario }))
  .filter((recording) => recording.watched !== undefined)
  // `/event` ends with its instance. Up to 1.14 the end of a run comes after that, and only `/global/event`, which the watch heard, tells it.
  .filter(({ bytes, scenario }) => scenario !== 'disposed' || tellsAbort(bytes))

test('what a live watch saw was stored with every version', () =>
  expect([...new Set(watched.map(({ version }) => version))]).toEqual([...recordedVersions]))

describe('replay comes to the same replies as the live watch', () => {
  test.each(watched.map((recording) => [`${recording.version}/${recording.scenario}`, recording] as const))(
    '%s',
    async (_, recording) => {
      const replies = await replay(recording.bytes)
      expect(JSON.parse(JSON.stringify(replies.map(lasting)))).toEqual(lasting(recording.watched))
    },
  )
})

function tellsAbort(bytes: Uint8Array): boolean {
  return new TextDecoder().decode(bytes).includes('MessageAbortedError')
}
