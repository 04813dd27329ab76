import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Reply } from '@reply/core'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import {
  blockedRun,
  callPart,
  failedRun,
  longReply,
  messageOf,
  permissionOf,
  questionRun,
  replyOf,
  settledAt,
  textPart,
  wholeRun,
  workingRun,
} from '../scripts/samples.ts'
import { differenceOf, type PageRun, toPageRun } from '../src/index.ts'
import { fullAccess, openViewStage, type ViewStage } from './view-stage.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let browser: Browser
let stage: ViewStage

beforeAll(async () => {
  browser = await openBrowser()
  stage = await openViewStage(browser)
  stage.page.setDefaultTimeout(30_000)
})
afterAll(async () => await browser?.close())
afterEach(async () => {
  await stage.show(null)
  await calls()
  expect(stage.problems.splice(0)).toEqual([])
})

const page = () => stage.page
const row = (text: string | RegExp) => page().locator('.row', { hasText: text })
const calls = async () => await page().evaluate('window.stage.calls.splice(0)')
const scrollY = async () => Number(await page().evaluate('window.scrollY'))
const frames = async () =>
  await page().evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))')

const isAtEnd = async () => await page().evaluate('document.documentElement.scrollHeight - innerHeight - scrollY < 70')

/** Sends the page what changed between two states, as a stream does. */
async function change(before: PageRun, after: PageRun): Promise<void> {
  await page().evaluate(`window.stage.change(${JSON.stringify(differenceOf(before, after))})`)
  await frames()
}

describe('a whole run', () => {
  test('shows prompt, answer, calls, files, answers of people, usage and outcome', async () => {
    await stage.show(wholeRun(), fullAccess)
    const text = await page().locator('.run').textContent()
    for (const part of [
      ...['Fix the discount', 'invoice.pdf', 'Thought', 'Answered by Ann', 'Allowed once by Ben', 'explore'],
      ...['2 of 4 done', 'exit code 127', 'What changed', 'prices.png', 'Completed', '58s', '5 files · +15 −4'],
      ...['Please keep the name of the function.', 'anthropic/claude-sonnet-5', 'Time line'],
    ])
      expect(text).toContain(part)
    expect(await page().getByRole('cell', { name: '110.00' }).count()).toBe(1)
    expect(await page().getByRole('link', { name: 'src/cart.ts' }).getAttribute('rel')).toBe(
      'noopener noreferrer nofollow',
    )
    await expect
      .poll(() =>
        page()
          .locator('figure img')
          .evaluate((img) => 'naturalWidth' in img && img.naturalWidth),
      )
      .toBe(1)
  })

  test('unfolds a command to a terminal, an edit to a diff, and a sub-agent to its own rows', async () => {
    await stage.show(wholeRun(), fullAccess)
    await page()
      .getByRole('button', { name: /Run the tests/ })
      .click()
    await page().locator('.terminal', { hasText: '7 passed (7)' }).waitFor()
    await page().getByRole('button', { name: /^edit/ }).click()
    await page().locator('.diff .added mark', { hasText: 'gross' }).first().waitFor()
    expect(await row('No other file takes off a discount.').count()).toBe(0)
    await page()
      .getByRole('button', { name: /^explore/ })
      .click()
    await row('No other file takes off a discount.').waitFor()
  })

  test('keeps what is unfolded in view, also at the end', async () => {
    const calls = Array.from({ length: 40 }, (_, at) =>
      callPart('bash', { command: `step ${at}` }, [at, at + 1], { output: 'line\n'.repeat(60) }),
    )
    await stage.show(toPageRun(settledAt(50, replyOf([messageOf('msg_2', [1], calls)]))), fullAccess)
    await page().keyboard.press('G')
    const last = page().getByRole('button', { name: /step 39/ })
    await expect.poll(() => isAtEnd()).toBe(true)
    const before = await last.evaluate((one) => one.getBoundingClientRect().top)
    await last.click()
    await page().locator('.terminal').waitFor()
    await frames()
    expect(Math.abs((await last.evaluate((one) => one.getBoundingClientRect().top)) - before)).toBeLessThan(3)
  })

  test('shows what changed: files, words, side by side, and the whole session on demand', async () => {
    await stage.show(wholeRun(), fullAccess)
    await page()
      .getByRole('tab', { name: /Changes/ })
      .click()
    const panel = page().getByRole('tabpanel', { name: /Changes/ })
    await panel.getByText('renamed').first().waitFor()
    await panel.getByText('binary').first().waitFor()
    expect(await panel.locator('.unified').count()).toBeGreaterThan(0)
    await panel.getByRole('button', { name: 'Side by side' }).click()
    await panel.locator('.split mark').first().waitFor()
    await panel.getByRole('button', { name: 'Whole session' }).click()
    await panel.locator('.line-text', { hasText: 'whole session' }).waitFor()
    await panel.getByRole('button', { name: 'Unified' }).click()
  })
})

