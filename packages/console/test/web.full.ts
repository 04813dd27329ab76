import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { connect } from '@reply/core'
import { callTool, holdAnswer, launchOpencode, type Scripts, sayText, scenarioToken, startModel } from '@reply/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

/** `reply web` on a real OpenCode server with a scripted model, in a real browser. */
const scripts: Scripts = {
  growing: { steps: [[sayText('The first half. '), holdAnswer('growing'), sayText('The second half.')]] },
  asking: {
    steps: [[callTool('bash', { command: 'echo allowed', description: 'Say it' })], [sayText('It was allowed.')]],
  },
  crash: { steps: [[sayText('Before the crash. '), holdAnswer('crash'), sayText('Never said.')]] },
  after: { steps: [[sayText('After the crash.')]] },
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let model: Awaited<ReturnType<typeof startModel>>
let opencode: Awaited<ReturnType<typeof launchOpencode>>
let browser: Browser
let desk: Awaited<ReturnType<typeof startDesk>>
const errors: string[] = []

beforeAll(async () => {
  model = await startModel({ scripts })
  opencode = await launchOpencode({
    model,
    config: { permission: { bash: { '*': 'ask' } }, extra: { snapshot: false } },
  })
  browser = await openBrowser()
  desk = await startDesk()
})

afterAll(async () => {
  await desk?.stop()
  await browser?.close()
  await opencode?.stop()
  await model?.close()
})

/** Starts `reply web`, and returns the address that it prints. */
async function startDesk() {
  const fake = fakeProcess({ env: { USER: 'Ann' } })
  const done = main(['web', opencode.url, '--directory', opencode.directory], fake.io)
  await vi.waitFor(() => expect(fake.stdout()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/desk\/#[\w-]{40,}$/m), 60_000)
  const [address = ''] = /^http:\S+$/m.exec(fake.stdout()) ?? []
  const stop = async (): Promise<number> => {
    fake.signal('SIGINT')
    return await done
  }
  return { address, stop }
}

/** Opens a page, whose errors count. */
async function open(address: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of (?:401|5\d\d)|net::ERR_/.test(message.text()))
      errors.push(message.text())
  })
  await page.goto(address)
  return page
}

/** Sends a prompt as another client of the server. */
async function prompt(script: string) {
  const client = connect({ url: opencode.url, directory: opencode.directory })
  await client.ready
  const stream = client.prompt({ text: `Play it. ${scenarioToken(script)}`, title: `The run ${script}` })
  return { result: stream.result.finally(async () => await client.close()) }
}

/** What axe objects to. */
const faultsOf = async (page: Page): Promise<unknown> =>
  await page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html.slice(0, 300))])
  })()`)

/** The run that is shown beside or instead of the list. */
const shown = (page: Page) => page.getByRole('main')

const choose = async (page: Page, script: string): Promise<void> =>
  await page.getByRole('link', { name: `The run ${script}` }).click()

test('a prompt of another client grows in the page', async () => {
  const page = await open(desk.address)
  await page.getByText('Nothing has run here yet').waitFor()
  const { result } = await prompt('growing')
  await choose(page, 'growing')
  await page.getByText('The first half.').waitFor()
  expect(await page.getByText('The second half.').count()).toBe(0)
  model.release('growing')
  await page.getByText('The second half.').waitFor()
  await result
  await shown(page).getByText('Completed').first().waitFor()
  // A page that is loaded again shows the same.
  await page.reload()
  await page.getByText('The second half.').waitFor()
  await page.getByRole('link', { name: /All runs/ }).click()
  await page.getByRole('link', { name: /The run growing.*Completed/ }).waitFor()
  expect(new URL(page.url()).search).toBe('')
  await page.close()
})

test('a permission is allowed in the page, and the agent goes on', async () => {
  const page = await open(desk.address)
  const { result } = await prompt('asking')
  await page.getByRole('link', { name: /The run asking.*Waits for an answer/ }).waitFor()
  await choose(page, 'asking')
  const ask = page.getByRole('region').filter({ hasText: 'echo allowed' })
  await ask.getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('It was allowed.').waitFor()
  expect((await result).outcome).toBe('completed')
  await page
    .getByText(/by Ann|Ann/)
    .first()
    .waitFor()
  await page.close()
})

test.each(['light', 'dark'] as const)(
  'the list and a run have no faults of accessibility, on a phone and a desk, %s',
  async (colorScheme) => {
    for (const width of [360, 1280, 1600]) {
      const page = await open(desk.address)
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(axe)
      await page.getByRole('link', { name: 'The run growing' }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await choose(page, 'asking')
      await page.getByText('It was allowed.').waitFor()
      expect(await faultsOf(page)).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      await page.close()
    }
  },
)

test('without the token of this start nothing is shown, and nothing can be asked for', async () => {
  const requests: string[] = []
  const other = await startDesk()
  const wrong = desk.address.replace(/#.*/, `#${other.address.split('#')[1]}`)
  for (const [address, words] of [
    [desk.address.replace(/#.*/, ''), 'Open the whole address'],
    [wrong, 'This link is not valid'],
    [`${wrong}/run-1`, 'This link is not valid'],
  ] as const) {
    const page = await open(address)
    page.on('request', (request) => requests.push(request.url()))
    await page.getByText(words).first().waitFor()
    expect(await page.locator('body').textContent()).not.toMatch(/The run|half|allowed/)
    await page.close()
  }
  // The token is in no address that is requested.
  const token = desk.address.split('#')[1] ?? ''
  const page = await browser.newPage()
  page.on('request', (request) => requests.push(request.url()))
  await page.goto(desk.address)
  await choose(page, 'growing')
  await page.getByText('The second half.').waitFor()
  expect(requests.filter((url) => url.includes(token) && !url.includes('#'))).toEqual([])
  await page.close()
  expect(await other.stop()).toBe(0)
})

test('a page whose desk is started again needs the new address', async () => {
  const first = await startDesk()
  const page = await open(first.address)
  await page.getByRole('link', { name: 'The run growing' }).waitFor()
  const port = new URL(first.address).port
  expect(await first.stop()).toBe(0)
  const fake = fakeProcess()
  const done = main(['web', opencode.url, '--directory', opencode.directory, '--port', port], fake.io)
  await page.getByText('This link is not valid').waitFor()
  expect(await page.getByText('The run growing').count()).toBe(0)
  fake.signal('SIGINT')
  expect(await done).toBe(0)
  await page.close()
})

test('an open page goes on by itself when the server is killed and started again', async () => {
  const page = await open(desk.address)
  const { result } = await prompt('crash')
  await choose(page, 'crash')
  await page.getByText('Before the crash.').waitFor()
  await opencode.kill()
  await page
    .getByText(/connection to the agent is lost/i)
    .first()
    .waitFor()
  await opencode.restart()
  await shown(page).getByText('Lost', { exact: true }).first().waitFor()
  const { result: after } = await prompt('after')
  await page.getByRole('link', { name: /All runs/ }).click()
  await choose(page, 'after')
  await page.getByText('After the crash.').waitFor()
  expect((await after).outcome).toBe('completed')
  await result
  await page.close()
})

test('the pages had no errors', () => {
  expect(errors).toEqual([])
})
