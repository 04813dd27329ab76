import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'
import page from './vite.config.mjs'

/** Builds the inspector into `dist/inspect-file`: one script and one style, which `inspectFile` writes into a single HTML file. */
export default defineConfig({
  ...page,
  build: {
    ...page.build,
    outDir: '../dist/inspect-file',
    cssCodeSplit: false,
    rollupOptions: {
      input: fileURLToPath(new URL('page/inspect/main.tsx', import.meta.url)),
      output: {
        format: 'iife',
        entryFileNames: 'inspect.js',
        assetFileNames: 'inspect[extname]',
      },
    },
  },
})
