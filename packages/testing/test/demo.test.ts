import { expect, test } from 'vitest'
import { demoScenarios, startDemo, TestingError } from '../src/index.ts'

test('an unknown scenario is refused with the names of the known ones', async () => {
  await expect(startDemo({ scenario: 'nope' })).rejects.toThrow(TestingError)
  await expect(startDemo({ scenario: 'nope' })).rejects.toThrow(demoScenarios.map((each) => each.name).join(', '))
})
