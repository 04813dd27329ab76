// The tests' fast-check. `npm test` tries the same values each time, so that a failure comes from the change under
// test; `npm run test:nightly` tries new ones each day, from a printed seed.
import fc from '../node_modules/fast-check/lib/fast-check.js'
import { firstSeed } from './first-seed.ts'

const variable = 'REPLY_FAST_CHECK_SEED'
const isFixed = process.env.REPLY_TESTS !== 'nightly' && process.env[variable] === undefined
fc.configureGlobal({ seed: isFixed ? 1 : firstSeed(variable) })

export * from '../node_modules/fast-check/lib/fast-check.js'
export default fc
