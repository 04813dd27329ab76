import { defineConfig } from 'vitest/config'
import projects from './vitest.workspace.ts'

export default defineConfig({
  resolve: { conditions: ['@reply/source'] },
  ssr: { resolve: { conditions: ['@reply/source', 'node', 'import', 'module', 'default'] } },
  test: { projects },
})
