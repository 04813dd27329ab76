import { test } from 'vitest'
import { disguise, expectSameSteps, mixedStreams, recordedStreams } from './followed-frames.ts'

const versions = [...new Map(recordedStreams.map(({ version, generation }) => [version, generation]))]

test.each(versions)(
  'without the frames of other sessions, a session has the same changes in recordings of %s that are mixed, in any form',
  (version, generation) => {
    for (const frames of mixedStreams(version))
      for (const shift of [0, 1, 2, 3])
        expectSameSteps(
          frames.map((frame, at) => disguise(frame, (at + shift) % 4)),
          generation,
        )
  },
)
