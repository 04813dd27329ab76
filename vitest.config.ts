import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const kinds = ['test', 'full', 'nightly', 'matrix', 'failover']

/** Which files run, by how their names end. `npm test` is what one waits for; the others have scripts of their own. */
const kind = process.env.REPLY_TESTS ?? 'test'
if (!kinds.includes(kind)) throw new Error(`REPLY_TESTS is ${kind}. It must be one of ${kinds.join(', ')}.`)

const root = fileURLToPath(new URL('./packages', import.meta.url))
const packages = readdirSync(root).filter((name) => existsSync(`${root}/${name}/test`))

/** `npm run test:nightly` also runs the property tests of `npm test`, with more values, which are new each day. */
const propertyTestsOf = (name: string): string[] =>
  readdirSync(`${root}/${name}/test`, { encoding: 'utf8', recursive: true })
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => readFileSync(`${root}/${name}/test/${file}`, 'utf8').includes("from 'fast-check'"))
    .map((file) => `packages/${name}/test/${file}`)

const testsOf = (name: string): string[] => [
  `packages/${name}/test/**/*.${kind}.ts`,
  ...(kind === 'nightly' ? propertyTestsOf(name) : []),
]

export default defineConfig({
  resolve: {
    conditions: ['@reply/source'],
    alias: { 'fast-check': fileURLToPath(new URL('./scripts/fast-check.ts', import.meta.url)) },
  },
  ssr: { resolve: { conditions: ['@reply/source', 'node'] } },
  test: {
    // `--project sink` runs one package. Without it all packages are one project, because each project transforms and
    // loads every module anew.
    ...(process.argv.some((argument) => argument.startsWith('--project'))
      ? { projects: packages.map((name) => ({ extends: true as const, test: { name, include: testsOf(name) } })) }
      : { include: packages.flatMap(testsOf) }),
    // To load the modules anew for each file takes as long as all tests.
    isolate: false,
    // More than the two cores that there may be: many tests wait for a real server, which leaves them to others. The servers of the
    // full tests need more of the cores.
    maxWorkers: kind === 'test' ? 5 : 4,
    experimental: { fsModuleCache: true },
    // Only what hangs meets these: no test measures time, and a busy machine takes many times as long as a calm one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
