import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { emptyReply, type Part, type Reply } from '@reply/core'
import { type Change, differenceOf, type PageRun, toPageRun } from '@reply/web'
import type { Effort, Goal } from '../goal.ts'
import { median } from '../rounds.ts'
import { type Browser, lackingChromium, type Page, withStage } from '../web/stage.ts'

const parts = 10_000
const deltasPerSecond = 200

/** What the page of a run costs in a browser. */
export const webGoals: readonly Goal[] = [
  {
    id: 'web.page.long-task',
    what: 'longest task of the page of a run of 10,000 parts while its text grows by 200 deltas a second',
    unit: 'ms',
    bound: { atMost: 50 },
    lacking: lackingChromium,
    measure: longestTask,
  },
  {
    id: 'web.page.deltas',
    what: 'time of the main thread meanwhile, against a page that appends the same text to a `<pre>`',
    unit: '× as long',
    bound: { atMost: 1.5 },
    lacking: lackingChromium,
    measure: deltaRatio,
  },
  {
    id: 'web.page.size',
    what: 'scripts, styles and HTML of all pages, gzipped',
    unit: 'kB',
    bound: { atMost: 120 },
    measure: pageSize,
  },
]

/** A running reply of so many parts, whose last one is a text that grows. */
function longReply(said: string): Reply {
  const place = (index: number) => ({ id: `prt_${index}`, messageID: 'msg_2', raw: {} })
  const earlier = Array.from({ length: parts - 1 }, (_, index): Part => {
    if (index % 2 === 0)
      return { ...place(index), type: 'text', status: 'sealed', text: `Looked at **file ${index}**.` }
    const state = { status: 'completed', input: { filePath: `/project/src/file-${index}.ts` }, output: 'ok' } as const
    return { ...place(index), type: 'tool', tool: 'read', callID: `call_${index}`, status: 'sealed', state }
  })
  const last: Part = { ...place(parts), type: 'text', status: 'open', text: said }
  const messages: Reply['messages'] = [{ id: 'msg_2', parts: [...earlier, last], raw: {} }]
  return { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages, startedAt: 1 }
}

const sentence =
  'The discount is taken off **after** tax now, because `total()` adds the tax to the net price first. It is the same as the invoice does.\n\n'

/** What an answer says, in the pieces of a model: four letters or so. */
function deltasOf(count: number): readonly string[] {
  const all = sentence.repeat(Math.ceil((count * 4) / sentence.length))
  return Array.from({ length: count }, (_, index) => all.slice(index * 4, index * 4 + 4))
}

/** The messages of the stream for these deltas: each as JSON, as it comes. */
function messagesOf(start: PageRun, deltas: readonly string[]): readonly string[] {
  const [first = ''] = deltas
  const [sample, ...others] = differenceOf(start, toPageRun(longReply(`.${first}`)))
  if (sample?.[1] !== '+' || others.length > 0) throw new Error('A delta is not one change.')
  const [path] = sample
  return deltas.map((delta) => JSON.stringify([[path, '+', delta]] satisfies Change[]))
}

/** Hands a message to `take` every 5 ms, or several after a delay, and resolves once all were. */
const feed = `(messages, take) => new Promise((resolve) => {
  const start = performance.now()
  let sent = 0
  const timer = setInterval(() => {
    const due = Math.min(messages.length, Math.floor((performance.now() - start) / ${1000 / deltasPerSecond}))
    while (sent < due) take(messages[sent++])
    if (sent === messages.length) { clearInterval(timer); requestAnimationFrame(() => setTimeout(resolve)) }
  }, 1)
})`

