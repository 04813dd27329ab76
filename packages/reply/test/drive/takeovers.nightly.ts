import { expect, test } from 'vitest'
import { playTakeovers } from './takeovers.ts'

test('each prompt gets its own answer, whatever stops its process', { timeout: 900_000 }, async () => {
  for (let seed = 1000; seed < 1600; seed++) expect(await playTakeovers(seed)).toEqual([])
})
