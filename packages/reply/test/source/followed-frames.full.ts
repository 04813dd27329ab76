import { openCode2Version } from '@reply/testing'
import { describe, test } from 'vitest'
import { disguise, expectSameSteps, expectSameStepsInEach, mixedStreams } from './followed-frames.ts'

const versions = [
  ['1.18.33', 1],
  [openCode2Version, 2],
] as const

// `followed-frames.nightly.ts` has the versions before, and each frame in each form.
describe('without the frames of other sessions, a session has the same changes', () => {
  test.each(versions)('in each recording of %s', (version) => expectSameStepsInEach(version))

  test.each(versions)('in recordings of %s that are mixed, in several forms', (version, generation) => {
    for (const [shift, frames] of mixedStreams(version).entries())
      expectSameSteps(
        frames.map((frame, at) => disguise(frame, (at + shift) % 4)),
        generation,
      )
  })
})
