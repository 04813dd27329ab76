import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { createRecordedServer, readRecording } from '@reply/testing'
import { serveFetch } from '@reply/testing/internal'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { main } from '../src/cli/main.ts'
import { fakeProcess } from './fixture/io.ts'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

const secret = 'ghp_Q7wErTy9UiOp2AsDfGh4JkLzXcV6bNm1Q7wE'
const evil = `<img src=x onerror="document.title='hacked'"></script><script>document.title='hacked'</script>`

let browser: Browser
let folder = ''
const file = (name: string): string => join(folder, name)

beforeAll(async () => {
  browser = await openBrowser()
  folder = await mkdtemp(join(tmpdir(), 'reply-inspect-'))
  await writeFile(file('agents.sse'), readRecording({ version: '1.18.33', scenario: 'subagent-permission' }).bytes)
  await writeFile(file('second.sse'), readRecording({ version: '0.0.0-next-16350', scenario: 'write-edit' }).bytes)
  await writeFile(file('hostile.sse'), hostileRecording())
  await writeFile(file('long.sse'), longRecording(100_000))
})
afterAll(async () => {
  await browser?.close()
  await rm(folder, { recursive: true })
})

function recordingOf(frames: readonly object[]): string {
  return frames
    .map((frame, index) => `: at ${1_790_000_000_000 + index * 20}\ndata: ${JSON.stringify(frame)}\n\n`)
    .join('')
}

const event = (type: string, properties: object) => ({ type, properties })
const session = (title: string) => event('session.created', { info: { id: 's', title, directory: '/project' } })
const info = (id: string, role: string) =>
  event('message.updated', { info: { id, sessionID: 's', role, time: { created: 1_790_000_000_000 } } })
const part = (fields: object) => event('message.part.updated', { part: { sessionID: 's', messageID: 'm', ...fields } })
const delta = (text: string) =>
  event('message.part.delta', { sessionID: 's', messageID: 'm', partID: 'p', field: 'text', delta: text })
const begin = (title: string) => [
  session(title),
  info('u', 'user'),
  part({ id: 'u.t', messageID: 'u', type: 'text', text: `Say ${title}` }),
  info('m', 'assistant'),
  part({ id: 'p', type: 'text', text: '', time: { start: 1 } }),
]
const idle = event('session.idle', { sessionID: 's' })

/** Markup and scripts in everything that a model, a tool and a server can name. */
function hostileRecording(): string {
  const state = (status: string) => ({
    status,
    input: { command: evil, [evil]: evil },
    ...(status === 'completed' && {
      output: evil,
      title: evil,
      metadata: { [evil]: evil },
      time: { start: 1, end: 2 },
    }),
  })
  return recordingOf([
    ...begin(evil),
    delta(`${evil} and [a link](javascript:document.title='hacked') and ![p](https://elsewhere.test/p.png) ${secret} `),
    part({ id: evil, type: 'tool', callID: evil, tool: evil, state: state('running') }),
    event('permission.asked', {
      ...{ id: 'per_1', sessionID: 's', permission: evil, patterns: [evil], always: [evil] },
      ...{ metadata: { [evil]: evil }, tool: { messageID: 'm', callID: evil } },
    }),
    event('permission.replied', { sessionID: 's', requestID: 'per_1', reply: 'once' }),
    part({ id: evil, type: 'tool', callID: evil, tool: evil, state: state('completed') }),
    event(evil, { [evil]: evil }),
    event('message.updated', { info: evil }),
    delta(evil),
    idle,
  ]).concat(`data: ${evil}\n\n`)
}

function longRecording(deltas: number): string {
  return recordingOf([...begin('a lot'), ...Array.from({ length: deltas }, (_, n) => delta(`word${n % 100} `)), idle])
}

/** Runs `reply inspect`, and returns the address that it prints. */
async function inspect(...args: string[]): Promise<string> {
  return (await start(...args)).url
}

