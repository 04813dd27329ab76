import { lasting, listRecordings, readRecording } from '@reply/testing'
import { describe, expect, test } from 'vitest'
import { replay } from '../src/index.ts'

/** While a recording was made, a live `watch` on the same server came to replies of its own. */
const watched = listRecordings()
  .map(({ version, scenario }) => readRecording({ version, scenario }))
  .filter((recording) => recording.watched !== undefined)

test('what a live watch saw was stored', () => expect(watched.length).toBeGreaterThan(0))

describe('replay comes to the same replies as the live watch', () => {
  test.each(watched.map((recording) => [`${recording.version}/${recording.scenario}`, recording] as const))(
    '%s',
    async (_, recording) => {
      const replies = await replay(recording.bytes)
      expect(JSON.parse(JSON.stringify(replies.map(lasting)))).toEqual(lasting(recording.watched))
    },
  )
})