describe('an ask', () => {
  test('is shown with all that would run, and allowed once', async () => {
    await stage.show(blockedRun(), fullAccess)
    const ask = page().locator('.ask', { hasText: 'git push' })
    await ask.getByText('git push --force-with-lease origin fix/discount').first().waitFor()
    await ask.getByRole('button', { name: 'Allow once' }).click()
    await ask.getByText('Sending…').waitFor()
    expect(await calls()).toEqual([['answer', expect.stringMatching(/^per_/), 'once']])
  })

  test('of a sub-agent names it, and is rejected with a message', async () => {
    await stage.show(blockedRun(), fullAccess)
    const ask = page().locator('.ask', { hasText: 'docs/prices.md' })
    await ask.getByText('Asked by writer').waitFor()
    await ask.getByRole('button', { name: 'Reject with a message' }).click()
    await ask.getByRole('textbox').fill('Not the docs')
    await ask.locator('form').getByRole('button', { name: 'Reject' }).click()
    await expect.poll(calls).toEqual([['reject', expect.stringMatching(/^per_/), 'Not the docs']])
  })

  test('offers no "always" that reaches too far, and says what it covers', async () => {
    const call = callPart('bash', { command: 'git status' }, [1])
    const reply = (always: readonly string[]) =>
      toPageRun(
        replyOf([messageOf('msg_2', [1], [call])], { phase: 'blocked', asks: [permissionOf(call, { always })] }),
      )
    await stage.show(reply(['*']), fullAccess)
    await page().getByRole('button', { name: 'Allow once' }).waitFor()
    expect(await page().getByRole('button', { name: 'Always allow' }).count()).toBe(0)
    await stage.show(null)
    await stage.show(reply(['git status *']), fullAccess)
    await page().getByText('git status *').waitFor()
    await page().getByRole('button', { name: 'Always allow' }).click()
    expect(await calls()).toEqual([['answer', expect.any(String), 'always']])
  })

  test('whose call is not known can only be rejected', async () => {
    const call = callPart('bash', {}, [1])
    const ask = permissionOf(call, { call: undefined })
    await stage.show(
      toPageRun(replyOf([messageOf('msg_2', [1], [call])], { phase: 'blocked', asks: [ask] })),
      fullAccess,
    )
    await page().getByText('What would run is not known').waitFor()
    await page().getByRole('button', { name: 'Reject', exact: true }).waitFor()
    expect(await page().getByRole('button', { name: /Allow/ }).count()).toBe(0)
  })

  test('can’t be answered by a link that only shows the run, nor allowed by one that has allowed', async () => {
    await stage.show(blockedRun(), { ...fullAccess, mayAnswer: false, mayStop: false })
    await page().getByText('This link shows the run. It can’t answer.').first().waitFor()
    expect(await page().locator('.ask button').count()).toBe(0)
    expect(await page().getByRole('button', { name: 'Stop' }).count()).toBe(0)
    await stage.show(null)
    await stage.show(blockedRun(), { ...fullAccess, mayAllow: false })
    await page().getByText('This link has allowed once').first().waitFor()
    expect(await page().getByRole('button', { name: 'Allow once' }).count()).toBe(0)
    expect(await page().getByRole('button', { name: 'Reject', exact: true }).count()).toBe(2)
  })

  test('that changes under the reader’s hand can’t be answered at once', async () => {
    const call = callPart('bash', { command: 'npm test' }, [1])
    const state = (command: string): PageRun => {
      const ask = permissionOf(call, { requestID: 'per_1', call: { tool: 'bash', input: { command } } })
      return toPageRun(replyOf([messageOf('msg_2', [1], [call])], { phase: 'blocked', asks: [ask] }))
    }
    await stage.show(state('npm test'), fullAccess)
    await page().locator('.ask .primary:enabled').waitFor()
    await change(state('npm test'), state('rm -rf /'))
    expect(await page().locator('.ask .primary').isDisabled()).toBe(true)
    await page().getByText('This changed just now. Read it again.').waitFor()
    await page().locator('.ask .primary:enabled').waitFor()
  })

  test('with questions takes options and own words, and keeps them while it is out of view', async () => {
    await stage.show(questionRun(), fullAccess)
    const answer = page().getByRole('button', { name: 'Answer', exact: true })
    await page().getByRole('textbox', { name: 'Your own answer' }).fill('12')
    expect(await answer.isDisabled()).toBe(true)
    await page().getByRole('checkbox', { name: /Unit/ }).check()
    await page()
      .getByRole('checkbox', { name: /End to end/ })
      .check()
    await answer.click()
    expect(await calls()).toEqual([['answer', 'que_1', [['"12"'], ['Unit', 'End to end']]]])
  })

  test('says why an answer was not taken', async () => {
    await stage.show(blockedRun(), fullAccess)
    await page().evaluate('window.stage.problem = "Ben has answered this."')
    await page().getByRole('button', { name: 'Allow once' }).first().click()
    await page().getByRole('alert').getByText('Ben has answered this.').waitFor()
    await page().evaluate('delete window.stage.problem')
    await calls()
  })

  test('is told to a screen reader, and so is the end', async () => {
    const run = questionRun()
    await stage.show(run, fullAccess)
    await page().getByText('The agent asks: Discount, Tests').waitFor()
    const { reply } = run
    const ended: PageRun = { ...run, reply: { ...reply, phase: 'settled', outcome: 'aborted', asks: [] } }
    await change(run, ended)
    await page().getByText('The run ended: Aborted').waitFor()
  })
})

