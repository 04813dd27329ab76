import { closeMarkdown, split } from '@reply/sink/internal'
import { renderHtml } from '@reply/telegram/internal'
import { telegram } from '../delivery/telegram.ts'
import { timelineOf } from '../delivery/timeline.ts'
import { type Watched, watchDelivery } from '../delivery/watch.ts'
import type { Goal } from '../goal.ts'
import { median, race } from '../rounds.ts'

/** Time between edits in one private chat, in ms: see the limits of `@reply/telegram`. */
const intervalMs = 1100

/** A long answer, one with tools and a checklist, and one with a sub-agent. */
const scenarios = ['long-markdown', 'tools-todos', 'subagent']

/** Our sink in a Telegram chat; `delivery/table.ts` compares it with Chat SDK. */
export const deliveryGoals: readonly Goal[] = [
  {
    id: 'delivery.missing',
    what: 'letters missing or duplicated in a Telegram chat after three recorded replies',
    unit: 'letters',
    bound: { atMost: 0 },
    measure: async () => sum((await allOf('ours')).map(({ missing, doubled }) => missing + doubled)),
  },
  {
    id: 'delivery.429',
    what: 'rate-limited calls for these replies',
    unit: 'calls',
    bound: { atMost: 0 },
    measure: async () => sum((await allOf('ours')).map(({ rateLimited }) => rateLimited)),
  },
  {
    id: 'delivery.invisible',
    what: 'longest time a finished sentence stays unseen, against the edit interval',
    unit: '× as long',
    bound: { atMost: 1.2 },
    measure: async () => Math.max(...(await allOf('ours')).map(({ invisibleMs }) => invisibleMs)) / intervalMs,
  },
  {
    id: 'delivery.calls',
    what: 'posts and edits of the answers, against Chat SDK',
    unit: '× as many',
    bound: { atMost: 1 },
    measure: async () => {
      const [ours, theirs] = await Promise.all([allOf('ours'), allOf('peer')])
      return sum(ours.map(({ writes }) => writes)) / sum(theirs.map(({ writes }) => writes))
    },
  },
  {
    id: 'render.100k',
    what: 'splitting 100 KB of uncached Markdown and rendering it as Telegram HTML, against 10 KB',
    unit: '× as long',
    // Ten times the text. What the caches keep of it makes collecting garbage dearer, by up to as much again.
    bound: { atMost: 20 },
    measure: (effort) => {
      let round = 0
      const first = (): void => renderAll(markdownOf(10_000, round++))
      return race({ first, second: () => renderAll(markdownOf(100_000, round++)), effort, rounds: 11 })
    },
  },
  {
    id: 'render.tail',
    what: 'closing and rendering a 10 KB tail that grew by a word (median)',
    unit: 'ms',
    bound: { atMost: 2 },
    measure: () => {
      const text = markdownOf(10_000, 0)
      return timed(60, (round) => void renderHtml(closeMarkdown(`${text} and ${round}`)))
    },
  },
]

type Side = 'ours' | 'peer'

/** Each side on its own fake Telegram, concurrently. */
export function allOf(side: Side): Promise<readonly Watched[]> {
  return Promise.all(
    scenarios.map(async (scenario) => {
      const timeline = await timelineOf(scenario)
      return await watchDelivery({ platform: telegram, side, timeline })
    }),
  )
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function timed(rounds: number, run: (round: number) => void): number {
  const times: number[] = []
  // The first ones warm up.
  for (let round = -25; round < rounds; round++) {
    const start = performance.now()
    run(round)
    if (round >= 0) times.push(performance.now() - start)
  }
  return median(times)
}

function renderAll(source: string): void {
  const measure = (text: string): number => renderHtml(text).length
  for (const slice of split(source, { maxLength: 4096, measure })) renderHtml(slice.source)
}

const blocks = [
  '## What was found in part N',
  'The **cart** takes the `discount` off *after* the tax: see [the page](https://example.com/N), line N. It was meant the other way round.',
  '- first this, N times\n- then that\n  - and below it `code N`',
  '```ts\nexport const total = (items: readonly Item[]): number =>\n  items.reduce((sum, { price }) => sum + price * N, 0)\n```',
  '> A quotation of part N, which goes on for a while and says little.',
  '| what | was | is |\n| --- | --- | --- |\n| total | N | 120 |',
]

/** Text like a model's, different in each round. */
function markdownOf(units: number, round: number): string {
  const parts: string[] = []
  for (let length = 0, index = 0; length < units; index++) {
    const block = (blocks[index % blocks.length] ?? '').replaceAll('N', `${index + round * 1000}`)
    parts.push(block)
    length += block.length + 2
  }
  return parts.join('\n\n')
}
