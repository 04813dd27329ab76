// Renders the pictures of the READMEs into docs/pictures: `npm run pictures`. What they show is real: a bridge, an
// OpenCode server with a scripted model, the fakes' screens, and the console's own output. Needs Chromium, and looks best
// with the fonts Inter and Noto Color Emoji.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Locator, Page } from 'playwright-core'
import sharp from 'sharp'
import { openBrowser } from '../../packages/bridge/scripts/browser.ts'
import { chatScenes } from './chats.ts'
import { terminalScene } from './terminal.ts'
import { webScene } from './web.ts'

const folder = fileURLToPath(new URL('../../docs/pictures', import.meta.url))
/** The largest picture, in bytes: each clone has them. */
const maxBytes = 150_000

mkdirSync(folder, { recursive: true })
// Permissions show the paths of the demo's project, which is in the temporary folder.
process.env.TMPDIR = '/var/tmp'
const browser = await openBrowser()
try {
  // The page lets no other style sheets in, and a picture needs one to hide what is beside its subject.
  const context = await browser.newContext({
    ...{ bypassCSP: true, deviceScaleFactor: 2, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce' },
  })
  await terminalScene(await context.newPage(), save)
  await chatScenes(await context.newPage(), save)
  await webScene(await context.newPage(), save)
} finally {
  await browser.close()
}

/**
 * Stores a picture in `docs/pictures`. Few colours are enough for a screen, and a quarter of the bytes. Rejects if it
 * has more than `maxBytes`.
 */
async function save(name: string, what: Page | Locator): Promise<void> {
  const png = await sharp(await what.screenshot())
    .png({ palette: true, colours: 128, effort: 10, compressionLevel: 9 })
    .toBuffer()
  if (png.length > maxBytes) throw new Error(`${name}.png has ${png.length} bytes, more than ${maxBytes}.`)
  writeFileSync(join(folder, `${name}.png`), png)
  process.stdout.write(`docs/pictures/${name}.png: ${Math.round(png.length / 1000)} kB\n`)
}
