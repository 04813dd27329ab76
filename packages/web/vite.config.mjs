import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/** Builds the page into `dist/page`: one HTML file, and scripts and styles whose names change with their content. */
export default defineConfig({
  root: fileURLToPath(new URL('page', import.meta.url)),
  // Addresses of scripts and styles are relative, so that the pages work below any path of a proxy.
  base: './',
  // The page's own sources and those of the packages that it uses, so that it needs no build of them.
  resolve: { conditions: ['@reply/source', 'module', 'browser', 'default'] },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    rollupOptions: {
      input: ['r', 'desk', 'inspect'].map((name) => fileURLToPath(new URL(`page/${name}/index.html`, import.meta.url))),
    },
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
  logLevel: 'warn',
})
