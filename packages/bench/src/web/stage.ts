import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'

export type { Browser, Page } from 'playwright-core'

/** Where Chromium is. `CHROMIUM_PATH` overrides it. */
const chromiumPath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

/** Returns what is missing to measure pages, and how to get it. */
export function lackingChromium(): string | undefined {
  if (existsSync(chromiumPath)) return undefined
  return 'Chromium is missing: install it (on Debian `apt-get install chromium`), or set CHROMIUM_PATH to one.'
}

const address = 'http://stage.test/'

/** Opens a page with the view of a run, as `packages/web/page/stage` has it, and calls `use` with it. */
export async function withStage<T>(use: (page: Page, browser: Browser) => Promise<T>): Promise<T> {
  const files = await bundle()
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--no-first-run'],
  })
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
    await page.route('**/*', async (route) => {
      const name = route.request().url().slice(address.length)
      const file = files.get(name)
      return file ? await route.fulfill(file) : await route.abort()
    })
    const errors: string[] = []
    page.on('pageerror', ({ message }) => errors.push(message))
    await page.goto(address)
    const result = await use(page, browser)
    if (errors.length > 0) throw new Error(`The page failed: ${errors[0]}`)
    return result
  } finally {
    await browser.close()
  }
}

interface PageFile {
  readonly contentType: string
  readonly body: string
}

async function bundle(): Promise<ReadonlyMap<string, PageFile>> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../../../web/page/stage/main.tsx', import.meta.url))],
    ...{ bundle: true, write: false, outdir: 'out', format: 'esm', target: 'es2022', minify: true },
    ...{ jsx: 'automatic', jsxImportSource: 'preact', conditions: ['@reply/source'], logLevel: 'silent' },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const fileOf = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
  const body =
    '<!doctype html><html lang="en"><meta charset="utf-8"><link rel="stylesheet" href="style.css"><div id="app"></div><script type="module" src="script.js"></script></html>'
  return new Map([
    ['', { contentType: 'text/html', body }],
    ['script.js', { contentType: 'text/javascript', body: fileOf('.js') }],
    ['style.css', { contentType: 'text/css', body: fileOf('.css') }],
  ])
}
