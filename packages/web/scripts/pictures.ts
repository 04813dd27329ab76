import { mkdir } from 'node:fs/promises'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { fullAccess, openViewStage } from '../test/view-stage.ts'
import { blockedRun, failedRun, moment, questionRun, wholeRun, workingRun } from './samples.ts'

// Renders the page of a run into a folder, in all widths and colors: npx tsx --conditions=@reply/source pictures.ts <folder>
const [folder = 'pictures'] = process.argv.slice(2)
await mkdir(folder, { recursive: true })
const browser = await openBrowser()
const runs = {
  whole: wholeRun(),
  blocked: blockedRun(),
  question: questionRun(),
  working: workingRun(),
  failed: failedRun(),
}

for (const width of [360, 1280])
  for (const colorScheme of ['light', 'dark'] as const) {
    const stage = await openViewStage(browser, { width, height: width === 360 ? 780 : 900, colorScheme })
    const usual = { width, height: width === 360 ? 780 : 900 }
    /** What is out of view is not laid out, so that the window is as high as the page. */
    const shoot = async (name: string): Promise<void> => {
      const height = Number(await stage.page.evaluate('document.documentElement.scrollHeight'))
      await stage.page.setViewportSize({ width, height: Math.max(usual.height, height + 200) })
      await stage.page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png` })
      await stage.page.setViewportSize(usual)
    }
    for (const [name, run] of Object.entries(runs)) {
      await stage.show(null)
      await stage.show(run, fullAccess, moment)
      // An ask can be answered a moment after it came.
      if (name === 'blocked') await stage.page.locator('.ask button.primary:enabled').first().waitFor()
      await stage.page.evaluate('window.dispatchEvent(new Event("beforeprint"))')
      await shoot(name)
      await stage.page.evaluate('window.dispatchEvent(new Event("afterprint"))')
    }
    await stage.show(null)
    await stage.show(runs.whole, fullAccess)
    await stage.page.evaluate('window.dispatchEvent(new Event("beforeprint"))')
    await stage.page.evaluate(
      'for (const head of document.querySelectorAll(".fold-head[aria-expanded=false]")) head.click()',
    )
    await stage.page.locator('.fold-head[aria-expanded="true"]').last().waitFor()
    await shoot('unfolded')
    await stage.page.evaluate('window.dispatchEvent(new Event("afterprint"))')
    await stage.page.getByRole('tab', { name: 'Changes' }).click()
    await shoot('changes')
    if (width > 900) {
      await stage.page.getByRole('button', { name: 'Side by side' }).click()
      await shoot('changes-split')
      await stage.page.getByRole('button', { name: 'Keys' }).click()
      await shoot('keys')
    }
    for (const problem of stage.problems) console.error(problem)
    await stage.page.close()
  }
await browser.close()
