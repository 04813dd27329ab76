import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vite'

/**
 * Leaves marked's lexer and tokenizer, which are all that the pages use. marked also makes a parser when it is loaded, which no
 * bundler drops. Code that does not look like that stays as it is.
 */
const lexerOfMarked = {
  name: 'lexer-of-marked',
  transform(code, id) {
    if (!id.endsWith('/marked/lib/marked.esm.js')) return undefined
    const instance = /;var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\(/.exec(code)
    const names = ['Lexer', 'Tokenizer'].map((name) => new RegExp(`[{,](\\w+ as ${name})[,}]`).exec(code)?.[1])
    if (!instance || names.includes(undefined)) return undefined
    return { code: `${code.slice(0, instance.index)};export{${names.join(',')}};`, map: null }
  },
}

/** Builds the page into `dist/page`: one HTML file, and scripts and styles whose names change with their content. */
export default defineConfig({
  root: fileURLToPath(new URL('page', import.meta.url)),
  // Addresses of scripts and styles are relative, so that the pages work below any path of a proxy.
  base: './',
  plugins: [lexerOfMarked],
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