/** Runs `reply inspect`, and returns the address that it prints, and what ends it. */
async function start(...args: string[]): Promise<{ readonly url: string; readonly stop: () => Promise<void> }> {
  const fake = fakeProcess()
  const ended = main(['inspect', ...args], fake.io)
  const stop = async (): Promise<void> => {
    fake.signal('SIGINT')
    expect(await ended).toBe(0)
  }
  onTestFinished(stop)
  await expect.poll(() => fake.stdout() + fake.stderr(), { timeout: 20_000 }).toMatch(/http\S+\/inspect\/#/)
  return { url: /http\S+\/inspect\/#\S+/.exec(fake.stdout())?.[0] ?? expect.fail(), stop }
}

interface Opened {
  readonly page: Page
  /** Errors of the page, violations of its policy, and requests to elsewhere. */
  readonly problems: string[]
}

async function open(
  url: string,
  { width = 1280, height = 860, colorScheme = 'light' as 'light' | 'dark' } = {},
): Promise<Opened> {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme })
  onTestFinished(() => page.close())
  page.setDefaultTimeout(30_000)
  const problems: string[] = []
  page.on('pageerror', ({ message }) => problems.push(message))
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()))
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  const origin = new URL(url).origin
  page.on('request', (one) => {
    const isOwn = origin === 'null' ? one.url().startsWith('file:') : one.url().startsWith(origin)
    if (!isOwn && !one.url().startsWith('data:')) problems.push(`request: ${one.url()}`)
  })
  await page.goto(url)
  await page.locator('.inspect').waitFor()
  await whole(page)
  return { page, problems }
}

/** Waits until the whole recording is there: the newest moment is then its end. */
async function whole(page: Page): Promise<void> {
  await expect.poll(async () => await page.locator('.moment').textContent(), { timeout: 30_000 }).toMatch(/end|Frame/)
}

const moment = async (page: Page): Promise<string> => (await page.locator('.moment strong').textContent()) ?? ''
const pane = (page: Page) => page.locator('.pane')
const tab = async (page: Page, name: string): Promise<void> => await page.locator('.pane-tabs').getByText(name).click()