/** Shows the long reply, and returns what plays so many seconds of deltas on it. */
async function openLong(page: Page, seconds: number): Promise<() => Promise<void>> {
  const start = toPageRun(longReply('.'))
  await page.evaluate(`window.stage.show(${JSON.stringify(start)})`)
  const messages = JSON.stringify(messagesOf(start, deltasOf(seconds * deltasPerSecond)))
  await page.evaluate(`window.messages = ${messages}`)
  await page.waitForFunction('scrollY > 0')
  // The code is compiled, and the rows in view are measured.
  await page.evaluate(
    `(${feed})(window.messages.splice(0, ${deltasPerSecond}), (text) => window.stage.change(JSON.parse(text)))`,
  )
  return async () => {
    await page.evaluate(`(${feed})(window.messages, (text) => window.stage.change(JSON.parse(text)))`)
    const shown = String(await page.evaluate('[...document.querySelectorAll(".row-text")].at(-1).textContent'))
    if (!shown.includes('as the invoice does')) throw new Error(`The page does not show what came, but ${shown}`)
  }
}

async function longestTask(effort: Effort): Promise<number> {
  return await withStage(async (page, browser) => {
    const play = await openLong(page, effort === 'full' ? 20 : 5)
    return Math.max(...(await tasksOf(browser, page, play)))
  })
}

interface TraceEvent {
  readonly name: string
  readonly pid: number
  readonly tid: number
  /** The time of the processor, in µs. */
  readonly tdur?: number
  readonly args?: { readonly name?: string }
}

/** Returns how long each task of the page's main thread worked meanwhile, in ms. Other work on the machine does not count. */
async function tasksOf(browser: Browser, page: Page, play: () => Promise<void>): Promise<readonly number[]> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] })
  await play()
  const { traceEvents }: { traceEvents: readonly TraceEvent[] } = JSON.parse((await browser.stopTracing()).toString())
  const threads = new Set(
    traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain').map(threadOf),
  )
  const tasks = traceEvents.filter(
    (event) => /^(?:ThreadControllerImpl::)?RunTask$/.test(event.name) && threads.has(threadOf(event)),
  )
  if (tasks.length === 0) throw new Error('The trace of Chromium has no tasks of the page.')
  return tasks.map(({ tdur = 0 }) => tdur / 1000)
}

function threadOf({ pid, tid }: TraceEvent): string {
  return `${pid}/${tid}`
}

async function deltaRatio(effort: Effort): Promise<number> {
  const seconds = effort === 'full' ? 11 : 5
  const ratios: number[] = []
  for (let round = 0; round < (effort === 'full' ? 5 : 2); round++) {
    const ours = await withStage(async (page) => await busyTime(page, await openLong(page, seconds)))
    const floor = await withStage(async (page) => await busyTime(page, await openFloor(page, seconds)))
    ratios.push(ours / floor)
  }
  return median(ratios)
}

/** Shows the text of the long reply in a `<pre>`, and returns what appends the same deltas to it. */
async function openFloor(page: Page, seconds: number): Promise<() => Promise<void>> {
  const messages = JSON.stringify(messagesOf(toPageRun(longReply('.')), deltasOf(seconds * deltasPerSecond)))
  await page.evaluate(`{
    const pre = document.createElement('pre')
    document.body.replaceChildren(pre)
    window.text = pre.appendChild(document.createTextNode('.'))
    window.messages = ${messages}
    window.append = (text) => {
      window.text.appendData(JSON.parse(text)[0][2])
      scrollTo(0, document.documentElement.scrollHeight)
    }
  }`)
  await page.evaluate(`(${feed})(window.messages.splice(0, ${deltasPerSecond}), window.append)`)
  return async () => {
    await page.evaluate(`(${feed})(window.messages, window.append)`)
  }
}

/** Returns how long the main thread worked while something played, in seconds. */
async function busyTime(page: Page, play: () => Promise<void>): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  const read = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN
  }
  const before = await read()
  await play()
  return (await read()) - before
}

/** The size of everything that a browser can load of the pages, in kB. */
function pageSize(): number {
  const folder = fileURLToPath(new URL('../../../web/dist/page', import.meta.url))
  const files = readdirSync(folder, { encoding: 'utf8', recursive: true }).map((name) => join(folder, name))
  const sizes = files.filter((path) => statSync(path).isFile()).map((path) => gzipSync(readFileSync(path)).length)
  return sizes.reduce((sum, size) => sum + size, 0) / 1000
}
