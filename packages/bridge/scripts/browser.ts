import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Where Chromium usually is. `CHROMIUM_PATH` overrides it. */
const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** Flags that keep it from calling its vendor's servers, and let it run in a container. */
const flags = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/**
 * Starts a headless Chromium with a new profile, which is removed when it closes. `more` are further flags. Rejects if there is
 * no Chromium.
 */
export async function openBrowser(more: readonly string[] = []): Promise<Browser> {
  return await chromium.launch({ executablePath: chromiumPath(), args: [...flags, ...more] })
}

/** Returns the path of Chromium. Throws if it isn't found, or if `CHROMIUM_PATH` names no file. */
function chromiumPath(): string {
  const { CHROMIUM_PATH } = process.env
  const path = CHROMIUM_PATH ?? usual.find((one) => existsSync(one))
  if (path !== undefined && existsSync(path)) return path
  throw new Error(
    path === undefined
      ? 'Chromium is missing: install it (on Debian `apt-get install chromium`), or set CHROMIUM_PATH to one.'
      : `CHROMIUM_PATH is ${path}, and there is no such file.`,
  )
}
