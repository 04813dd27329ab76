#!/usr/bin/env node
// Plain JavaScript, so that it can report a missing build.
import { existsSync } from 'node:fs'

const built = new URL('../dist/main.js', import.meta.url)

if (!existsSync(built)) {
  process.stderr.write('reply-tools: it is not built yet: run `npm run setup` in the repository first.\n')
  process.exitCode = 2
} else {
  const { main } = await import(built.href)
  const { stdin, stdout, stderr } = process
  process.exitCode = await main(process.argv.slice(2), { stdin, stdout, stderr, directory: process.cwd() })
}
