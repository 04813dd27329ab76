import { request } from 'node:http'
import { callTool, holdAnswer, type Scripts, sayText } from '@reply/testing'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../scripts/browser.ts'
import { type Demo, startBridgeDemo } from '../scripts/demo/demo.ts'

const question = {
  header: 'Name',
  question: 'What shall it be called?',
  options: [{ label: 'Cart', description: 'As now' }],
}

const scripts: Scripts = {
  naming: { steps: [[callTool('question', { questions: [question] })], [sayText('So be it.')]] },
  endlessTelegram: { steps: [[sayText('This goes on and on. '), holdAnswer('telegram'), sayText('Never said.')]] },
  endlessSlack: { steps: [[sayText('This goes on and on. '), holdAnswer('slack'), sayText('Never said.')]] },
}
const places = ['telegram', 'slack'] as const

let demo: Demo
let browser: Browser
let page: Page
const errors: string[] = []

beforeAll(async () => {
  browser = await openBrowser()
  demo = await startBridgeDemo({ chunkDelayMs: 0, scripts, onError: ({ message }) => errors.push(message) })
  page = await browser.newPage()
  page.setDefaultTimeout(90_000)
  page.on('pageerror', ({ message }) => errors.push(message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  await page.goto(demo.url)
  for (const name of places) await logOf(name).waitFor()
})
afterAll(async () => {
  await browser?.close()
  await demo?.close()
})

const chatOf = (name: string): Locator => page.locator(`[data-chat=${name}]`)
const logOf = (name: string): Locator => chatOf(name).getByRole('log')

async function writeAs(person: string, name: string, words: string): Promise<void> {
  await beAs(person, name)
  await chatOf(name).getByRole('textbox', { name: 'Message' }).fill(words)
  await chatOf(name).getByRole('textbox', { name: 'Message' }).press('Enter')
}

async function beAs(person: string, name: string): Promise<void> {
  await chatOf(name).locator('label', { hasText: person }).click()
  await expect.poll(() => chatOf(name).getByRole('radio', { name: person }).isChecked()).toBe(true)
}

test('a prompt that is typed into each chat is answered there, with its Markdown formatted', async () => {
  for (const name of places) await writeAs('Ben', name, 'What does this project do?')
  for (const name of places) {
    await logOf(name).getByRole('heading', { name: 'A small shop' }).waitFor()
    await logOf(name).getByRole('cell', { name: 'src/cart.test.js' }).waitFor()
    await logOf(name).locator('pre', { hasText: 'export function total' }).waitFor()
    expect(await logOf(name).locator('.person').count()).toBe(1)
    expect(await logOf(name).locator('.person .author').textContent()).toBe('Ben')
  }
})

test('each chat links to the page of its run', async () => {
  for (const name of places) {
    const [opened] = await Promise.all([
      page.waitForEvent('popup'),
      logOf(name).getByRole('link', { name: 'Open' }).last().click(),
    ])
    opened.on('pageerror', ({ message }) => errors.push(message))
    await opened.getByRole('heading', { name: 'A small shop' }).waitFor()
    await opened.getByText('What does this project do?').first().waitFor()
    await opened.close()
  }
})

test('Allow counts when Ann presses it, and not when Ben does', async () => {
  for (const name of places) await chatOf(name).getByRole('button', { name: 'Run the tests' }).click()
  for (const name of places) {
    const allow = logOf(name).getByRole('button', { name: 'Allow once' })
    await beAs('Ben', name)
    await allow.click()
    // Telegram tells the person who pressed; Slack shows that person a message.
    await chatOf(name)
      .locator('.notice, .in-thread')
      .getByText('You can’t answer this: it requires the right')
      .waitFor()
    await beAs('Ann', name)
    await allow.click()
    await logOf(name).getByText('✅ Allow once · Ann').waitFor()
  }
  for (const name of places) await logOf(name).getByText('a discount does not lower the total').waitFor()
  await logOf('slack').getByText('visible to Ben only').waitFor()
})

test('a question is answered by its button, and the change is shown before it is allowed', async () => {
  await beAs('Ann', 'slack')
  await chatOf('slack').getByRole('button', { name: 'Fix the discount' }).click()
  await logOf('slack').getByRole('button', { name: 'After tax' }).click()
  await logOf('slack').locator('.diff-added', { hasText: '(1 + taxRate) - discount' }).waitFor()
  await logOf('slack').getByRole('button', { name: 'Reject' }).click()
  await logOf('slack').getByText('🚫 Rejected · Ann').waitFor()
})

test("HTML in a model's answer stays text, and a link to a script is none", async () => {
  const title = await page.title()
  for (const name of places) await writeAs('Ben', name, 'Answer with HTML')
  for (const name of places) {
    const answer = logOf(name).locator('.bot .body', { hasText: 'This is what a page must not run' })
    await expect.poll(() => answer.textContent()).toContain('<b onclick=')
    expect(await answer.textContent()).toContain('<img src="x" onerror=')
    expect(await answer.locator('img, script, b, [onclick], [onerror]').count()).toBe(0)
    expect(await answer.locator('a[href^=javascript]').count()).toBe(0)
  }
  expect(await page.title()).toBe(title)
})

test("a person's own HTML stays text, too", async () => {
  await writeAs('Ben', 'slack', '<img src=x onerror=alert(1)> hello')
  await logOf('slack').locator('.person', { hasText: '<img src=x onerror=alert(1)> hello' }).waitFor()
  expect(await logOf('slack').locator('img').count()).toBe(0)
})

test('a question of Slack is answered in its own dialog, in the words of the person who opened it', async () => {
  await writeAs('Ann', 'slack', 'Name it. [scenario:naming]')
  await logOf('slack').getByRole('button', { name: 'Answer …' }).click()
  const dialog = chatOf('slack').getByRole('dialog')
  await dialog.getByRole('textbox').fill('Basket')
  await dialog.getByRole('button', { name: 'Send' }).click()
  await logOf('slack').getByText('✅ Basket · Ann').waitFor()
  await logOf('slack').getByText('So be it.').waitFor()
  expect(await dialog.count()).toBe(0)
})

test('what came last stays in sight when the window gets smaller, and what was scrolled to does, too', async () => {
  const wide = page.viewportSize()
  const toEnd = (name: string): Promise<number> =>
    logOf(name).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight)
  await logOf('slack').evaluate((log) => log.scrollTo(0, 0))
  await logOf('telegram').evaluate((log) => log.scrollTo(0, log.scrollHeight))
  await expect.poll(() => toEnd('telegram')).toBeLessThan(1)
  for (const size of [
    { width: 390, height: 800 },
    { width: 390, height: 500 },
  ]) {
    const before = await logOf('telegram').boundingBox()
    await page.setViewportSize(size)
    await expect.poll(() => logOf('telegram').boundingBox()).not.toEqual(before)
    await expect.poll(() => toEnd('telegram')).toBeLessThan(1)
    expect(await toEnd('slack')).toBeGreaterThan(100)
  }
  if (wide) await page.setViewportSize(wide)
})

test('on a narrow screen the chats stand one below the other, and nothing is cut off at the side', async () => {
  const wide = page.viewportSize()
  const tops = async (): Promise<readonly number[]> =>
    await Promise.all(places.map(async (name) => (await chatOf(name).boundingBox())?.y ?? -1))
  expect(new Set(await tops()).size).toBe(1)
  await page.setViewportSize({ width: 390, height: 800 })
  await expect.poll(async () => new Set(await tops()).size).toBe(2)
  for (const name of places) {
    const box = await chatOf(name).boundingBox()
    expect(box?.x).toBeGreaterThanOrEqual(0)
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390)
    await chatOf(name).getByRole('textbox', { name: 'Message' }).click()
  }
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  if (wide) await page.setViewportSize(wide)
})

