// The tests' fast-check. `npm test` tries the same values each time, so that a failure comes from the change under
// test, and at most 300 of a property. `npm run test:nightly` tries as many as the property asks for, new ones each day, from
// a printed seed.
import fc from '../node_modules/fast-check/lib/fast-check.js'
import { firstSeed } from './first-seed.ts'

const variable = 'REPLY_FAST_CHECK_SEED'
const { REPLY_TESTS: kind = 'test' } = process.env
const isFixed = kind !== 'nightly' && process.env[variable] === undefined
fc.configureGlobal({ seed: isFixed ? 1 : firstSeed(variable) })

const mostRuns = kind === 'test' ? 300 : Number.POSITIVE_INFINITY
/** Like fast-check's own `assert`, but runs the property at most `mostRuns` times. Default: 100. */
const assert: typeof fc.assert = (property, { numRuns = 100, ...parameters } = {}) =>
  fc.assert(property, { ...parameters, numRuns: Math.min(numRuns, mostRuns) })

export * from '../node_modules/fast-check/lib/fast-check.js'
export default { ...fc, assert }
