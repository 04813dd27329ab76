import { lasting, listRecordings, readRecording, recordedVersions } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { replay } from '../src/index.ts'

/** The replies of a live `watch` on the same server during a recording. */
const watched = listRecordings()
  .map(({ version, scenario }) => readRecording({ version, scenario }))
  .filter((recording) => recording.watched !== undefined)
  // `/event` ends with its instance. Up to 1.14 the end of a run comes later, and only on `/global/event`, which the
  // watch used.
  .filter(({ bytes, scenario }) => scenario !== 'disposed' || tellsAbort(bytes))

test('the replies of a live watch are stored for every version', () =>
  expect([...new Set(watched.map(({ version }) => version))]).toEqual([...recordedVersions]))

describe('replay gives the same replies as the live watch', () => {
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
