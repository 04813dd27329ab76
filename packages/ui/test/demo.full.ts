import { request } from 'node:http'
import { callTool, holdAnswer, type Scripts, sayText, scenarioToken, think } from '@reply/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { type Demo, startWebDemo } from '../scripts/demo/demo.ts'
import { pictureFiles } from '../scripts/demo/scripts.ts'

const evil = `<img src=x onerror="document.title='hacked'">`
const evilText = `It said ${evil} and <script>document.title='hacked'</script>, with [a link](javascript:document.title='hacked'), [data](data:text/html,hacked) and [a good one](https://example.org/).`

/** A script that stops at a hold. Each test has its own, because a hold stays open once it is released. */
const endless = (hold: string): Scripts[string] => ({
  steps: [[sayText('This goes on and on. '), holdAnswer(hold), sayText('Never said.')]],
})
const scripts: Scripts = {
  'resumed-useChat': { steps: [[sayText('The first half. '), holdAnswer('useChat'), sayText('The second half.')]] },
  'resumed-assistant-ui': {
    steps: [[sayText('The first half. '), holdAnswer('assistant-ui'), sayText('The second half.')]],
  },
  early: { steps: [[sayText('Sent early. '), holdAnswer('early'), sayText('And it arrived.')]] },
  busy: { steps: [[sayText('Still at it. '), holdAnswer('busy'), sayText('Done with it.')]] },
  tabs: {
    steps: [
      [
        sayText('Before the hold. '),
        holdAnswer('tabs'),
        callTool('bash', { command: 'npm test -- tabs', description: 'Ask' }),
      ],
      [sayText('It went on.')],
    ],
  },
  endless: endless('endless'),
  'endless-7': endless('endless-7'),
  twice: {
    steps: [
      [callTool('bash', { command: 'npm test -- one', description: 'First' })],
      [callTool('bash', { command: 'npm test -- one', description: 'Again' })],
      [sayText('Ran twice.')],
    ],
  },
  several: {
    steps: [
      [
        callTool('question', {
          questions: [
            {
              header: 'Names',
              question: 'Which names?',
              multiple: true,
              options: [
                { label: 'Cart', description: '' },
                { label: 'Shop', description: '' },
              ],
            },
            { header: 'Reason', question: 'Why?', options: [] },
          ],
        }),
      ],
      {
        branches: [{ includes: 'Because it is short', pieces: [sayText('Your words arrived.')] }],
        otherwise: [sayText('No words.')],
      },
    ],
  },
  childAsks: {
    steps: [
      [
        callTool('task', {
          description: 'Test it',
          prompt: `Test it. ${scenarioToken('childTests')}`,
          subagent_type: 'general',
        }),
      ],
      [sayText('The sub-agent is through.')],
    ],
  },
  childTests: {
    steps: [[callTool('bash', { command: 'npm test -- child', description: 'Test' })], [sayText('Tested.')]],
  },
  hostile: {
    steps: [
      [think(`A thought ${evil}`), sayText(evilText), callTool(evil, { command: evil })],
      [callTool('read', { filePath: `${evil}.png` })],
      [callTool('bash', { command: `npm test -- '${evil}'`, description: evil })],
      [sayText('All of it was text.')],
    ],
  },
}
const widths = [360, 1280] as const
const pages = ['useChat', 'assistant-ui'] as const

let demo: Demo
let browser: Browser
let page: Page
const errors: string[] = []

beforeAll(async () => {
  browser = await openBrowser()
  const [picture = new Uint8Array()] = Object.values(await pictureFiles())
  const files = { [`${evil}.png`]: picture }
  demo = await startWebDemo({ chunkDelayMs: 0, scripts, files, onError: ({ message }) => errors.push(message) })
  page = await open()
})
afterAll(async () => {
  await browser?.close()
  await demo?.close()
})

/** Opens a page of the demo, whose errors count. */
async function open(address = demo.url): Promise<Page> {
  const opened = await browser.newPage()
  opened.setDefaultTimeout(90_000)
  opened.on('pageerror', ({ message }) => errors.push(message))
  opened.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await opened.goto(address)
  return opened
}

/** The address of a page with one of the front ends. */
const addressOf = (name: (typeof pages)[number]): string => (name === 'useChat' ? demo.url : (demo.assistantUi ?? ''))

const logOf = (shown: Page): Locator => shown.getByRole('log')

async function say(shown: Page, words: string): Promise<void> {
  const field = shown.getByRole('textbox', { name: 'Message' })
  await field.fill(words)
  await shown.getByRole('button', { name: 'Send' }).and(shown.locator(':enabled')).waitFor()
  await field.press('Enter')
}