describe('a run of 10,000 parts', () => {
  const long = toPageRun(longReply(10_000))

  test('renders what is in view alone', async () => {
    await stage.show(long, fullAccess)
    await expect.poll(() => page().locator('.row').count()).toBeGreaterThan(5)
    expect(await page().locator('.row').count()).toBeLessThan(80)
  })

  test('begins at its end while it runs, and follows what comes', async () => {
    await stage.show(long, fullAccess)
    await row('Working').waitFor()
    const more = toPageRun(withText(longReply(10_000), `A new part at the end.\n\n${'It has lines.\n\n'.repeat(40)}`))
    await change(long, more)
    await row('A new part at the end.').waitFor()
    await expect.poll(async () => await isAtEnd()).toBe(true)
  })

  test('keeps its place for a reader who is elsewhere, and leads back', async () => {
    await stage.show(long, fullAccess)
    await row('Working').waitFor()
    await page().mouse.move(400, 400)
    await page().mouse.wheel(0, -6000)
    await page().getByRole('button', { name: 'To the end' }).waitFor()
    const place = async () =>
      await page()
        .locator('.row-tool')
        .nth(8)
        .evaluate((one) => one.getBoundingClientRect().top)
    await frames()
    const [before, y] = [await place(), await scrollY()]
    await change(long, toPageRun(withText(longReply(10_000), 'New. '.repeat(2000))))
    expect(Math.abs((await place()) - before)).toBeLessThan(2)
    expect(Math.abs((await scrollY()) - y)).toBeLessThan(2)
    await page().getByRole('button', { name: 'To the end' }).click()
    await expect.poll(async () => await isAtEnd()).toBe(true)
  })

  test('keeps its place while something above it grows', async () => {
    const base = longReply(400)
    const first = toPageRun(base)
    await stage.show(first, fullAccess)
    await row('Working').waitFor()
    await page().mouse.move(400, 400)
    await page().mouse.wheel(0, -3000)
    await page().getByRole('button', { name: 'To the end' }).waitFor()
    await frames()
    const index = Number(await page().locator('.row').first().getAttribute('data-index'))
    const watched = page().locator(`[data-index="${index + 9}"]`)
    const before = await watched.evaluate((one) => one.getBoundingClientRect().top)
    const grown = base.messages.map((message) => ({
      ...message,
      parts: message.parts.map((part, at) =>
        part.type === 'text' && at >= index && at < index + 4
          ? { ...part, text: `${part.text}\n\n${'Grew. '.repeat(200)}` }
          : part,
      ),
    }))
    await change(first, toPageRun({ ...base, messages: grown }))
    expect(Math.abs((await watched.evaluate((one) => one.getBoundingClientRect().top)) - before)).toBeLessThan(3)
  })

  test('is rendered whole to be printed, and no longer afterwards', async () => {
    await stage.show(toPageRun(longReply(600)), fullAccess)
    await row('Working').waitFor()
    await page().evaluate('window.dispatchEvent(new Event("beforeprint"))')
    expect(await page().locator('.row').count()).toBe(602)
    await page().evaluate('window.dispatchEvent(new Event("afterprint"))')
    await expect.poll(() => page().locator('.row').count()).toBeLessThan(100)
  })

  test('does the same within a part of a page that scrolls by itself', async () => {
    await page().evaluate('document.getElementById("app").style.cssText = "height: 600px; overflow-y: auto"')
    await stage.show(long, fullAccess)
    await row('Working').waitFor()
    expect(await page().locator('.row').count()).toBeLessThan(80)
    const isInnerAtEnd = async () =>
      await page().evaluate(
        '(({ scrollHeight, clientHeight, scrollTop }) => scrollHeight - clientHeight - scrollTop < 70)(document.getElementById("app"))',
      )
    await expect.poll(isInnerAtEnd).toBe(true)
    await change(long, toPageRun(withText(longReply(10_000), 'New. '.repeat(400))))
    await row('New. New.').waitFor()
    await expect.poll(isInnerAtEnd).toBe(true)
    await page().evaluate('document.getElementById("app").removeAttribute("style")')
  })
})

