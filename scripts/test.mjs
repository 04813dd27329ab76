// `node scripts/test.mjs KIND [ARGUMENTS…]` runs the tests whose files end in `.KIND.ts`: full, nightly, matrix
// or failover.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const [kind, ...rest] = process.argv.slice(2)

if (!['full', 'nightly', 'matrix', 'failover'].includes(kind)) {
  process.stderr.write(`"${kind ?? ''}" is not a kind of test run: give full, nightly, matrix or failover.\n`)
  process.exit(2)
}
const peers = ['full', 'nightly'].includes(kind) ? ['--peers'] : []
if (!runNode(join(root, 'scripts/setup.mjs'), ...peers)) process.exit(1)
const isGreen = runNode(join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...rest)
// Writes down what a whole nightly or matrix run found, also when something failed.
const isWritten =
  !['nightly', 'matrix'].includes(kind) || rest.length > 0 || runNode(join(root, 'scripts/compatibility.mjs'))
process.exit(isGreen && isWritten ? 0 : 1)

/** Runs a script with `REPLY_TESTS` set to this kind of tests. Returns whether it succeeded. */
function runNode(script, ...args) {
  const env = { ...process.env, REPLY_TESTS: kind }
  return spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: 'inherit', env }).status === 0
}
