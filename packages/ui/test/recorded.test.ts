import { type Reply, textOf } from '@reply/core'
import { describe, expect, test } from 'vitest'
import { uiTextOf } from '../src/client.ts'
import { createUIProjection, type UIChunk } from '../src/index.ts'
import { messageOf, recordedStreams, statesOf } from './recorded.ts'

/** All chunks that one reader gets. */
function chunksOf(states: readonly Reply[]): readonly UIChunk[] {
  const projection = createUIProjection({ stopAtAsks: false })
  const chunks = states.flatMap((reply) => projection.next(reply))
  expect(projection.ended).toBe(true)
  return chunks
}

const streams = recordedStreams().map(
  (stream) => [`${stream.version}/${stream.scenario}${stream.global ? ' (global)' : ''}`, stream] as const,
)

describe('the AI SDK 6 shows the text of every recorded reply', () => {
  test.each(streams)('%s: live, late and from the middle', async (_, stream) => {
    for (const states of await statesOf(stream)) {
      // A message ends when its reply settles, even if the reply is amended later.
      const end = states.findIndex(({ phase }) => phase === 'settled')
      const settled = states[end]
      if (!settled) throw new Error('The reply never settled.')
      const live = states.slice(0, end + 1)
      for (const seen of [live, live.slice(-1), live.slice(Math.floor(live.length / 2))])
        expect(uiTextOf(await messageOf(chunksOf(seen)))).toBe(textOf(settled))
    }
  })
})
