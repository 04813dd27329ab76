import { describe, test } from 'vitest'
import { disguise, expectSameSteps, expectSameStepsInEach, mixedStreams, recordedStreams } from './followed-frames.ts'

const versions = [...new Map(recordedStreams.map(({ version, generation }) => [version, generation]))]

describe('without the frames of other sessions, a session has the same changes', () => {
  test.each(versions)('in each recording of %s', (version) => expectSameStepsInEach(version))

  test.each(versions)('in recordings of %s that are mixed, in any form', (version, generation) => {
    for (const frames of mixedStreams(version))
      for (const shift of [0, 1, 2, 3])
        expectSameSteps(
          frames.map((frame, at) => disguise(frame, (at + shift) % 4)),
          generation,
        )
  })
})
