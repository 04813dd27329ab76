#!/usr/bin/env node
// Plain JavaScript, so that it can report a missing build.
import { existsSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const built = new URL('../dist/node/cli/main.js', import.meta.url)

if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`reply: Node ${process.versions.node} is too old: it needs 20.19 or newer.\n`)
  process.exitCode = 2
} else if (!existsSync(built)) {
  process.stderr.write('reply: it is not built yet: run `npm run setup` in the repository first.\n')
  process.exitCode = 2
} else {
  const { main, processIO } = await import(built.href)
  const code = await main(process.argv.slice(2), processIO())
  // The output is flushed. Exit without waiting for lingering sockets.
  process.stdout.write('', () => process.exit(code))
}
