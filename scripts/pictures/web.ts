import type { Locator, Page } from 'playwright-core'
import { startWebDemo } from '../../packages/ui/scripts/demo/demo.ts'

/** Plays the demo of @reply/ui up to a change that waits for a person, and takes a picture of its page. */
export async function webScene(page: Page, save: (name: string, what: Page | Locator) => Promise<void>): Promise<void> {
  const demo = await startWebDemo({ chunkDelayMs: 0 })
  try {
    await page.setViewportSize({ width: 880, height: 880 })
    await page.goto(demo.url)
    await page.getByRole('button', { name: 'Fix the discount' }).and(page.locator(':enabled')).click()
    await page.getByRole('button', { name: 'Before tax' }).click()
    await page.locator('.diff-added').waitFor()
    await page.getByRole('button', { name: 'Allow once' }).and(page.locator(':enabled')).waitFor()
    // The same with and without the other page.
    await page.addStyleTag({ content: '.page-head a { display: none } .foot .suggestions { display: none }' })
    await page.getByRole('log').evaluate((log) => log.scrollTo(0, log.scrollHeight))
    await save('demo-web', page)
  } finally {
    await demo.close()
  }
}
