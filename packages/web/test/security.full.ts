import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Part, Reply } from '@reply/core'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openBrowser } from '../../bridge/scripts/browser.ts'
import { toNodeListener } from '../src/index.ts'
import { call, permits, replyWith, text } from './make.ts'
import { asking, createStage } from './pages-stage.ts'

/** What other sites, and texts of a model, can do to a page in a real browser. */
let browser: Browser
let stage: ReturnType<typeof createStage>
/** Where the pages are, and another site. Each has a name of its own, which the browser resolves to this computer. */
let ours: string
let theirs: string
const seen: IncomingMessage[] = []
const seenByThem: IncomingMessage[] = []
const closing: (() => void)[] = []
/** What the other site's page is. */
let theirPage = ''

beforeAll(async () => {
  browser = await openBrowser(['--host-resolver-rules=MAP *.example 127.0.0.1'])
  const port = await listen((request, response) => {
    seen.push(request)
    void toNodeListener(stage.handle)(request, response)
  })
  ours = `http://127.0.0.1:${port}`
  const other = await listen((request, response) => {
    seenByThem.push(request)
    response.writeHead(200, { 'content-type': 'text/html' }).end(theirPage)
  })
  theirs = `http://evil.example:${other}`
})

beforeEach(() => {
  seen.length = 0
  seenByThem.length = 0
  stage = createStage({ publicUrl: ours })
})

afterAll(async () => {
  await browser?.close()
  for (const close of closing) close()
})

async function listen(listener: RequestListener): Promise<number> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function openRun(reply: Reply): Promise<Page> {
  stage.update(reply)
  const page = await browser.newPage()
  await page.goto(`${ours}/r/run_1#all`)
  await page.getByRole('article').waitFor()
  return page
}

const hostile = [
  `<img src="${'x'}" onerror="window.hacked = 1">`,
  '<script>window.hacked = 1</script>',
  '<svg onload="window.hacked = 1"></svg>',
  '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
  '<style>body { display: none }</style>',
  '[one](javascript:window.hacked=1) [two](data:text/html,hacked) <a href="javascript:window.hacked=1">three</a>',
  '![four](http://tracker.example/four.png) <img src="http://tracker.example/five.png">',
].join(' ')

/** A reply in which each text that a model, a tool or a person can say is hostile. */
function hostileReply(): Reply {
  const svg = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked = 1"/>')}`
  const html = `data:text/html,${encodeURIComponent('<script>window.hacked = 1</script>')}`
  const file = (id: string, mime: string, url: string) => ({ id, mime, url, filename: hostile, caption: hostile })
  const parts: Part[] = [
    text('a', hostile, { status: 'sealed' }),
    { id: 'r', messageID: 'msg_2', raw: 0, type: 'reasoning', status: 'sealed', text: hostile },
    call('t', {
      status: 'completed',
      input: { command: hostile, [hostile]: hostile },
      title: hostile,
      output: hostile,
      metadata: { diff: `--- a\n+++ b\n@@ -1 +1 @@\n-${hostile}\n+${hostile}\n`, filepath: hostile },
      attachments: [
        file('s', 'image/svg+xml', svg),
        file('h', 'image/png', html),
        file('p', 'image/png', `https://tracker.example/${hostile}`),
      ],
    }),
    { ...call('u', { status: 'error', input: { filePath: hostile }, error: hostile }), tool: hostile },
    { messageID: 'msg_2', raw: 0, type: 'file', status: 'sealed', ...file('f', 'text/html', html) },
  ]
  const option = { label: hostile, description: hostile }
  return replyWith(parts, {
    title: hostile,
    directory: hostile,
    agent: hostile,
    model: { providerID: hostile, modelID: hostile },
    prompt: { text: hostile, files: [hostile], parts: [] },
    todos: [{ content: hostile, status: hostile }],
    phase: 'blocked',
    retry: { attempt: 1, message: hostile },
    error: { name: hostile, message: hostile, raw: 0 },
    changes: {
      msg_1: [{ path: hostile, kind: 'renamed', from: hostile, patches: [`@@ -1 +1 @@\n-${hostile}\n+x\n`] }],
    },
    children: [
      { background: false, agent: hostile, title: hostile, callID: 'call_t', reply: replyWith([text('c', hostile)]) },
    ],
    asks: [
      permits('t', {
        permission: hostile,
        title: hostile,
        patterns: [hostile],
        always: [hostile],
        call: { tool: hostile, input: { command: hostile } },
      }),
      {
        ...permits('q'),
        type: 'question',
        questions: [{ header: hostile, question: hostile, options: [option], multiple: true, custom: true }],
      },
    ],
  })
}

test('nothing that a model, a tool or a file says runs, is loaded, or becomes an element', async () => {
  const page = await openRun(hostileReply())
  const requests: string[] = []
  const dialogs: string[] = []
  page.on('request', (request) => requests.push(request.url()))
  page.on('dialog', (dialog) => dialogs.push(dialog.message()))
  await page.evaluate('for (const head of document.querySelectorAll("[aria-expanded=false]")) head.click()')
  for (const name of [/Changes/, /About/, /^Run$/]) {
    const tab = page.getByRole('tab', { name })
    if ((await tab.count()) > 0) await tab.first().click()
    const hrefs = await page.evaluate('[...document.querySelectorAll("a[href]")].map((a) => a.protocol)')
    expect(hrefs).toEqual(expect.not.arrayContaining(['javascript:', 'data:']))
    const strange =
      'main script, main iframe, main style, main object, main embed, main form[action], main svg[onload], main [onerror]'
    expect(await page.evaluate(`document.querySelectorAll(${JSON.stringify(strange)}).length`)).toBe(0)
    const pictures = await page.evaluate('[...document.querySelectorAll("img")].map((img) => img.src.slice(0, 10))')
    expect(pictures).toEqual(expect.not.arrayContaining([expect.stringMatching(/^(?:http|data:image\/s|data:text)/)]))
  }
  expect(await page.getByText('window.hacked = 1').count()).toBeGreaterThan(5)
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(requests.filter((url) => !url.startsWith(ours) && !/^(?:blob|data):/.test(url))).toEqual([])
  expect(dialogs).toEqual([])
  await page.close()
})

