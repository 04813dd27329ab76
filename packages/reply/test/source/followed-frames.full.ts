import { describe, test } from 'vitest'
import { disguise, expectSameSteps, framesOf, mixedStreams, recordedStreams } from './followed-frames.ts'

const versions = [...new Map(recordedStreams.map(({ version, generation }) => [version, generation]))]

describe('without the frames of other sessions, a session has the same changes', () => {
  test.each(versions)('in each recording of %s', (version, generation) => {
    for (const one of recordedStreams) if (one.version === version) expectSameSteps(framesOf(one), generation)
  })

  // `followed-frames.nightly.ts` has each frame in each form.
  test.each(versions)('in recordings of %s that are mixed, in several forms', (version, generation) => {
    for (const [shift, frames] of mixedStreams(version).entries())
      expectSameSteps(
        frames.map((frame, at) => disguise(frame, (at + shift) % 4)),
        generation,
      )
  })
})
