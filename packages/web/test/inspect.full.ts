import { describe, test } from 'vitest'
import { expectMoments, recordings } from './inspect-recordings.ts'

describe('at each moment of every recording, the inspector has the replies of a replay up to there', () => {
  test.each(recordings.map((one) => [one.name, one] as const))('%s', async (_, { read }) => await expectMoments(read()))
})
