// What tests import as fast-check. `npm test` tries the same values each time, so that it fails for whoever broke it;
// `npm run test:nightly` tries new ones each day, by a seed that is printed.
import fc from '../node_modules/fast-check/lib/fast-check.js'

const isNightly = process.env.REPLY_TESTS === 'nightly'
const today = Number(new Date().toISOString().slice(0, 10).replaceAll('-', ''))
const seed = Number(process.env.REPLY_FAST_CHECK_SEED ?? (isNightly ? today : 1))
if (isNightly) console.log(`REPLY_FAST_CHECK_SEED=${seed}`)
fc.configureGlobal({ seed })

export * from '../node_modules/fast-check/lib/fast-check.js'
export default fc
