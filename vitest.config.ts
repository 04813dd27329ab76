import { defineConfig } from 'vitest/config'
import projects from './vitest.workspace.ts'

export default defineConfig({
  resolve: { conditions: ['@reply/source'] },
  ssr: { resolve: { conditions: ['@reply/source', 'node', 'import', 'module', 'default'] } },
  // More than the two cores that there may be: many tests wait for a real server, which leaves them to others.
  test: { projects, maxWorkers: 3 },
})
