import { defineConfig } from 'vitest/config'
import projects from './vitest.workspace.ts'

export default defineConfig({
  resolve: { conditions: ['@reply/source'] },
  ssr: { resolve: { conditions: ['@reply/source', 'node', 'import', 'module', 'default'] } },
  // Vitest's own default leaves a core idle, which on two of them is half of the machine.
  test: { projects, maxWorkers: 2 },
})
