import { expect, test } from 'vitest'
import { createMemory } from '../../src/source/opencode2/decode/memory.ts'

test('of many sessions, the one that was quiet longest is forgotten', () => {
  const memory = createMemory()
  const [used, quiet] = [memory.of('used'), memory.of('quiet')]
  for (let other = 0; other < 4998; other++) memory.of(`ses_${other}`)
  expect(memory.of('used')).toBe(used)
  memory.of('one more')
  expect(memory.of('used')).toBe(used)
  expect(memory.of('quiet')).not.toBe(quiet)
})

test('a session that was forgotten is a new one at once', () => {
  const memory = createMemory()
  const before = memory.of('ses_a')
  memory.forget('ses_a')
  expect(memory.of('ses_a')).not.toBe(before)
})
