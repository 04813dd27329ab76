import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

/** Where Chromium is if `CHROMIUM_PATH` doesn't say it. */
const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** It calls no server of its maker, and works in a container. */
const flags = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]

/** A Chromium without a window, with a new profile that ends with it. */
export async function openBrowser(): Promise<Browser> {
  return await chromium.launch({ executablePath: chromiumPath(), args: flags })
}

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
