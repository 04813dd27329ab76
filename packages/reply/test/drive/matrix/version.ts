import { scenarios, scenariosOf } from '@reply/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { compare } from './compare.ts'
import { playScenario } from './play.ts'
import { writeResult } from './results.ts'

/** Names, separated by commas; default all. */
const wanted = process.env.REPLY_MATRIX_SCENARIOS?.split(',')

/** Plays every scenario on a version and writes how many matched the server, for `docs/compatibility.md`. */
export function testVersion(version: string): void {
  const isChosen = ({ name }: { readonly name: string }): boolean => wanted?.includes(name) ?? true
  const supported = scenariosOf(version).filter(isChosen)
  const failed: Record<string, string> = {}
  let passed = 0

  describe(`OpenCode ${version}, through prompt() and watch()`, () => {
    test.each(supported.map((scenario) => [scenario.name, scenario] as const))(
      '%s',
      { timeout: 180_000 },
      async (name, scenario) => {
        const problems = await playScenario(version, scenario)
          .then((run) => compare(version, name, run))
          .catch((error: unknown) => [error instanceof Error ? error.message : String(error)])
        if (problems[0] === undefined) passed += 1
        else failed[name] = problems[0]
        expect(problems).toEqual([])
      },
    )
  })

  afterAll(() => {
    if (wanted || passed + Object.keys(failed).length < supported.length) return
    const leftOut = scenarios.filter((scenario) => !supported.includes(scenario)).length
    const result = { version, scenarios: supported.length, passed, leftOut, failed }
    writeResult(version, result)
  })
}