test('if a page did make HTML of a text, the browser would still run and load nothing', async () => {
  const page = await openRun(replyWith([text('a', 'Hello')]))
  const problems = await page.evaluate(`(async () => {
    const problems = []
    const attempt = (name, run) => { try { run() } catch (error) { problems.push(name) } }
    attempt('innerHTML', () => { document.body.innerHTML = '<img src=x onerror="window.hacked = 1">' })
    attempt('src', () => { document.createElement('script').src = '${theirs}/x.js' })
    const script = document.createElement('script')
    attempt('text', () => { script.append('window.hacked = 1'); document.body.append(script) })
    const frame = document.createElement('iframe')
    frame.src = '${theirs}/frame'
    document.body.append(frame)
    const image = new Image()
    const loaded = new Promise((resolve) => { image.onload = image.onerror = (event) => resolve(event.type) })
    image.src = '${theirs}/image.png'
    document.body.append(image)
    problems.push('image ' + await loaded)
    await fetch('${theirs}/fetch').catch(() => problems.push('fetch'))
    return problems
  })()`)
  expect(problems).toEqual(expect.arrayContaining(['innerHTML', 'src', 'image error', 'fetch']))
  expect(await page.evaluate('window.hacked')).toBeUndefined()
  expect(seenByThem.map(({ url }) => url)).toEqual([])
  await page.close()
})

test('another site can neither answer nor read, even if it has a link', async () => {
  stage.update(asking())
  theirPage = `<!doctype html><form method="post" enctype="text/plain" target="f" action="${ours}/api/runs/run_1/stop"><input name='{"a":"' value='"}'></form><iframe name="f"></iframe>`
  const page = await browser.newPage()
  await page.goto(theirs)
  const results = await page.evaluate(`(async () => {
    const api = '${ours}/api/runs/run_1'
    const body = '{}'
    const results = []
    const attempt = async (url, init) => results.push(await fetch(url, init).then(({ status, type }) => type + status, () => 'blocked'))
    const authorization = 'Bearer all'
    await attempt(api + '/stop', { method: 'POST', body, headers: { 'content-type': 'application/json', authorization } })
    await attempt(api + '/stop', { method: 'POST', body, headers: { authorization } })
    await attempt(api + '/stop', { method: 'POST', body, mode: 'no-cors', credentials: 'include' })
    await attempt(api + '/events', { headers: { authorization } })
    await attempt(api + '/diff', { mode: 'no-cors' })
    document.forms[0].submit()
    return results
  })()`)
  expect(results).not.toContainEqual(expect.stringMatching(/cors2|basic2/))
  await expect.poll(() => seen.filter(({ method }) => method === 'POST').length).toBeGreaterThan(0)
  expect(stage.calls).toEqual([])
  expect(stage.state.open).toBe(0)
  await page.close()
})

test('another site can not put a page into a frame', async () => {
  theirPage = `<!doctype html><iframe src="${ours}/r/run_1#all"></iframe>`
  const page = await browser.newPage()
  await page.goto(theirs)
  await expect.poll(() => seen.length).toBeGreaterThan(0)
  await expect.poll(() => page.frames()[1]?.url()).toMatch(/^chrome-error:/)
  expect(seen.filter(({ url }) => url?.includes('/api/'))).toEqual([])
  await page.close()
})

test('a name of another site that leads to this computer reaches nothing', async () => {
  const page = await browser.newPage()
  const rebound = ours.replace('127.0.0.1', 'rebound.example')
  const response = await page.goto(`${rebound}/r/run_1#all`)
  expect(response?.status()).toBe(421)
  const status = await page.evaluate(
    `fetch('/api/runs/run_1/diff', { headers: { authorization: 'Bearer all' } }).then(({ status }) => status, () => 'blocked')`,
  )
  expect(['blocked', 421]).toContain(status)
  expect(stage.state.open).toBe(0)
  await page.close()
})

test('a link out of a page tells nothing of where it was, and the token is in no request', async () => {
  theirPage = '<!doctype html><title>theirs</title>'
  const page = await openRun(replyWith([text('a', `[out](${theirs}/out)`, { status: 'sealed' })]))
  const [opened] = await Promise.all([page.waitForEvent('popup'), page.getByRole('link', { name: 'out' }).click()])
  await opened.waitForLoadState()
  expect(await opened.evaluate('[document.referrer, window.opener]')).toEqual(['', null])
  expect(seenByThem[0]?.url).toBe('/out')
  expect(seenByThem[0]?.headers.referer).toBeUndefined()
  for (const { url, headers } of seen) {
    expect(url).not.toMatch(/#|all$/)
    expect(headers.cookie).toBeUndefined()
    expect(headers.referer).toBeUndefined()
  }
  await page.close()
})