async function violations(page: Page): Promise<unknown> {
  return await page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html, failureSummary }) => [html.slice(0, 200), failureSummary])])
  })()`)
}

describe('a recording in the browser', () => {
  test('is stepped through by keys, and shows the reply of each moment', async () => {
    const { page, problems } = await open(await inspect(file('agents.sse')))
    await expect.poll(() => moment(page)).toBe('The recording’s end')
    await expect.poll(async () => await page.locator('.run').textContent()).toContain('The sub-agent was allowed.')
    await page.keyboard.press('Home')
    await expect.poll(() => moment(page)).toBe('Frame 1 of 137')
    expect(await page.locator('.inspect-reply').textContent()).toContain('No reply has begun at this moment.')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => moment(page)).toBe('Frame 2 of 137')
    await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(async () => await page.locator('[aria-current=true] .frame-kind').textContent()).toBe('begins')
    await expect.poll(async () => await page.locator('.run').textContent()).not.toContain('The sub-agent was allowed.')
    await page.keyboard.press('Shift+ArrowLeft')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    await expect.poll(() => moment(page)).toBe('Frame 137 of 137')
    await page.locator('.frame').first().click()
    expect(await moment(page)).not.toBe('Frame 137 of 137')
    expect(problems).toEqual([])
  })

  test('says what became of a frame', async () => {
    const { page, problems } = await open(await inspect(file('agents.sse')))
    await page.keyboard.press('/')
    await page.keyboard.type('permission.asked')
    await page.keyboard.press('Enter')
    await expect.poll(async () => await page.locator('[aria-current=true]').textContent()).toContain('permission.asked')
    expect(await pane(page).textContent()).toContain('"type": "permission.asked"')
    await tab(page, 'Decoded')
    expect(await pane(page).textContent()).toContain('"type": "asked"')
    await tab(page, 'Tracked')
    expect(await pane(page).textContent()).toMatch(/Sessionses_\w+Run1/)
    await tab(page, 'Changes')
    expect(await pane(page).textContent()).toContain('permissionAsked')
    await tab(page, 'Chat')
    await page.keyboard.press('Escape')
    await page.locator('.frames').focus()
    for (let step = 0; step < 4; step += 1) await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(async () => await pane(page).textContent()).toContain('Allow this? bash')
    await page.locator('.channel select').selectOption('slack')
    await expect.poll(async () => await pane(page).textContent()).toContain('Allow this? bash')
    expect(await pane(page).textContent()).toMatch(/\d+ of \d+ calls in \d/)
    expect(problems).toEqual([])
  })

  test('follows a part, compares two moments, and keeps the place in the address', async () => {
    const url = await inspect(file('second.sse'))
    const { page, problems } = await open(url)
    await page.keyboard.press('Home')
    await tab(page, 'Changes')
    await page.locator('.frames').focus()
    const isText = async () => (await page.locator('[aria-current=true] .frame-kind').textContent()) === 'text'
    for (let step = 0; step < 200 && !(await isText()); step += 1) await page.keyboard.press('Shift+ArrowRight')
    await pane(page).getByText('Follow this part').first().click()
    await page.keyboard.press('c')
    const before = await moment(page)
    await page.keyboard.press('Shift+ArrowRight')
    await page.keyboard.press('Shift+ArrowRight')
    await expect.poll(async () => await page.locator('.pane h2').textContent()).toContain(before)
    await expect.poll(async () => await pane(page).locator('ins').first().textContent()).not.toBe('')
    const place = await moment(page)
    await expect.poll(() => page.url()).toMatch(/#[\w-]+\/\d+/)
    await page.waitForURL((at) => at.hash.endsWith(`/${/Frame (\d+)/.exec(place)?.[1]}`))
    await page.reload()
    await page.locator('.inspect').waitFor()
    await expect.poll(() => moment(page)).toBe(place)
    await page.evaluate("location.hash = location.hash.replace(/\\/.*/, '/3')")
    await expect.poll(() => moment(page)).toMatch(/^Frame 3 of/)
    expect(problems).toEqual([])
  })

  test('shows nothing without its token, and to no other name', async () => {
    const url = new URL(await inspect(file('agents.sse')))
    const get = (path: string, headers: Record<string, string> = {}): Promise<{ status: number; body: string }> =>
      new Promise((resolve, reject) => {
        request(`${url.origin}${path}`, { headers }, (response) => {
          let body = ''
          response.setEncoding('utf8').on('data', (text: string) => {
            body += text
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }))
        })
          .on('error', reject)
          .end()
      })
    const token = { authorization: `Bearer ${url.hash.slice(1)}` }
    for (const path of ['about', 'frames', 'channels/telegram']) {
      expect((await get(`/api/inspect/${path}`)).status).toBe(401)
      expect((await get(`/api/inspect/${path}`, { authorization: 'Bearer wrong' })).status).toBe(401)
      expect((await get(`/api/inspect/${path}`, { ...token, host: 'elsewhere.test' })).status).toBe(421)
      expect((await get(`/api/inspect/${path}`, { ...token, origin: 'https://elsewhere.test' })).status).toBe(403)
      expect((await get(`/api/inspect/${path}`, token)).status).toBe(200)
    }
    expect((await get('/inspect/')).body).not.toContain('agents.sse')
    expect((await get('/inspect/../package.json', token)).status).toBe(404)
  })

  test('grows with a live server', async () => {
    const { bytes } = readRecording({ version: '1.18.33', scenario: 'write-edit' })
    const server = createRecordedServer({ bytes })
    const { url, close } = await serveFetch(server.fetch)
    onTestFinished(close)
    server.publish(1)
    const inspected = await start(url)
    const { page, problems } = await open(inspected.url)
    await expect.poll(() => server.hasListener).toBe(true)
    server.publish(40)
    await expect.poll(async () => await page.locator('.badge').textContent()).toBe('live')
    await expect.poll(async () => Number(/of (\d+)/.exec(await moment(page))?.[1])).toBeGreaterThan(20)
    server.publish(1000)
    await expect.poll(async () => await page.locator('.run').textContent()).toContain('Completed')
    await tab(page, 'Chat')
    await expect.poll(async () => await page.locator('.bubbles').textContent()).toContain('I write and edit.')
    expect(problems.splice(0)).toEqual([])
    await inspected.stop()
    await page.locator('.badge.lost').waitFor()
    expect(await page.locator('.run').textContent()).toContain('Completed')
  })
})

test('a recording of 100,000 deltas is open and stepped through quickly', async () => {
  const url = await inspect(file('long.sse'))
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
  onTestFinished(() => page.close())
  const started = performance.now()
  await page.goto(url)
  await expect.poll(() => moment(page), { timeout: 60_000, interval: 20 }).toBe('The recording’s end')
  const openMs = performance.now() - started
  await page.keyboard.press('Home')
  const stepsMs: readonly number[] = await page.evaluate(`(async () => {
    const times = []
    const press = (key, shiftKey = false) => window.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true }))
    const shown = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    for (let step = 0; step < 60; step += 1) {
      const start = performance.now()
      press('ArrowRight', step % 3 === 0)
      await shown()
      times.push(performance.now() - start)
    }
    return times.sort((a, b) => a - b)
  })()`)
  const middle = stepsMs[30] ?? 0
  process.stdout.write(`100,000 deltas: open in ${Math.round(openMs)} ms, a step takes ${Math.round(middle)} ms\n`)
  // On a busy machine both take several times as long as alone.
  expect(openMs).toBeLessThan(20_000)
  expect(middle).toBeLessThan(500)
})

describe('one HTML file', () => {
  const save = async (name: string): Promise<string> => {
    const html = file(`${name}.html`)
    expect(await main(['inspect', file(`${name}.sse`), '--html', html, '--force'], fakeProcess().io)).toBe(0)
    return html
  }

  test('opens without a network, makes no request, and has the chats', async () => {
    const html = await save('agents')
    const { page, problems } = await open(pathToFileURL(html).href)
    await page.context().setOffline(true)
    await expect.poll(async () => await page.locator('.run').textContent()).toContain('The sub-agent was allowed.')
    await tab(page, 'Chat')
    for (const channel of ['telegram', 'telegram-group', 'slack', 'discord', 'whatsapp', 'terminal']) {
      await page.locator('.channel select').selectOption(channel)
      await expect.poll(async () => await pane(page).textContent()).toContain('The sub-agent was allowed.')
    }
    await page.keyboard.press('Escape')
    expect(problems).toEqual([])
  })

  test('has no secret that the core recognizes', async () => {
    const text = await readFile(await save('hostile'), 'utf8')
    const saved = /id="saved">([^<]*)</.exec(text)?.[1] ?? expect.fail()
    const unzipped = gunzipSync(Buffer.from(saved, 'base64')).toString('utf8')
    expect(unzipped).toContain('onerror')
    expect(unzipped).not.toContain(secret)
    expect(unzipped).not.toContain(secret.slice(0, 20))
  })

  test('is not written over another one', async () => {
    const html = await save('agents')
    const fake = fakeProcess()
    expect(await main(['inspect', file('agents.sse'), '--html', html], fake.io)).toBe(2)
    expect(fake.stderr()).toContain('already exists')
  })
})

test.each(['page', 'file'])('a hostile recording executes nothing and loads nothing: %s', async (kind) => {
  const html = file('evil.html')
  if (kind === 'file')
    expect(await main(['inspect', file('hostile.sse'), '--html', html, '--force'], fakeProcess().io)).toBe(0)
  const { page, problems } = await open(kind === 'file' ? pathToFileURL(html).href : await inspect(file('hostile.sse')))
  await expect.poll(() => moment(page)).toBe('The recording’s end')
  await page.keyboard.press('Home')
  await page.keyboard.press('c')
  for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowRight')
  expect(await pane(page).textContent()).toContain('<img src=x onerror')
  await page.keyboard.press('c')
  for (const name of ['Raw', 'Decoded', 'Tracked', 'Changes', 'Chat']) {
    await tab(page, name)
    await page.locator('.frames').focus()
    for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowLeft')
    for (let step = 0; step < 20; step += 1) await page.keyboard.press('ArrowRight')
  }
  for (const channel of ['telegram', 'slack', 'discord', 'whatsapp', 'terminal']) {
    await page.locator('.channel select').selectOption(channel)
    await expect.poll(async () => await pane(page).textContent()).toContain('onerror')
  }
  await page.evaluate('for (const head of document.querySelectorAll("[aria-expanded=false], summary")) head.click()')
  expect(await page.title()).toContain('hostile.sse')
  expect(problems).toEqual([])
})

describe('axe finds nothing to object to', () => {
  for (const width of [360, 1280])
    for (const colorScheme of ['light', 'dark'] as const)
      test(`${width} px, ${colorScheme}`, async () => {
        const { page, problems } = await open(await inspect(file('agents.sse')), { width, height: 740, colorScheme })
        await expect.poll(() => moment(page)).toBe('The recording’s end')
        await page.evaluate(axe)
        expect(await violations(page)).toEqual([])
        for (const view of width < 700 ? ['Frames', 'Details'] : []) {
          await page.locator('.views').getByText(view).click()
          expect(await violations(page)).toEqual([])
        }
        for (const name of ['Decoded', 'Tracked', 'Changes', 'Chat']) {
          await tab(page, name)
          await page.locator('.moment').click()
          for (let step = 0; step < 3; step += 1) await page.keyboard.press('Shift+ArrowLeft')
          if (name === 'Chat') await page.locator('.budgets').waitFor()
          expect(await violations(page), name).toEqual([])
        }
        await page.keyboard.press('c')
        for (let step = 0; step < 9; step += 1) await page.keyboard.press('Shift+ArrowLeft')
        expect(await violations(page), 'compare').toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
        expect(problems).toEqual([])
      })
})
