import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { callTool, holdAnswer, sayText } from '@reply/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../scripts/browser.ts'
import { type ServedBridge, serveBridge } from '../src/serve-bridge.ts'
import { type BridgeStage, crowdIn, startStage } from './stage.ts'

const group = -100_200
const scripts = {
  touch: {
    steps: [
      [sayText('I will touch it.'), callTool('bash', { command: 'touch by-page.txt', description: 'Touch' })],
      [sayText('It is touched.')],
    ],
  },
  held: { steps: [[sayText('The first half, '), holdAnswer('held'), sayText('and the second.')]] },
}

let browser: Browser
let stage: BridgeStage
let served: ServedBridge | undefined
/** A port that was free at the start, because the links name it before and after a restart. */
let port = 0
/** What the page reported: errors of its scripts, what its policy refused, and what it asked of other hosts. */
const problems: string[] = []

beforeAll(async () => {
  browser = await openBrowser()
  stage = await startStage({ scripts, ...crowdIn([11, 12, 13], [group]) })
  const probe = await serveBridge({
    bridge: { status: () => ({ state: 'ready', channels: {}, problems: [] }), listener: () => () => {} },
    port: 0,
  })
  port = Number(new URL(probe.url).port)
  await probe.close()
  await start()
})
afterEach(() => {
  expect(problems.splice(0)).toEqual([])
})
afterAll(async () => {
  await served?.close()
  await stage.close()
  await browser.close()
})

async function start(): Promise<void> {
  await stage.start({ web: { publicUrl: `http://127.0.0.1:${port}`, secret: { env: 'WEB' } } })
  served = await serveBridge({ bridge: stage.bridge(), port, serves: 'pages' })
}

/** Waits for the newest link to a page in a chat. */
async function linkIn(chat: number): Promise<string> {
  return await stage.seen(chat, (screen) =>
    screen.flatMap(({ source }) => source.match(/http:\/\/127[^\s"()<>]+\/r\/[^\s"()<>]+/g) ?? []).at(-1),
  )
}

async function openPage(url: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 360, height: 740 } })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    // The connection breaks while the bridge is down.
    if (message.type() === 'error' && !message.text().includes('ERR_')) problems.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`http://127.0.0.1:${port}/`)) problems.push(request.url())
  })
  await page.goto(url)
  return page
}

test('a permission is allowed on the page that its chat links to, and both show it', async () => {
  stage.telegram.say(11, '[scenario:touch]')
  const page = await openPage(await linkIn(11))
  await page.getByText('I will touch it.').waitFor()
  await page.getByText('touch by-page.txt').first().waitFor()
  expect(existsSync(join(stage.server.directory, 'by-page.txt'))).toBe(false)
  await page.getByRole('button', { name: 'Allow once' }).click()
  await page.getByText('It is touched.').waitFor()
  await stage.answered(11, 'It is touched.')
  expect(existsSync(join(stage.server.directory, 'by-page.txt'))).toBe(true)
  expect(stage.said(11).join('\n')).toContain('Ann')
  await page.close()
})

test('an open page goes on by itself when the bridge is stopped and started again', async () => {
  stage.telegram.say(12, '[scenario:held]')
  const page = await openPage(await linkIn(12))
  await page.getByText('The first half,').waitFor()
  await served?.close()
  await stage.stop()
  await page.getByText('The connection is lost.').waitFor()
  await start()
  stage.model.release('held')
  await page.getByText('The first half, and the second.').waitFor()
  await stage.answered(12, 'and the second.')
  await page.close()
})

test('the page of a run in a shared chat shows it and offers nothing', async () => {
  stage.telegram.say(group, '@fake_bot [scenario:touch]', { from: { id: 1, name: 'Ann' } })
  const page = await openPage(await linkIn(group))
  await page.getByText('I will touch it.').waitFor()
  await page.getByText('touch by-page.txt').first().waitFor()
  expect(await page.getByRole('button', { name: /Allow|Reject|Stop/ }).count()).toBe(0)
  await stage.allow(group, { from: { id: 1, name: 'Ann' } })
  await page.getByText('It is touched.').waitFor()
  await page.close()
})