/** The reply with one more text. */
function withText(reply: Reply, said: string): Reply {
  const part = { ...textPart(said), id: 'prt_more' }
  return { ...reply, messages: reply.messages.map((message) => ({ ...message, parts: [...message.parts, part] })) }
}

describe('keys', () => {
  test('lead from part to part, unfold, and show what they do', async () => {
    await stage.show(wholeRun(), fullAccess)
    await page().keyboard.press('g')
    await page().locator('[data-index="0"]:focus').waitFor()
    await page().keyboard.press('j')
    await page().locator('[data-index="1"]:focus').waitFor()
    await page().keyboard.press('Enter')
    await page().locator('[data-index="1"]', { hasText: 'both are common' }).waitFor()
    await page().keyboard.press('k')
    await page().locator('[data-index="0"]:focus').waitFor()
    await page().keyboard.press('?')
    await page().getByRole('dialog').getByText('next part').waitFor()
    await page().keyboard.press('Escape')
    await page().keyboard.press('c')
    await page()
      .getByRole('tab', { name: /Changes/, selected: true })
      .waitFor()
  })

  test('lead to the ask that waits, and do nothing while one writes', async () => {
    await stage.show(questionRun(), fullAccess)
    await page().keyboard.press('a')
    await page().locator('.row:focus', { hasText: 'A question for you' }).waitFor()
    await page().getByRole('textbox', { name: 'Your own answer' }).pressSequentially('jack?')
    expect(await page().getByRole('textbox', { name: 'Your own answer' }).inputValue()).toBe('jack?')
  })
})

