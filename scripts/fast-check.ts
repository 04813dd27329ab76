// The tests' fast-check. `npm test` tries the same values each time, so that a failure comes from the change under
// test; `npm run test:nightly` tries new ones each day, from a printed seed.
import fc from '../node_modules/fast-check/lib/fast-check.js'

const isNightly = process.env.REPLY_TESTS === 'nightly'
const today = Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''))
const seed = Number(process.env.REPLY_FAST_CHECK_SEED ?? (isNightly ? today : 1))
if (isNightly) console.log(`REPLY_FAST_CHECK_SEED=${seed}`)
fc.configureGlobal({ seed })

export * from '../node_modules/fast-check/lib/fast-check.js'
export default fc