// Last: a scenario that a prompt names stays its session's.
test('Stop ends what runs', async () => {
  const stopOf = (name: string): Locator => chatOf(name).getByRole('button', { name: 'Stop' })
  await writeAs('Ann', 'telegram', 'Go on. [scenario:endlessTelegram]')
  await writeAs('Ann', 'slack', 'Go on. [scenario:endlessSlack]')
  for (const name of places) {
    await demo.model.held(name)
    await logOf(name).getByText('This goes on and on.').waitFor()
    await stopOf(name).click()
  }
  for (const name of places) {
    await expect.poll(() => stopOf(name).isDisabled()).toBe(true)
    demo.model.release(name)
  }
  for (const name of places) await logOf(name).getByText('Stopped.').first().waitFor()
})

test('the page reported no error', () => {
  expect(errors).toEqual([])
})

test('only the page itself may call its server', async () => {
  const { host, origin } = new URL(demo.url)
  const json = { 'content-type': 'application/json' }
  expect(await status('GET', '/', { host })).toBe(200)
  expect(await status('GET', '/', { host: 'localhost:1' })).toBe(403)
  // A name that an attacker's DNS server points to loopback.
  expect(await status('GET', '/events', { host: `evil.example:${new URL(demo.url).port}` })).toBe(403)
  expect(await status('GET', '/events', { host, origin: 'http://evil.example' })).toBe(403)
  expect(await status('POST', '/say', { host, ...json })).toBe(403)
  expect(await status('POST', '/say', { host, ...json, origin: 'null' })).toBe(403)
  expect(await status('POST', '/say', { host, origin, 'content-type': 'text/plain' })).toBe(415)
  expect(await status('POST', '/say', { host, origin, ...json })).toBe(400)
  expect(await status('GET', '/../demo.ts', { host })).toBe(404)
})

function status(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const { hostname, port } = new URL(demo.url)
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      response.destroy()
      resolve(response.statusCode)
    })
    sent.on('error', reject)
    if (method === 'POST') sent.write('{}')
    sent.end()
  })
}
