import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import projects from './vitest.workspace.ts'

export default defineConfig({
  resolve: {
    conditions: ['@reply/source'],
    alias: { 'fast-check': fileURLToPath(new URL('./scripts/fast-check.ts', import.meta.url)) },
  },
  ssr: { resolve: { conditions: ['@reply/source', 'node', 'import', 'module', 'default'] } },
  test: {
    projects,
    // To load the modules anew for each file takes as long as all tests.
    isolate: false,
    // More than the two cores that there may be: many tests wait for a real server, which leaves them to others.
    maxWorkers: 3,
    // Only what hangs meets these: no test measures time, and a busy machine takes many times as long as a calm one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
  },
})