describe('the search', () => {
  test('finds what is not in the document, and unfolds it', async () => {
    await stage.show(toPageRun(settledAt(9, longReply(10_000))), fullAccess)
    await page().keyboard.press('/')
    const field = page().getByRole('textbox', { name: 'Search this run' })
    await field.fill('file-7001.ts')
    await page().getByText('1 found').waitFor()
    await field.press('Enter')
    await page().locator('.row.marked .fold-body', { hasText: 'src/file-7001.ts' }).waitFor()
    await page().getByText('1 of 1').waitFor()
    await field.fill('nowhere at all')
    await page().getByText('Not found').waitFor()
    await field.press('Escape')
    await expect.poll(() => field.count()).toBe(0)
  })

  test('goes from one place to the next, and back', async () => {
    await stage.show(wholeRun(), fullAccess)
    await page().getByRole('button', { name: 'Search this run' }).click()
    const field = page().getByRole('textbox', { name: 'Search this run' })
    await field.fill('discount')
    await field.press('Enter')
    await page()
      .getByText(/^1 of \d+$/)
      .waitFor()
    await field.press('Enter')
    await page()
      .getByText(/^2 of \d+$/)
      .waitFor()
    await field.press('Shift+Enter')
    await page()
      .getByText(/^1 of \d+$/)
      .waitFor()
    await page().evaluate(axe)
    expect(await violations(stage)).toEqual([])
  })
})

test('a run at work says that it is stopped, retried, or without progress', async () => {
  await stage.show(workingRun(), fullAccess)
  await row('There has been no progress for a while.').waitFor()
  await row('Words may be missing here.').waitFor()
  await row(/The provider failed\. Try 3 follows.*Overloaded/).waitFor()
  await page().getByRole('button', { name: 'Stop' }).click()
  await expect.poll(calls).toEqual([['stop']])
})

test('a run that failed says why, and what to do', async () => {
  await stage.show(failedRun(), fullAccess)
  const text = await page().locator('.rows').textContent()
  expect(text).toContain('It failed: The key was refused.')
  expect(text).toContain('Check the credentials of the provider.')
  expect(text).toContain('Try 1 failed and was repeated: Overloaded')
  expect(text).toContain('The context was compacted (182k tokens before)')
  expect(text).toContain('rejected: not this site')
  expect(text).not.toContain('This was said before a retry.')
})

describe('axe finds nothing to object to', () => {
  const runs: readonly (readonly [string, () => PageRun])[] = [
    ['a whole run', wholeRun],
    ['permissions', blockedRun],
    ['questions', questionRun],
    ['a run at work', workingRun],
    ['a run that failed', failedRun],
    ['an empty run', () => toPageRun(replyOf([], { phase: 'waiting', prompt: undefined }))],
    ['a long run', () => toPageRun(settledAt(9, longReply(500)))],
  ]
  for (const width of [360, 1280] as const)
    for (const colorScheme of ['light', 'dark'] as const)
      test.each(runs)(`${width} px, ${colorScheme}: %s, and all of it unfolded`, async (_, make) => {
        const narrow = await openViewStage(browser, { width, colorScheme })
        await narrow.show(make(), fullAccess)
        await narrow.page.evaluate(axe)
        expect(await violations(narrow)).toEqual([])
        await narrow.page.evaluate(
          'for (const head of document.querySelectorAll(".fold-head[aria-expanded=false]")) head.click()',
        )
        await narrow.page.waitForTimeout(0)
        expect(await violations(narrow)).toEqual([])
        await narrow.page.getByRole('tab', { name: /Changes/ }).click()
        expect(await violations(narrow)).toEqual([])
        expect(await narrow.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        expect(narrow.problems).toEqual([])
        await narrow.page.close()
      })
})

async function violations({ page: shown }: ViewStage): Promise<unknown> {
  return await shown.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html, failureSummary }) => [html.slice(0, 300), failureSummary])])
  })()`)
}
