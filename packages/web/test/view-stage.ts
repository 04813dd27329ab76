import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import type { Browser, Page } from 'playwright-core'
import type { PageRun } from '../src/index.ts'

/** The policy of the pages. `'self'` is the stage's own address. */
export const policy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'",
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
].join('; ')

const address = 'http://stage.test/'

/** A page of a browser with the view of a run. */
export interface ViewStage {
  readonly page: Page
  /** What went wrong in the page: errors, violations of its policy, requests to elsewhere. */
  readonly problems: string[]
  readonly show: (run: PageRun | null, access?: Access, moment?: number) => Promise<void>
}

interface Access {
  readonly who?: string
  readonly mayAnswer: boolean
  readonly mayStop: boolean
  readonly mayAllow: boolean
}

export const fullAccess: Access = { who: 'Ann', mayAnswer: true, mayStop: true, mayAllow: true }

interface StageOptions {
  readonly width?: number
  readonly height?: number
  readonly colorScheme?: 'light' | 'dark'
}

const bundled = bundleStage()

/** Opens a page that shows runs, under the policy of the real one, without a network. */
export async function openViewStage(browser: Browser, options: StageOptions = {}): Promise<ViewStage> {
  const { width = 1280, height = 900, colorScheme = 'light' } = options
  const { script, style } = await bundled
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  await page.route('**/*', async (route) => {
    const url = route.request().url()
    if (url === address)
      return await route.fulfill({
        contentType: 'text/html; charset=utf-8',
        headers: { 'content-security-policy': policy },
        body: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>reply</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="stylesheet" href="/style.css"></head><body><div id="app"></div><script type="module" src="/script.js"></script></body></html>`,
      })
    if (url === `${address}script.js`) return await route.fulfill({ contentType: 'text/javascript', body: script })
    if (url === `${address}style.css`) return await route.fulfill({ contentType: 'text/css', body: style })
    if (url !== `${address}favicon.ico`) problems.push(`request: ${url}`)
    return await route.abort()
  })
  await page.goto(address)
  const show = async (run: PageRun | null, access?: Access, moment?: number): Promise<void> => {
    // Two frames: rows that were measured in the first are placed in the second.
    await page.evaluate(`window.stage.show(${JSON.stringify(run)}, ${JSON.stringify(access)}, ${moment})
      new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))`)
  }
  return { page, problems, show }
}

async function bundleStage(): Promise<{ readonly script: string; readonly style: string }> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('../page/stage/main.tsx', import.meta.url))],
    ...{ bundle: true, write: false, outdir: 'out', format: 'esm', target: 'es2022', minify: true },
    ...{ jsx: 'automatic', jsxImportSource: 'preact', conditions: ['@reply/source'], logLevel: 'silent' },
    define: { 'process.env.NODE_ENV': '"production"' },
  })
  const fileOf = (ending: string): string => outputFiles.find(({ path }) => path.endsWith(ending))?.text ?? ''
  return { script: fileOf('.js'), style: fileOf('.css') }
}