/** Begins a new chat with a prompt that plays a script. */
async function play(script: string, address = demo.url): Promise<void> {
  await page.goto(address)
  await say(page, `Go on. ${scenarioToken(script)}`)
}

/** Presses a suggested prompt of a new chat. */
async function suggest(label: string): Promise<void> {
  await page.goto(demo.url)
  await page.getByRole('button', { name: label }).and(page.locator(':enabled')).click()
}

const press = async (name: string): Promise<void> => await logOf(page).getByRole('button', { name }).click()
const see = async (text: string | RegExp, shown = page): Promise<void> =>
  await logOf(shown).getByText(text).first().waitFor()

/** `opened` resolves once `open` was called. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

test('an answer comes with its Markdown formatted, and a call opens to its input and its whole output', async () => {
  await suggest('Explain it')
  await logOf(page).getByRole('heading', { name: 'A small shop' }).waitFor()
  await logOf(page).getByRole('cell', { name: 'src/cart.test.js' }).waitFor()
  await logOf(page).locator('pre', { hasText: 'export function total' }).last().waitFor()
  await logOf(page).locator('.ending', { hasText: 'Done' }).waitFor()
  const call = logOf(page).locator('.tool', { hasText: 'read' })
  await call.locator('.tool-state', { hasText: 'done' }).waitFor()
  expect(await call.locator('pre').first().isVisible()).toBe(false)
  await call.locator('summary').press('Enter')
  await expect.poll(() => call.locator('pre').first().textContent()).toBe('src/cart.js')
  await expect.poll(() => call.locator('pre').last().textContent()).toContain('const taxRate = 0.2')
})

test('a command is shown whole before it is allowed, and runs once then', async () => {
  await suggest('Run the tests')
  const ask = logOf(page).locator('.ask')
  await expect.poll(() => ask.locator('pre').textContent()).toBe('npm test')
  await expect.poll(() => page.getByRole('status').textContent()).toContain('waits for your answer')
  await press('Allow once')
  await see('a discount does not lower the total')
  await see('Allowed once: bash')
  expect(await ask.count()).toBe(0)
  expect(await logOf(page).locator('.tool').count()).toBe(1)
})

test('what is allowed for always is not asked again', async () => {
  await suggest('What changed?')
  await see('git status *')
  await press('Always')
  await see(/the last commit\./)
  await suggest('What changed?')
  await see(/the last commit\./)
  expect(await logOf(page).locator('.ask, .closed-ask').count()).toBe(0)
})

test('what is rejected does not run', async () => {
  await play('twice')
  await press('Reject')
  await see('Rejected: bash')
  await logOf(page).locator('.tool-state', { hasText: 'rejected' }).waitFor()
  await logOf(page).locator('.ending', { hasText: 'Ended early' }).waitFor()
})

test('a question is answered by an option, a change is shown as lines, and the checklist is kept', async () => {
  await suggest('Fix the discount')
  const todos = logOf(page).locator('.todos')
  await see('Should the discount be taken off before or after tax?')
  await expect.poll(() => todos.textContent()).toContain('1 of 3')
  await press('After tax')
  await logOf(page).locator('.diff-added', { hasText: '(1 + taxRate) - discount' }).waitFor()
  await logOf(page).locator('.diff-removed', { hasText: 'return net * (1 + taxRate)' }).waitFor()
  await press('Allow once')
  await expect.poll(() => todos.textContent()).toContain('3 of 3')
  expect(await todos.count()).toBe(1)
  await see('Discount: After tax')
  await see('Only src/cart.js was changed.')
})

test('several questions are answered together, by several options and in own words', async () => {
  await play('several')
  await press('Cart')
  await press('Shop')
  const answer = logOf(page).getByRole('button', { name: 'Answer', exact: true })
  expect(await answer.isDisabled()).toBe(true)
  await logOf(page).getByRole('textbox', { name: 'Your own answer: Reason' }).fill('Because it is short')
  await answer.click()
  await see('Your words arrived.')
})

test('a sub-agent is shown with its task, and what it asks is answered without a call of this chat', async () => {
  await play('childAsks')
  const agent = logOf(page).locator('.agent')
  await expect.poll(() => agent.textContent()).toContain('Test it')
  await expect.poll(() => logOf(page).locator('.ask pre').textContent()).toBe('npm test -- child')
  await press('Allow once')
  await see('The sub-agent is through.')
  await expect.poll(() => agent.textContent()).toContain('completed')
})

test('a picture is shown', async () => {
  await suggest('A picture')
  await see('The sales have more than doubled in six months.')
  await expect
    .poll(() =>
      page.locator('figure img').evaluate((image) => 'naturalWidth' in image && Number(image.naturalWidth) > 0),
    )
    .toBe(true)
})

test('Stop ends the run, and says so', async () => {
  await play('endless')
  await see('This goes on and on.')
  await demo.model.held('endless')
  await page.getByRole('button', { name: 'Stop' }).click()
  await logOf(page).locator('.ending', { hasText: 'Stopped' }).waitFor()
  await page.getByRole('button', { name: 'Send' }).waitFor()
  demo.model.release('endless')
  expect(await logOf(page).textContent()).not.toContain('Never said')
})

test('Stop ends a run that waits for a person', async () => {
  await suggest('Run the tests')
  await logOf(page).locator('.ask').waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  await logOf(page).locator('.ending', { hasText: 'Stopped' }).waitFor()
  expect(await logOf(page).locator('.ask').count()).toBe(0)
})

test.each(pages)('%s loaded again in the middle of an answer shows all of it, once', async (name) => {
  await play(`resumed-${name}`, addressOf(name))
  await see('The first half.')
  await demo.model.held(name)
  await page.reload()
  await see('The first half.')
  demo.model.release(name)
  await logOf(page).locator('.ending', { hasText: 'Done' }).waitFor()
  expect(await logOf(page).locator('.assistant .body').allTextContents()).toEqual(['The first half. The second half.'])
  expect(await logOf(page).locator('.user').count()).toBe(1)
  await page.reload()
  await see('The second half.')
  expect(await logOf(page).locator('.message').count()).toBe(2)
})

test('two tabs show the same, and an answer in one closes the ask in the other', async () => {
  await play('tabs')
  await see('Before the hold.')
  await demo.model.held('tabs')
  const other = await open(page.url())
  await see('Before the hold.', other)
  demo.model.release('tabs')
  for (const shown of [page, other]) await logOf(shown).locator('.ask').waitFor()
  await press('Allow once')
  await see('It went on.')
  await other.evaluate(`window.dispatchEvent(new Event('focus'))`)
  await see('It went on.', other)
  expect(await logOf(other).locator('.ask').count()).toBe(0)
  expect(await logOf(other).locator('.message').allTextContents()).toEqual(
    await logOf(page).locator('.message').allTextContents(),
  )
  await other.close()
})

test('a message that is sent before the page has read the chat keeps its own stream', async () => {
  const [wasRead, wasSent] = [gate(), gate()]
  // What was read is from before the message, and comes after it.
  await page.route('**/messages/*', async (route) => {
    const response = await route.fetch()
    wasRead.open()
    await wasSent.opened
    await route.fulfill({ response })
  })
  await page.goto(addressOf('assistant-ui'))
  await wasRead.opened
  await say(page, `Go on. ${scenarioToken('early')}`)
  await see('Sent early.')
  await demo.model.held('early')
  const reading = page.waitForResponse('**/messages/*')
  wasSent.open()
  await (await reading).finished()
  await page.unroute('**/messages/*')
  demo.model.release('early')
  await see('And it arrived.')
  await logOf(page).locator('.ending', { hasText: 'Done' }).waitFor()
  expect(await logOf(page).locator('.message').count()).toBe(2)
})

test('a message to a run that another tab began is refused and stays in the field, and the page then shows the run', async () => {
  await page.goto(demo.url)
  const other = await open(page.url())
  await other.getByText('What shall the agent do?').waitFor()
  await say(page, `Go on. ${scenarioToken('busy')}`)
  await see('Still at it.')
  await demo.model.held('busy')
  await say(other, 'Too soon.')
  await logOf(other).getByRole('alert').waitFor()
  await see('Still at it.', other)
  expect(await other.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Too soon.')
  expect(await logOf(other).locator('.user').count()).toBe(1)
  demo.model.release('busy')
  await see('Done with it.', other)
  await other.close()
  expect(errors.splice(0)).toEqual([expect.stringContaining('409')])
})

test('an answer that comes too late is refused, and the page then shows how it is', async () => {
  await suggest('Run the tests')
  await logOf(page).locator('.ask').waitFor()
  const other = await open(page.url())
  await logOf(other).locator('.ask').waitFor()
  await press('Reject')
  await see('Rejected: bash')
  await logOf(other).getByRole('button', { name: 'Allow once' }).click()
  await logOf(other).getByRole('alert').waitFor()
  await see('Rejected: bash', other)
  expect(await logOf(other).locator('.ask').count()).toBe(0)
  await other.close()
  // The browser reports the refused request itself.
  expect(errors.splice(0)).toEqual([expect.stringContaining('409')])
})

test.each(pages)('with %s, HTML and scripts of a model stay text, wherever they stand', async (name) => {
  await play('hostile', addressOf(name))
  const title = await page.title()
  const ask = logOf(page).locator('.ask')
  await expect.poll(() => ask.locator('pre').textContent()).toBe(`npm test -- '${evil}'`)
  await press('Allow once')
  await see('All of it was text.')
  for (const each of await logOf(page).locator('details > summary').all()) await each.click()
  const log = await logOf(page).evaluate((element) => element.textContent ?? '')
  expect(log.split(evil).length).toBeGreaterThan(6)
  expect(await logOf(page).locator('[onerror], script').count()).toBe(0)
  expect(await logOf(page).locator('img:not([src^="data:image/png"])').count()).toBe(0)
  const links = logOf(page).locator('a')
  expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
    'https://example.org/',
    expect.stringMatching(/^data:image\/png;base64,/),
  ])
  expect(await logOf(page).getByRole('link', { name: 'a good one' }).getAttribute('rel')).toBe(
    'noopener noreferrer nofollow',
  )
  expect(await page.title()).toBe(title)
})

test('a keyboard is enough', async () => {
  await page.goto(demo.url)
  await page.getByRole('button', { name: 'Run the tests' }).and(page.locator(':enabled')).focus()
  await page.keyboard.press('Enter')
  const allow = logOf(page).getByRole('button', { name: 'Allow once' })
  await allow.and(page.locator(':enabled')).waitFor()
  await logOf(page).focus()
  const isAllow = (): Promise<boolean> => allow.evaluate((button) => button.ownerDocument.activeElement === button)
  for (let presses = 0; presses < 10 && !(await isAllow()); presses += 1) await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await see('Allowed once: bash')
})

test.each(pages.flatMap((name) => widths.map((width) => [name, width] as const)))(
  '%s at %i pixels: nothing is wider than the page, what came last is in sight, and the field stays where it is',
  async (name, width) => {
    await page.setViewportSize({ width, height: 800 })
    for (const prompt of ['Explain the project', 'The discount is wrong', 'Show a picture', 'Run the tests']) {
      await page.goto(addressOf(name))
      const field = page.getByRole('textbox', { name: 'Message' })
      await field.waitFor()
      const before = await field.boundingBox()
      await say(page, prompt)
      await page.locator('.ending, .ask').first().waitFor()
      const wide = await page.evaluate(
        `[document.documentElement, document.querySelector('.log')].map((each) => each.scrollWidth - each.clientWidth)`,
      )
      expect(wide).toEqual([0, 0])
      await expect
        .poll(() => logOf(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight))
        .toBeLessThan(2)
      expect(await field.boundingBox()).toEqual(before)
      expect((before?.y ?? 0) + (before?.height ?? 0)).toBeLessThanOrEqual(800)
    }
  },
)

test('assistant-ui takes the stream of version 7: text, a question, a permission and a stop', async () => {
  const { assistantUi = '' } = demo
  expect(assistantUi).not.toBe('')
  await page.goto(assistantUi)
  await say(page, 'Please fix the discount.')
  await press('Before tax')
  await logOf(page).locator('.diff-added').waitFor()
  await press('Allow once')
  await see('Only src/cart.js was changed.')
  await logOf(page).locator('.ending', { hasText: 'Done' }).waitFor()
  await page.reload()
  await see('Only src/cart.js was changed.')
  expect(await logOf(page).locator('.message').count()).toBe(2)
  await play('endless-7', assistantUi)
  await see('This goes on and on.')
  await demo.model.held('endless-7')
  await page.getByRole('button', { name: 'Stop' }).click()
  await logOf(page).locator('.ending', { hasText: 'Stopped' }).waitFor()
  demo.model.release('endless-7')
})

test('the page runs its own scripts alone, and reported no error', async () => {
  const policy = (await fetch(demo.url)).headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
  expect(policy).not.toContain('unsafe')
  expect(errors).toEqual([])
})

test('a name that is not the loopback one, and pages of others, are refused', async () => {
  const { host, port } = new URL(demo.url)
  expect(await statusOf({ host })).toBe(200)
  expect(await statusOf({ host: `evil.example:${port}` })).toBe(403)
  const sent = await fetch(new URL('/api/chat', demo.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'http://evil.example' },
    body: '{}',
  })
  expect(sent.status).toBe(403)
})

function statusOf(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const { hostname, port } = new URL(demo.url)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path: '/', headers }, (response) => {
      response.destroy()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
}
